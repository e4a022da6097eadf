"""The gold mentions that a model is asked for: names alone, or all but pronouns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from attrs import evolve

from hyperspan.runtime.decoding import is_pronoun
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


def without_pronouns(gold: Iterable[Document]) -> list[Document]:
    """Gold documents without mentions that are one English pronoun, as a model leaves them out of what it finds.

    >>> [left] = without_pronouns([Document("She met everyone's aunt", [Mention(0, 3, "p"), Mention(8, 18, "p")])])
    >>> left.mentions
    frozenset()
    """
    return [
        _of_others(
            evolve(
                document,
                sentences=[
                    _of_others(one, lambda m, words=one.tokens: words[m.start : m.end]) for one in document.sentences
                ],
            ),
            lambda m, text=document.text: _WORD.findall(text[m.start : m.end]),
        )
        for document in gold
    ]


_WORD = re.compile(r"['’]s?$|['’]?\w+(?:['’](?!s?$)\w+)*|\S")
"""A word or a possessive ending."""


def _of_others(one: _Annotated, words_of: Callable[[Mention], Sequence[str]]) -> _Annotated:
    return evolve(one, mentions=[mention for mention in one.mentions if not is_pronoun(words_of(mention))])
