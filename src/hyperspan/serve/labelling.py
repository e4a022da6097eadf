"""The routes of the labelling page, which alone uses them: they read requests, call the desk in another thread, and
respond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hyperspan.labelling.decisions import Action, Decision
from hyperspan.labelling.session import StaleRevisionError, UnknownItemError
from hyperspan.labelling.views import LabellingDesk
from hyperspan.serve.errors import JSON, Problem
from hyperspan.serve.requests import read
from hyperspan.serve.schema import GivenFragments, Place, StrictBody
from hyperspan.serve.service import SMALL, Service
from hyperspan.types import Mention

MOST_NOTE = 10_000
"""The maximum number of characters of a note."""
Label = Annotated[str, Field(min_length=1, max_length=100)]


class TokenMention(StrictBody):
    """A mention, in tokens of its sentence."""

    start: Place
    end: Place
    label: Label
    fragments: GivenFragments = None

    def mention(self) -> Mention:
        return Mention(self.start, self.end, self.label, [(start, end) for start, end in self.fragments or ()])


class DecisionRequest(StrictBody):
    """A decision about a sentence, at the revision that the annotator saw."""

    revision: Place
    action: Action
    mention: TokenMention | None = None
    to: TokenMention | None = None
    note: Annotated[str, Field(max_length=MOST_NOTE)] | None = None

    def decision(self) -> Decision:
        mention, to = (given and given.mention() for given in (self.mention, self.to))
        return Decision(self.action, mention, to, self.note or "")


class UndoRequest(StrictBody):
    """An empty object."""


class LabelRequest(StrictBody):
    """A new label."""

    label: Label


class LabelRoutes:
    """The routes of a labelling session, one method each."""

    def __init__(self, service: Service, desk: LabellingDesk):
        self.service, self.desk = service, desk
        self.listed = [
            Route("/v1/label/session", self.session),
            Route("/v1/label/items/{item}", self.item),
            Route("/v1/label/items/{item}/decisions", self.decide, methods=["POST"]),
            Route("/v1/label/undo", self.undo, methods=["POST"]),
            Route("/v1/label/labels", self.add_label, methods=["POST"]),
        ]

    async def session(self, request: Request) -> Response:
        return await self._answer(request, self.desk.overview)

    async def item(self, request: Request) -> Response:
        return await self._answer(request, lambda: self.desk.show(request.path_params["item"]))

    async def decide(self, request: Request) -> Response:
        item = request.path_params["item"]
        asked = await read(request, self.service, request.state.call, DecisionRequest)
        decision = asked.decision()

        def decide() -> dict[str, Any]:
            try:
                shown = self.desk.decide(item, decision, asked.revision)
            except StaleRevisionError as error:
                raise Problem(409, str(error), more={"item": self.desk.show(item)}) from None
            return {"item": shown, "session": self.desk.overview(queue=False)}

        return await self._answer(request, decide)

    async def undo(self, request: Request) -> Response:
        await read(request, self.service, request.state.call, UndoRequest)

        def undo() -> dict[str, Any]:
            shown = self.desk.undo()
            if shown is None:
                raise Problem(422, "there is no decision to undo", "nothing_to_undo")
            return {"item": shown, "session": self.desk.overview(queue=False)}

        return await self._answer(request, undo)

    async def add_label(self, request: Request) -> Response:
        asked = await read(request, self.service, request.state.call, LabelRequest)

        def add() -> dict[str, Any]:
            self.desk.session.add_label(asked.label)
            return self.desk.overview()

        return await self._answer(request, add)

    async def _answer(self, request: Request, work: Callable[[], dict[str, Any]]) -> Response:
        """The response of the desk, called in another thread; a decision that cannot be written is refused."""
        try:
            found = await self.service.offload(SMALL + 1, request.state.call, work)
        except UnknownItemError as error:
            raise Problem(404, str(error)) from None
        except OSError as error:
            raise Problem(
                500,
                f"the decision could not be written ({error.strerror or error}); make room on the disk and decide again",
            ) from None
        return JSON(found)
