"""Read the corpora of a configuration, each with the labels that it annotates."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from hyperspan.config import Config, CorpusConfig
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.files import TEXT_ERRORS, TEXT_SUFFIXES, open_text
from hyperspan.runtime.folders import folder_of
from hyperspan.text.sentences import iter_sentences, texts, with_context
from hyperspan.text.tokens import Tokenizer
from hyperspan.training.loss import ExpectedRates
from hyperspan.types import ANY_LABEL, AnnotationScope, Document, Mention, Sentence

DEFAULTS = Config()
LEAST_SET_ASIDE = 400
"""The sentences with mentions that dev needs for a half of it to be set aside."""
FEW_DOCUMENTS = 20
"""If dev has fewer documents, every other sentence is set aside, and otherwise every other document."""
LONGEST = 150
"""The maximum length of unlabelled sentences in words; longer ones are mostly tables and lists."""


@dataclass(frozen=True)
class TrainingData:
    """The sentences of a run."""

    train: Sequence[Sentence]
    """The training sentences."""
    dev: Sequence[Sentence]
    """The dev sentences; empty for none."""
    set_aside: Sequence[Sequence[Sentence]] = ()
    """The documents, or single sentences, of the dev corpora that choose nothing of the model."""


def read_data(config: Config, problems: Problems, *, set_aside: bool = False) -> TrainingData:
    """Read the sentences of the corpora of a configuration; with `set_aside`, half of a dev set that is large enough is
    set aside."""
    train, dev = _flat(read_train(config, problems)), _read_dev(config, problems)
    if not set_aside or sum(bool(one.mentions) for text in dev for one in text) < LEAST_SET_ASIDE:
        return TrainingData(train, _flat(dev))
    parts = dev if len(dev) >= FEW_DOCUMENTS else [[sentence] for sentence in _flat(dev)]
    return TrainingData(train, _flat(parts[::2]), parts[1::2])


def _flat(texts: Iterable[Sequence[Sentence]]) -> list[Sentence]:
    return [sentence for text in texts for sentence in text]


def read_train(config: Config, problems: Problems | None = None) -> list[list[Sentence]]:
    """The sentences of each document of the training corpora."""
    found: list[list[Sentence]] = []
    for corpus in config.data.train_corpora:
        documents = list(read_texts(corpus, config, problems, context=context_of(config), labels_occur=True))
        found += (_annotated(documents, corpus) if config.data.is_listed else documents) * corpus.repeat
    return found


def read_dev(config: Config, problems: Problems | None = None) -> list[Sentence]:
    """Read the dev sentences, each with the labels that its corpus annotates, if corpora differ in that."""
    return _flat(_read_dev(config, problems))


def _read_dev(config: Config, problems: Problems | None = None) -> list[list[Sentence]]:
    """The sentences of each document of the dev corpora."""
    found: list[list[Sentence]] = []
    for corpus in config.data.dev_corpora:
        documents = list(read_texts(corpus, config, problems, gold_known=False))
        found += _annotated(documents, corpus) if config.data.is_listed else documents
    return found


def read_as_annotated(
    corpus: CorpusConfig, config: Config, problems: Problems | None = None, **options: Any
) -> list[Sentence]:
    """Read a corpus that a model was not trained on; it annotates the labels that occur in it. `options` are those of
    its format."""
    documents = _annotated(list(read_texts(corpus, config, problems, gold_known=False, **options)), corpus)
    return [sentence for text in documents for sentence in text]


def _annotated(documents: Sequence[Sequence[Sentence]], corpus: CorpusConfig) -> list[list[Sentence]]:
    """Mark sentences with the labels that their corpus annotates completely: those it declares, or those that occur in
    it.

    A sentence that declares its own labels keeps them, even labels that never occur: it states that it has no such
    mention.
    """
    found = frozenset(mention.label for text in documents for sentence in text for mention in sentence.mentions)
    annotated = frozenset(corpus.annotated) or found
    if unlisted := sorted(found - annotated):
        raise InputError(
            f"{corpus.path} has mentions of {', '.join(unlisted)}, which its annotated = [{', '.join(sorted(annotated))}] does not "
            f'list; add them there, or leave these mentions out with labels = {{{unlisted[0]} = ""}}'
        )
    return [[_in_scope(sentence, annotated, bool(corpus.annotated)) for sentence in text] for text in documents]


def _in_scope(sentence: Sentence, types: frozenset[str], is_limit: bool) -> Sentence:
    """Restrict the annotation of a sentence to these types, unless it declares its own and `is_limit` is false."""
    scope = sentence.annotated or AnnotationScope()
    own = types if scope.types is None else scope.types & types if is_limit else scope.types
    return evolve(sentence, annotated=evolve(scope, types=own))


def teaches(sentence: Sentence) -> bool:
    """Whether a sentence has any annotation: a mention, or a span known not to be one."""
    scope = sentence.annotated
    return bool(len(sentence)) and (
        scope is None or not scope.is_empty or bool(sentence.mentions or sentence.forbidden)
    )


def expected_rates(config: Config, labels: Sequence[str], dev: Sequence[Sentence]) -> ExpectedRates | None:
    """The expected mentions per word of each label, as configured or as in dev; None without a penalty.

    A label without mentions in dev, which may be small, has no known rate.
    """
    weight, given = config.partial.rate_weight, config.partial.rates
    if not weight:
        return None
    words, mentions = Counter[str](), Counter[str]()
    for sentence in dev:
        scope = sentence.annotated or AnnotationScope()
        known = [label for label in labels if scope.regions is None and (scope.types is None or label in scope.types)]
        words.update(dict.fromkeys(known, len(sentence)))
        mentions.update(mention.label for mention in sentence.mentions if mention.label in known)
    found = {label: mentions[label] / words[label] for label in labels if mentions[label]} | dict(given)
    return ExpectedRates(np.array([found.get(label, np.nan) for label in labels]), weight)


def _with_labels_of(documents: Iterable[Sequence[Sentence]], corpus: CorpusConfig) -> Iterator[Sequence[Sentence]]:
    """Pass documents through; at the end, raise an InputError if labels of the corpus's mapping do not occur, or none
    remains."""
    seen: set[str] = set()
    for text in documents:
        seen.update(mention.label for sentence in text for mention in sentence.mentions)
        yield text
    if unknown := sorted(set(corpus.labels) - seen):
        raise InputError(
            f"{corpus.path} has no mention of {', '.join(unknown)}, which its labels in data.train name; it has {', '.join(sorted(seen))}: "
            "correct labels"
        )
    if not corpus.annotated and not any(corpus.labels.get(label, label) for label in seen):
        raise InputError(
            f"{corpus.path} teaches nothing, since its labels in data.train leave out all that it has ({', '.join(sorted(seen))}); "
            "name one of them, or remove the corpus"
        )


def _relabelled(sentence: Sentence, corpus: CorpusConfig, problems: Problems) -> Sentence:
    """Rename the labels of a sentence from those of its corpus to the model's."""
    if not corpus.labels or (not sentence.is_partial and all(m.label not in corpus.labels for m in sentence.mentions)):
        return sentence
    names = {mention: corpus.labels.get(mention.label, mention.label) for mention in sentence.mentions}
    dropped = sum(not name for name in names.values())
    for _ in range(dropped):
        problems.note("mention left out because data.train or data.dev gives its label no name")
    listed = [evolve(mention, label=names[mention]) for mention in sentence.listed if names[mention]]
    return _with_renamed_marks(sentence, corpus.labels).with_mentions(listed)


