"""The gold mentions that a model is asked for, in corpora that mark names with labels of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import evolve

from hyperspan.types import ANY_LABEL, AnnotationScope, Document, Mention, Sentence

_Annotated = TypeVar("_Annotated", Document, Sentence)


def gold_asked_for(gold: Sequence[Document], names: Mapping[str, str], *, only_names: bool = False) -> list[Document]:
    """Return gold documents with the labels that a model reports; `names` is `model.names`.

    The mentions of labels of names are left out. With `only_names` they alone are kept, as what they are names of; a
    corpus without such labels stays as it is.

    >>> ada = Document("Ada", [Mention(0, 3, "person"), Mention(0, 3, "person-name")])
    >>> [kept] = gold_asked_for([ada], {"person-name": "person"}, only_names=True)
    >>> kept.mentions == {Mention(0, 3, "person")} == gold_asked_for([ada], {"person-name": "person"})[0].mentions
    True
    """
    if all(mention.label not in names for document in gold for mention in document.mentions):
        return list(gold)
    return [
        evolve(
            _renamed(document, names, only_names),
            sentences=[_renamed(sentence, names, only_names) for sentence in document.sentences],
        )
        for document in gold
    ]


def _renamed(one: _Annotated, names: Mapping[str, str], only_names: bool) -> _Annotated:
    def label_of(label: str) -> str | None:
        if label == ANY_LABEL or not only_names:
            return None if label in names else label
        return names.get(label)

    def kept(mentions: Iterable[Mention]) -> list[Mention]:
        pairs = ((mention, label_of(mention.label)) for mention in mentions)
        return [evolve(mention, label=label) for mention, label in pairs if label is not None]

    scope = one.annotated
    if scope is not None and scope.types is not None:
        scope = AnnotationScope({label for old in scope.types if (label := label_of(old))}, scope.regions)
    return evolve(one, mentions=kept(one.mentions), forbidden=kept(one.forbidden), annotated=scope)
