"""What is said of the data and of a run, one sentence each: data that cannot be learnt from is an error, surprises are
notes, and a run that does not go well gets hints. One whose dev F1 is fine gets none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hyperspan.config import MOST_PARTS, Config, DiscontinuousConfig
from hyperspan.corpora.documents import IN_NO_SENTENCE, INSIDE_TOKENS
from hyperspan.corpora.overlaps import widest_gap, widest_later
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError, counted
from hyperspan.nn.bundled import BUNDLED
from hyperspan.runtime.decoding import InferenceModel
from hyperspan.runtime.folders import bundled_models
from hyperspan.text.language import looks_english
from hyperspan.training.events import EpochFinished, Hint, Listener, RunEnded, TrainingEvent
from hyperspan.training.settings import START, can_start
from hyperspan.types import Mention, Sentence

# -- the data --------------------------------------------------------------------------------------------------------

FEW_SENTENCES = 5
"""With fewer training sentences, a model learns nothing that generalises."""
MOST_INSIDE = 0.1
"""The share of mentions that may begin or end inside a word before it looks like a mistake."""
FEW_MENTIONS = 10
"""Labels with fewer training mentions are rarely found."""
SHOWN = 8
"""The maximum number of labels that a note lists."""
SHARED = 0.1
"""The share of dev that may also be in train; in common corpora it is below a twentieth."""
WITHOUT_MENTIONS = 0.8
"""The share of training sentences without mentions above which they look unannotated."""


def check_data(config: Config, train: Sequence[Sentence], *, finds_parts: bool = False) -> None:
    """Raise an InputError if a model of this configuration can learn nothing from the training sentences.

    `finds_parts` says whether such a model finds discontinuous mentions.

    >>> check_data(Config().override(["data.train=mine.jsonl"]), [Sentence(["the", "zoo"])])
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: mine.jsonl holds no mentions in its 1 sentence; name annotated sentences in data.train
    """
    path = config.data.train_names
    if not train:
        raise InputError(f"{path} holds no sentences; name annotated sentences in data.train")
    if config.distillation.teachers:
        return  # a student learns from its teacher, too
    mentions = _mentions(train)
    if not mentions:
        raise InputError(
            f"{path} holds no mentions in its {counted(len(train), 'sentence')}; name annotated sentences in data.train"
        )
    hulls = config.model.discontinuous == "hull"
    widths = [
        (mention.end if hulls else mention.parts[0][1]) - mention.start
        for mention in mentions
        if finds_parts or hulls or not mention.fragments
    ]
    if not widths:
        raise InputError(
            f"{path} holds only discontinuous mentions ({len(mentions):,}), but a model of kind {config.model.kind} finds contiguous ones; "
            "set model.kind = discontinuous"
        )
    limit = config.model.max_width
    if isinstance(limit, int) and min(widths) > limit:
        raise InputError(
            f"model.max_width is {limit}, but all {counted(len(widths), 'mention')} of {path} are wider, up to "
            f"{counted(max(widths), 'word')}; set model.max_width = {max(widths)}"
        )


def data_notes(model: InferenceModel, train: Sequence[Sentence], dev: Sequence[Sentence]) -> Iterator[str]:
    """Notes on surprises in the data, one sentence each."""
    yield from _about_train(model, train)
    yield from _about_partial(model.config, train, dev)
    yield from _about_language(model.config, train)
    if not dev and not model.config.data.dev:
        yield (
            "data.dev is empty, so the last epoch is kept and nothing says how good it is; "
            "hyperspan convert --fractions makes train and dev of one corpus"
        )
        return
    yield from _about_dev(model, dev)
    yield from _about_labels(model, train, dev)
    yield from _about_shared(train, dev)


def offset_notes(problems: Problems, train: Sequence[Sentence], dev: Sequence[Sentence]) -> Iterator[str]:
    """A note if many mentions begin or end inside a word, as with offsets that are off by one."""
    lost = problems.notes.get(IN_NO_SENTENCE, 0)
    inside, total = problems.notes.get(INSIDE_TOKENS, 0) + lost, len(_mentions([*train, *dev])) + lost
    if inside > MOST_INSIDE * total:
        yield (
            f"{inside:,} of {counted(total, 'mention')} begin or end inside a word; check that offsets count characters from 0, "
            "and that the end is the character after the last one"
        )


def _about_train(model: InferenceModel, train: Sequence[Sentence]) -> Iterator[str]:
    mentions = _mentions(train)
    if not model.config.distillation.teachers:
        yield from _about_annotation(train, mentions)
    hulls = model.config.model.discontinuous == "hull"
    if not model.discontinuous and (discontinuous := sum(bool(mention.fragments) for mention in mentions)):
        some = counted(discontinuous, "discontinuous mention")
        if hulls:
            yield f"{some} learnt as contiguous ones from their first to their last word (model.discontinuous = hull)"
        else:
            yield f"{some} left out of training: a model of kind {model.config.model.kind} finds contiguous ones, model.kind = discontinuous others, too"
    if model.discontinuous:
        yield from _about_parts(model.config.discontinuous, mentions)
        widths = [mention.parts[0][1] - mention.start for mention in mentions]
    else:
        widths = [mention.end - mention.start for mention in mentions if hulls or not mention.fragments]
    limit = model.max_width
    if limit is not None and (wider := sum(width > limit for width in widths)):
        yield (
            f"{_share(wider, len(widths), 'training mention')} are wider than model.max_width = {limit} and cannot be found; "
            f"model.max_width = {max(widths)} would allow all"
        )
    if model.context and not any(sentence.before or sentence.after for sentence in train):
        yield (
            "transformer.context has nothing to read: in the training data every sentence is a document of its own; "
            "if they follow each other in one text, set data.joined = true"
        )


def _about_parts(limits: DiscontinuousConfig, mentions: Sequence[Mention]) -> Iterator[str]:
    """Notes on discontinuous mentions beyond the limits of a discontinuous model."""
    parted = [mention for mention in mentions if mention.fragments]
    for key, limit, what, sizes in (
        ("parts", limits.parts, "have more parts", [len(mention.parts) for mention in parted]),
        ("gap", limits.gap, "have a gap wider", [widest_gap(mention) for mention in parted]),
        ("later_width", limits.later_width, "have a later part wider", [widest_later(mention) for mention in parted]),
    ):
        if beyond := sum(size > limit for size in sizes):
            enough = min(max(sizes), MOST_PARTS) if key == "parts" else max(sizes)
            advice = f"; discontinuous.{key} = {enough} would allow {'all' if enough == max(sizes) else 'more'}"
            some = _share(beyond, len(mentions), "training mention")
            yield f"{some} {what} than discontinuous.{key} = {limit} and cannot be found{advice if enough > limit else ''}"


def _about_partial(config: Config, train: Sequence[Sentence], dev: Sequence[Sentence]) -> Iterator[str]:
    """Notes on partial annotation: how much, what looks predicted, and whether mention rates are known for the rest."""
    labels = {mention.label for sentence in train for mention in sentence.mentions}
    partial = [one for one in train if one.is_partial and not (one.annotated and one.annotated.covers_labels(labels))]
    if partial and not config.data.is_listed:
        yield f"{_share(len(partial), len(train), 'training sentence')} are annotated in part; what is unknown is summed over"
    drafts = sum(any(mention.probability is not None for mention in sentence.mentions) for sentence in train)
    if drafts and not config.distillation.teachers:
        yield (
            f"{_share(drafts, len(train), 'training sentence')} hold mentions with probabilities, which look like predictions that nobody "
            "has corrected; correct them with hyperspan label, or remove the probabilities"
        )
    only_sure = sum(sentence.annotated is not None and sentence.annotated.is_empty for sentence in partial)
    unheld = not config.partial.rate_weight or not (dev or config.partial.rates)
    if only_sure > len(train) / 2 and unheld and not config.distillation.teachers:
        yield (
            f"{_share(only_sure, len(train), 'training sentence')} list sure mentions alone, and nothing says how many there are, so the "
            "model may find too many; set data.dev or partial.rates, with partial.rate_weight above 0"
        )


def _about_language(config: Config, train: Sequence[Sentence]) -> Iterator[str]:
    """A note on English vectors or an English start model for another language."""
    english = {
        "words.vectors": config.words.vectors if config.words.vectors == BUNDLED else "",
        "training.start": config.training.start if config.training.start in bundled_models() else "",
    }
    if any(english.values()) and not looks_english(train):
        named = " and ".join(f"{key} = {value}" for key, value in english.items() if value)
        yield (
            f"train does not look like English, for which {named} is made; leave it out, or name a file of vectors of its language "
            "in words.vectors"
        )


def _about_annotation(train: Sequence[Sentence], mentions: Sequence[Mention]) -> Iterator[str]:
    """Notes on too little annotation."""
    if len(train) < FEW_SENTENCES:
        yield (
            f"train has {counted(len(train), 'sentence')}, which the model can learn by heart but not generalise from; "
            "annotate at least 30"
        )
    if rare := {label: times for label, times in _by_label(mentions).items() if times < FEW_MENTIONS}:
        them = "it" if len(rare) == 1 else "them"
        yield f"labels with fewer than ten mentions: {_listed(rare)}; expect the model to miss {them}, or annotate more"
    empty = sum(not sentence.mentions and not sentence.is_partial for sentence in train)
    if empty > WITHOUT_MENTIONS * len(train):
        yield (
            f"{_share(empty, len(train), 'training sentence')} have no mentions, from which the model learns to find none; "
            "leave out those that nobody has annotated"
        )


def _about_dev(model: InferenceModel, dev: Sequence[Sentence]) -> Iterator[str]:
    if not _mentions(dev):
        yield (
            f"dev has no mentions that begin and end at words in its {counted(len(dev), 'sentence')}, so dev F1 will be 0 and "
            "choose no epoch; name annotated sentences in data.dev"
        )
    untagged = sum(not sentence.tags for sentence in dev)
    if model.reads_tags and untagged:
        yield (
            f"{counted(untagged, 'sentence')} of dev have no part-of-speech tags, which train has; expect lower scores, or set "
            "words.tag_dimension = 0"
        )


def _about_labels(model: InferenceModel, train: Sequence[Sentence], dev: Sequence[Sentence]) -> Iterator[str]:
    in_train, in_dev = _by_label(_mentions(train)), _by_label(_mentions(dev))
    if unknown := {label: times for label, times in in_dev.items() if label not in model.labels}:
        yield (
            f"labels of dev that train has not, which the model cannot find: {_listed(unknown)}; "
            "rename them, or annotate some in train"
        )
    if in_dev and (unscored := {label: times for label, times in in_train.items() if label not in in_dev}):
        yield f"labels of train without a mention in dev: {_listed(unscored)}; dev F1 says nothing about them"


def _about_shared(train: Sequence[Sentence], dev: Sequence[Sentence]) -> Iterator[str]:
    """A note on dev sentences that also occur in train."""
    advice = "hyperspan convert --fractions makes train and dev of one corpus"
    known = {sentence.tokens for sentence in train}
    texts = [sentence.tokens for sentence in dev if len(sentence)]
    shared = sum(tokens in known for tokens in texts)
    if shared > len(texts) / 2:
        yield f"{_share(shared, len(texts), 'dev sentence')} are in train too, so dev F1 will say nothing about new text; {advice}"
    elif shared > SHARED * len(texts):
        yield f"{_share(shared, len(texts), 'dev sentence')} are in train too, so dev F1 will be too high for new text; {advice}"


def _mentions(sentences: Sequence[Sentence]) -> list[Mention]:
    return [mention for sentence in sentences for mention in sentence.mentions]


def _by_label(mentions: Sequence[Mention]) -> Counter[str]:
    return Counter(mention.label for mention in mentions)


def _listed(counts: dict[str, int]) -> str:
    """Labels with their counts, the rarest first.

    >>> _listed({"GPE": 7, "VEH": 3})
    'VEH (3), GPE (7)'
    """
    rarest = sorted(counts.items(), key=lambda item: (item[1], item[0]))
    more = f" and {len(rarest) - SHOWN:,} more" if len(rarest) > SHOWN else ""
    return ", ".join(f"{label} ({times:,})" for label, times in rarest[:SHOWN]) + more


def _share(part: int, whole: int, noun: str) -> str:
    """Format a share as a count and in percent.

    >>> _share(3, 12, "dev sentence")
    '3 of 12 dev sentences (25%)'
    """
    return f"{part:,} of {counted(whole, noun)} ({part / whole:.0%})"


# -- hints on the run -------------------------------------------------------------------------------------------------

GOOD = 0.8
"""No hints at or above this dev F1."""
LOW = 0.5
"""Below this dev F1, suggest other settings."""
GAP = 0.2
"""The largest acceptable gap between train F1 and dev F1."""
RISE = 0.01
"""The gain in the last quarter of a run above which it looks unfinished."""
RISE_TO_ZERO = 0.03
"""The same for a learning rate that decays to zero, which raises scores at the end of any run."""
SAMPLE = 300
"""The maximum number of training sentences for measuring train F1."""
DROPOUT = 0.5
"""The dropout to suggest against overfitting."""


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run."""

    config: Config
    english: bool
    usual: Mapping[str, float]
    """The default size and number of steps for the corpus, by key."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    stopped: str
    """The reason: "epochs", "patience" or "plateau"."""
    dev: Mapping[str, float]
    """Precision, recall and F1 of the best model."""
    train_f1: float | None
    """F1 of the same model on training sentences; None if not measured."""


@dataclass(frozen=True)
class EpochScore:
    """The F1 on dev after an epoch."""

    epoch: int
    f1: float


class Adviser:
    """Follows the epochs of a run, and gives hints during it and at its end."""

    def __init__(self, settings: RunSettings, listeners: Sequence[Listener], before: Sequence[EpochScore] = ()):
        """`before` are earlier epochs of a resumed run."""
        self._settings, self._listeners = settings, listeners
        self._scores = list(before)
        self._ended: RunEnded | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunEnded):
            self._ended = event
        elif isinstance(event, EpochFinished) and event.dev is not None:
            self._scores.append(EpochScore(event.epoch, event.dev["f1"]))
            self._give(event.epoch, early_hints(self._settings, self._scores))

    def finish(self, dev: Mapping[str, float], train_f1: float | None) -> None:
        """Give the final hints, by the scores of the best model."""
        if self._ended is not None:
            outcome = RunOutcome(self._ended.stopped, dev, train_f1)
            self._give(self._ended.epoch, final_hints(self._settings, self._scores, outcome))

    def _give(self, epoch: int, texts: Iterator[str]) -> None:
        for text in texts:
            for listener in self._listeners:
                listener(Hint(epoch, text))


def early_hints(settings: RunSettings, scores: Sequence[EpochScore]) -> Iterator[str]:
    """The hint after an epoch: given only once, a third into the run, if no prediction has been correct by then."""
    epochs = settings.config.training.epochs
    passed = [score.epoch >= epochs / 3 for score in scores]
    if passed.count(True) == 1 and passed[-1] and not any(score.f1 for score in scores):
        last = scores[-1].epoch
        if last < epochs:
            tries = ", ".join((*_settings(settings), *_resources(settings), _MORE_DATA))
            yield f"nothing on dev is right after {last:,} of {epochs:,} epochs; if it stays so, try in this order: {tries}"


def final_hints(settings: RunSettings, scores: Sequence[EpochScore], outcome: RunOutcome) -> Iterator[str]:
    """The hints at the end of a run.

    >>> settings = RunSettings(Config().override(["training.epochs=20", "training.schedule=constant"]), False, {})
    >>> scores = [EpochScore(epoch, 0.03 * epoch) for epoch in range(1, 21)]
    >>> outcome = RunOutcome("epochs", {"precision": 0.6, "recall": 0.6, "f1": 0.6}, train_f1=0.7)
    >>> list(final_hints(settings, scores, outcome))  # doctest: +ELLIPSIS
    ['dev F1 still rose at the end, from 45.0 to 60.0 in the last 5 epochs; train longer: --set training.epochs=40 ...']
    """
    f1 = outcome.dev["f1"]
    if f1 >= GOOD:
        return
    yield from _about_length(settings, scores, outcome)
    if outcome.train_f1 is not None and outcome.train_f1 - f1 >= GAP:
        tries = ", ".join((*_resources(settings), *_dropout(settings.config), _MORE_DATA))
        yield (
            f"dev F1 {_percent(f1)} is far below train F1 {_percent(outcome.train_f1)}, so the model knows its training sentences "
            f"by heart; try in this order: {tries}"
        )
    elif f1 < LOW:
        tries = ", ".join((*_settings(settings), *_resources(settings), *_recall(settings, outcome), _MORE_DATA))
        what = f"dev F1 {_percent(f1)} is low" if f1 else "nothing on dev is right"
        yield f"{what}; try in this order: {tries}"


_MORE_DATA = "annotate more (hyperspan curve CONFIG says what twice as many sentences would bring)"


def _about_length(settings: RunSettings, scores: Sequence[EpochScore], outcome: RunOutcome) -> Iterator[str]:
    """Whether more epochs may help."""
    training = settings.config.training
    if outcome.stopped == "patience":
        if outcome.dev["f1"] < LOW:
            yield (
                f"the run stopped after {scores[-1].epoch:,} of {training.epochs:,} epochs, {training.patience:,} without a better dev "
                f"F1; wait longer with --set training.patience={2 * training.patience} --force"
            )
        return
    if outcome.stopped == "plateau":
        if outcome.dev["f1"] < LOW:
            yield (
                f"the run stopped after {scores[-1].epoch:,} of {training.epochs:,} epochs, as dev F1 no longer rose; lower the "
                f"learning rate once more with --set training.plateau_reductions={training.plateau_reductions + 1} --force"
            )
        return
    last = -(-len(scores) // 4)
    before, after = scores[:-last], scores[-last:]
    if len(before) < 2:
        return
    lower, higher = (max(score.f1 for score in part) for part in (before, after))
    falls = training.schedule == "cosine"
    if higher - lower < (RISE_TO_ZERO if falls else RISE):
        return
    span = after[-1].epoch - before[-1].epoch
    yield (
        f"dev F1 still rose at the end, from {_percent(lower)} to {_percent(higher)} in the last {span:,} epochs; train longer: "
        f"--set training.epochs={2 * training.epochs} --force"
    )


def _settings(settings: RunSettings) -> Iterator[str]:
    """Steps that differ much from the defaults for the corpus: too large, too small or too few."""
    now = settings.config.values(settings.usual)
    for key, usual in settings.usual.items():
        larger, smaller = now[key] >= 2 * usual, now[key] <= usual / 2
        if {"training.batch_size": larger, "training.epochs": smaller}.get(key, larger or smaller):
            yield f"--set {key}={usual:g} (now {now[key]:g})"


def _resources(settings: RunSettings) -> Iterator[str]:
    """Pretrained resources that could help."""
    config = settings.config
    if config.encoder.kind != "neural" or config.transformer.name or config.distillation.teachers:
        return
    if not config.training.start and settings.english and can_start(config):
        yield f"--start {START}"
    if not config.training.start and not config.words.vectors:
        yield (
            "--set words.vectors=bundled"
            if settings.english
            else "--set words.vectors=FILE (fastText has 157 languages)"
        )
    if not config.training.start and config.characters.encoder == "none":
        yield "--set characters.encoder=lstm"


def _dropout(config: Config) -> Iterator[str]:
    if config.encoder.input_dropout < DROPOUT:
        yield f"--set encoder.input_dropout={DROPOUT:g} (now {config.encoder.input_dropout:g})"


def _recall(settings: RunSettings, outcome: RunOutcome) -> Iterator[str]:
    """Recall that is much lower than precision."""
    if outcome.dev["recall"] < outcome.dev["precision"] / 2 and not settings.config.training.tune_mention_bias:
        yield "--set training.tune_mention_bias=true (recall is far below precision)"


def _percent(score: float) -> str:
    return f"{100 * score:.1f}"