def _with_renamed_marks(sentence: Sentence, names: Mapping[str, str]) -> Sentence:
    """The sentence with scope and forbidden spans in the model's labels, and without mentions.

    Where several labels become one, that label is known only where all of them are.
    """
    if not sentence.is_partial:
        return evolve(sentence, mentions=(), duplicates=())
    scope, at = sentence.annotated, defaultdict[Mention, list[str]](list)
    used = {mention.label for mention in (*sentence.mentions, *sentence.forbidden)} | set((scope and scope.types) or ())
    sources = {**{label: label for label in used}, **names}

    def renamed(labels: Iterable[str]) -> set[str]:
        known = set(labels)
        new = {sources[label] for label in known}
        return {one for one in new if one and all(label in known for label, name in sources.items() if name == one)}

    for mention in sentence.forbidden:
        at[evolve(mention, label=ANY_LABEL)].append(mention.label)
    forbidden = [evolve(mention, label=label) for mention, labels in at.items() for label in renamed(labels)]
    if scope is not None and scope.types is not None:
        scope = evolve(scope, types=renamed(scope.types))
    return evolve(sentence, mentions=(), duplicates=(), annotated=scope, forbidden=forbidden)


def read_sentences(
    corpus: str | CorpusConfig,
    config: Config = DEFAULTS,
    problems: Problems | None = None,
    *,
    gold_known: bool = True,
    context: int | None = None,
) -> list[Sentence]:
    """Read all sentences of a corpus, with mentions in tokens; see :func:`read_texts`."""
    documents = read_texts(corpus, config, problems, gold_known=gold_known, context=context)
    return [sentence for text in documents for sentence in text]


def read_texts(
    corpus: str | CorpusConfig,
    config: Config = DEFAULTS,
    problems: Problems | None = None,
    *,
    gold_known: bool = True,
    context: int | None = None,
    labels_occur: bool = False,
    **options: Any,
) -> Iterator[list[Sentence]]:
    """Read the sentences of each document of a corpus.

    Documents without sentences are split by the model's tokenizer. In training, tokens are split and sentences joined
    where a mention requires it; with `gold_known` false, text is split as in inference, and mentions that do not fit
    are left out. `context` is the number of context words around each sentence, by default as many as the model reads.
    With `labels_occur`, it is an error if a label to rename has no mention, or if none is left. `options` are those of
    the format.
    """
    problems = problems if problems is not None else Problems()
    corpus = CorpusConfig(corpus) if isinstance(corpus, str) else corpus
    documents = read_corpus(corpus.path, corpus.format or config.data.format or None, problems, **options)
    tokenizer = Tokenizer(config.model.tokenizer)
    if not gold_known:
        documents = (_split_blindly(document, tokenizer, problems) for document in documents)
    own = config.transformer.context if config.transformer.name else 0
    sentences = (with_sentences(document, problems, tokenizer).sentences for document in documents)
    if labels_occur and corpus.labels:
        sentences = _with_labels_of(sentences, corpus)
    split = ([_relabelled(sentence, corpus, problems) for sentence in text] for text in sentences)
    words = own if context is None else context
    return (list(with_context(text, words)) for text in texts(split, config.data.joined))


