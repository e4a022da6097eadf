"""Annotated sentences for tests: by hand and generated."""

from __future__ import annotations

from hypothesis import strategies as st

from hyperspan.types import Mention, Sentence

WORDS = ("w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7")
LABELS = ("A", "B", "C")


def sentence(*mentions: str | Mention) -> Sentence:
    """Eight words with mentions given like "0:3:A"."""
    return Sentence(WORDS).with_mentions(_mention(given) if isinstance(given, str) else given for given in mentions)


def _mention(written: str) -> Mention:
    start, end, label = written.split(":")
    return Mention(int(start), int(end), label)


@st.composite
def any_mentions(draw: st.DrawFn) -> Mention:
    """A mention of the eight words, sometimes in two fragments."""
    places = draw(
        st.lists(st.integers(0, len(WORDS)), min_size=2, max_size=4, unique=True).filter(lambda p: len(p) != 3)
    )
    ends = sorted(places)
    fragments = ((ends[0], ends[1]), (ends[2], ends[3])) if len(ends) == 4 else ()
    probability = draw(st.none() | st.floats(0, 1))
    return Mention(ends[0], ends[-1], draw(st.sampled_from(LABELS)), fragments, probability=probability)


@st.composite
def any_sentences(draw: st.DrawFn, systems: int = 2, max_size: int = 4) -> tuple[list[Sentence], ...]:
    """The same number of sentences for gold and each system, whose mentions often agree."""
    pool = draw(st.lists(any_mentions(), min_size=1, max_size=8))
    chosen = st.lists(st.sampled_from(pool), max_size=8)
    size = draw(st.integers(0, max_size))
    return tuple([sentence(*draw(chosen)) for _ in range(size)] for _ in range(systems))
