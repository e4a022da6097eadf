"""The routes for labelling: they read requests, call the desk in another thread, and respond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hyperspan.labelling.decisions import Decision
from hyperspan.labelling.session import StaleRevisionError
from hyperspan.labelling.views import LabellingDesk
from hyperspan.serve.bodies import read
from hyperspan.serve.errors import JSON, Problem
from hyperspan.serve.label_schema import DecisionRequest, LabelRequest, TokenMention, UndoRequest
from hyperspan.serve.pages import page
from hyperspan.serve.service import SMALL, Service
from hyperspan.types import Mention


class LabelRoutes:
    """The routes of a labelling session, one method each."""

    def __init__(self, service: Service, desk: LabellingDesk):
        self.service, self.desk = service, desk
        self.listed = [
            Route("/v1/label/session", self.label_session),
            Route("/v1/label/items/{item}", self.label_item),
            Route("/v1/label/items/{item}/decisions", self.label_decision, methods=["POST"]),
            Route("/v1/label/undo", self.label_undo, methods=["POST"]),
            Route("/v1/label/labels", self.label_label, methods=["POST"]),
            Route("/label", self.label_page),
        ]

    async def label_session(self, request: Request) -> Response:
        return await self._answer(request, self.desk.overview)

    async def label_item(self, request: Request) -> Response:
        item = self._item(request)
        return await self._answer(request, lambda: self.desk.show(item))

    async def label_decision(self, request: Request) -> Response:
        item = self._item(request)
        asked = await read(request, self.service, request.state.call, DecisionRequest)
        decision = Decision(asked.action, _mention(asked.mention), _mention(asked.to), asked.note or "")

        def decide() -> dict[str, Any]:
            try:
                shown = self.desk.decide(item, decision, asked.revision)
            except StaleRevisionError as error:
                raise Problem(409, str(error), more={"item": self.desk.show(item)}) from None
            return {"item": shown, "session": self.desk.overview(queue=False)}

        return await self._answer(request, decide)

    async def label_undo(self, request: Request) -> Response:
        await read(request, self.service, request.state.call, UndoRequest)

        def undo() -> dict[str, Any]:
            shown = self.desk.undo()
            if shown is None:
                raise Problem(422, "there is no decision to undo", "nothing_to_undo")
            return {"item": shown, "session": self.desk.overview(queue=False)}

        return await self._answer(request, undo)

    async def label_label(self, request: Request) -> Response:
        asked = await read(request, self.service, request.state.call, LabelRequest)

        def add() -> dict[str, Any]:
            self.desk.add_label(asked.label)
            return self.desk.overview()

        return await self._answer(request, add)

    async def label_page(self, _: Request) -> Response:
        return page("label.html")

    def _item(self, request: Request) -> str:
        item = request.path_params["item"]
        if item not in self.desk.items:
            raise Problem(
                404, f"there is no sentence {item[:60]!r} in this session; /v1/label/session lists those there are"
            )
        return item

    async def _answer(self, request: Request, work: Callable[[], dict[str, Any]]) -> Response:
        """The response of the desk, called in another thread; a decision that cannot be written is refused."""
        try:
            found = await self.service.offload(SMALL + 1, request.state.call, work)
        except OSError as error:
            raise Problem(
                500,
                f"the decision could not be written ({error.strerror or error}); make room on the disk and decide again",
            ) from None
        return JSON(found)


def _mention(given: TokenMention | None) -> Mention | None:
    if given is None:
        return None
    return Mention(given.start, given.end, given.label, [(start, end) for start, end in given.fragments or ()])