def _split_blindly(document: Document, tokenizer: Tokenizer, problems: Problems) -> Document:
    if document.sentences:
        return document
    blank = with_sentences(evolve(document, mentions=()), problems, tokenizer)
    return evolve(document, sentences=blank.sentences)


def fingerprint(sentences: Sequence[Sentence]) -> str:
    """A fingerprint of sentences: words, mentions, partial annotation, order and document context."""
    digest = hashlib.sha256()
    for sentence in sentences:
        mentions = _described(sentence.mentions)
        more: list[object] = [(sentence.before, sentence.after)] if sentence.before or sentence.after else []
        if (scope := sentence.annotated) is not None:
            more.append((None if scope.types is None else sorted(scope.types), scope.regions))
        if sentence.forbidden:
            more.append(_described(sentence.forbidden))
        digest.update(repr((sentence.tokens, sentence.tags, mentions, *more)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _described(mentions: Iterable[Mention]) -> list[tuple[object, ...]]:
    """What tells mentions apart, in a fixed order."""
    return sorted((mention.start, mention.end, mention.label, *mention.fragments) for mention in mentions)


# -- unlabelled text --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unlabelled:
    """The unlabelled sentences that a student reads besides the training sentences."""

    sentences: Sequence[Sentence] = ()
    portion: int = 0
    """How many of them each epoch reads."""
    digest: str = ""
    """A digest of all text, not of the sentences: more epochs read more of them."""

    def of_epoch(self, epoch: int) -> list[Sentence]:
        """Every epoch reads the next sentences, and starts over at the end."""
        count = len(self.sentences)
        return [self.sentences[(epoch * self.portion + place) % count] for place in range(self.portion if count else 0)]


NO_TEXT = Unlabelled()


def context_of(config: Config) -> int:
    """The largest document context, in words, that a model or one of its teachers reads."""
    teachers = (Config.of_model(folder_of(name)) for name in config.distillation.teachers)
    return max(given.transformer.context if given.transformer.name else 0 for given in (config, *teachers))


def read_unlabelled(config: Config, problems: Problems | None = None, context: int | None = None) -> Unlabelled:
    """Read as many unlabelled sentences as all epochs need, without empty or overlong ones.

    `context` is the number of context words around each sentence, by default the largest that a model or a teacher
    reads.
    """
    if not config.distillation.text:
        return NO_TEXT
    path, needed = Path(config.distillation.text), config.distillation.sentences * config.training.epochs or None
    words = context_of(config) if context is None else context
    sentences = chain.from_iterable(_sentences_of(file, config, problems, words) for file in _parts(path))
    found = list(islice((sentence for sentence in sentences if 0 < len(sentence) <= LONGEST), needed))
    if not found:
        raise InputError(f"{path} holds no sentences; name a file of text in distillation.text")
    return Unlabelled(found, config.distillation.sentences or len(found), digest_of_text(config))


def digest_of_text(config: Config) -> str:
    """A digest of the files' bytes, independent of their names."""
    digest = hashlib.sha256()
    for part in _parts(Path(config.distillation.text)):
        for path in sorted(part.rglob("*")) if part.is_dir() else [part]:
            if path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _parts(path: Path) -> list[Path]:
    """The text files of a folder; a file, or a folder without text files (perhaps a corpus), is one part."""
    files = sorted(file for file in path.iterdir() if file.name.endswith(TEXT_SUFFIXES)) if path.is_dir() else []
    return files or [path]


def _sentences_of(file: Path, config: Config, problems: Problems | None, context: int) -> Iterator[Sentence]:
    if not file.name.endswith(TEXT_SUFFIXES):
        for one in read_sentences(str(file), config, problems, gold_known=False, context=context):
            yield Sentence(one.tokens, tags=one.tags, before=one.before, after=one.after)
        return
    tokenizer = Tokenizer(config.model.tokenizer)
    try:
        with open_text(file) as lines:
            for written, document in groupby(lines, lambda line: not line.isspace()):
                if written:
                    yield from with_context(_sentences_in(document, tokenizer), context)
    except TEXT_ERRORS as error:
        raise InputError(
            f"{file} cannot be read as text in UTF-8 ({error}); name another file in distillation.text"
        ) from None


def _sentences_in(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[Sentence]:
    """The sentences of a document's lines."""
    for line in lines:
        yield from (Sentence(map(sys.intern, sentence.tokens)) for sentence in iter_sentences(line, tokenizer))
