"""What the figures of this folder share: which mentions their structure cannot represent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar

from hyperspan.errors import InputError, SpanError
from hyperspan.render.diagram import Diagram, shown
from hyperspan.structures.graphs.hypergraph import Node
from hyperspan.types import Mention


class Figure(Diagram[Node]):
    """The diagram of a structure that need not represent every set of mentions, or not all sets apart."""

    limits_width: ClassVar[bool] = False
    """Whether the hypergraph can be limited to mentions of a maximum width."""
    is_ambiguous: ClassVar[bool] = False
    """Whether several mention sets can share one hyperpath."""

    @staticmethod
    def conflict(first: Mention, second: Mention) -> str:
        """Why no hyperpath encodes both mentions, as a verb such as "overlap"; empty if one does."""
        return ""

    @classmethod
    def check(cls, mentions: Sequence[Mention], max_width: int | None) -> None:
        super().check(mentions, max_width)
        if max_width is not None and not cls.limits_width:
            raise InputError(
                f"the maximal width is {max_width}, but a {cls.in_prose()} always allows mentions of any width; omit "
                "the maximal width"
            )
        for first, second in combinations(mentions, 2):
            if conflict := cls.conflict(first, second):
                raise SpanError(
                    f"mentions {shown(first)} and {shown(second)} {conflict}, and a {cls.in_prose()} cannot represent "
                    "both; remove one or draw another structure, for example segmental"
                )
