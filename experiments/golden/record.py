"""Write a record: the parts of it, and what each of them asks."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

from experiments.golden import names as hs
from experiments.golden.comparison import Record
from experiments.golden.entries import NEAR, Entry
from experiments.golden.models import HANDCRAFTED, OF_KIND, SMALL, models, recipes
from experiments.golden.texts import all_texts, harbour_texts, one_long_text, some_texts

Entries = Iterator[tuple[str, Entry]]
QUICK_BUNDLED, QUICK_KINDS = ("craft", "genia"), ("discontinuous", "joint", "segmental")
"""The models of the quick half."""
SENTENCES, LONGEST = 50, 60
"""The sentences whose distributions are recorded, and the most words of one."""
LEAST, LEAST_OF_SMALL = 1e-3, 1e-2
"""The least probability of a recorded marginal; small models are sure of little."""
DRAWS, SEED = 2_000, 7
"""The samples of a distribution that draws with PyTorch, whose counts alone are compared."""
TRAINING = ("training.epochs=4", "training.batch_size=2")
FEW_SENTENCES, FEW_WORDS = 3, 15
"""The sentences that many samples are drawn of."""


def write(path: Path, *, quick: bool = False, corpora: Path | None = None) -> Record:
    """Write a record of this checkout to a file; a `quick` one has the models above and nothing else."""
    hs.one_thread()
    record = Record({"quick": quick, **hs.versions()}, dict(_parts(quick, corpora)))
    record.write(path)
    return record


def _parts(quick: bool, corpora: Path | None) -> Entries:
    bundled = hs.bundled_models()
    for name in bundled if not quick else [name for name in QUICK_BUNDLED if name in bundled]:
        yield from _bundled(name, all_texts())
    with models() as folders:
        for name in QUICK_KINDS if quick else recipes():
            yield from _small(name, folders / name)
        if not quick:
            yield from _training(folders)
    if not quick:
        yield from _front_ends()
        if corpora is not None:
            yield from _corpora(corpora)


# -- models --------------------------------------------------------------------------------------------------------


def _bundled(name: str, texts: Mapping[str, str]) -> Entries:
    """A bundled model on raw text."""
    place, annotator = f"bundled/{name}", hs.load(name)
    for title, text in texts.items():
        document = annotator.split(text)
        cut = [
            [*each.offsets[0], *each.offsets[-1], len(each), _digest(each.tokens)]
            for each in document.sentences
            if each
        ]
        yield f"{place}/sentences/{title}", {"exact": cut}
        fit = annotator.domain_fit(text)
        known = fit and {"score": _number(fit.score), "unknown": _number(fit.unknown), "foreign": fit.foreign}
        yield f"{place}/domain/{title}", {"tree": known}
    yield from _answers(place, annotator, texts)
    yield from _answers(
        f"{place}, skip=inf", hs.load(name, skip=math.inf), some_texts(), only=("best", "threshold 0.3")
    )
    with hs.with_torch():
        yield from _answers(f"{place}, torch", hs.load(name), some_texts(), only=("best", "top 5"))
    yield from _windows(place, annotator)
    yield from _distribution(place, annotator, list(texts.values()))


def _small(name: str, folder: Path) -> Entries:
    """A model of the archive; where C computes it, plain PyTorch does so as well."""
    texts = dict(harbour_texts())
    for way, context in (("", nullcontext()), (", torch", hs.with_torch())):
        with context:
            annotator, place = hs.load(folder), f"small/{name}{way}"
            if way and name not in ("segmental", "untied", "calibrated", "discontinuous", "three-parts"):
                continue
            yield from _answers(place, annotator, texts)
            yield from _distribution(place, annotator, list(texts.values()), LEAST_OF_SMALL)


def _answers(place: str, annotator: hs.Annotator, texts: Mapping[str, str], only: Sequence[str] = ()) -> Entries:
    """The documents of each way of asking."""
    few = {name: text for name, text in texts.items() if name in some_texts() or name in dict(harbour_texts())}
    label, last = annotator.labels[0], annotator.labels[-1]
    by_label = {label: 0.2, "*": 0.6}
    unsure = _unsure(annotator, texts)
    ways: dict[str, tuple[Mapping[str, str], dict[str, Any], Any]] = {
        "best": (texts, {}, None),
        "threshold 0.3": (texts, {"threshold": 0.3}, 0.3),
        "thresholds by label": (few, {"threshold": by_label}, by_label),
        "threshold of one label": (few, {"threshold": {label: 0.2}}, {label: 0.2, "*": 0.5}),
        "one type": (few, {"types": [last]}, None),
        "without pronouns": (few, {"pronouns": False}, None),
    }
    if annotator.name_labels:
        ways["names"] = (few, {"names": True, "threshold": 0.4}, 0.4)
    for way, (asked, options, cut) in ways.items():
        if only and way not in only:
            continue
        for title, found in _pipe(annotator, asked, **options):
            yield f"{place}/{way}/{title}", _found(found, cut, unsure.get(title, ()))
    if not only:
        for title, found in _pipe(annotator, few, candidates=0.01):
            entry = {"exact": "refused"} if found is None else _mentions(found.candidates or (), cut=0.01)
            yield f"{place}/candidates 0.01/{title}", entry
    if not only or "top 5" in only:
        for title, found in _pipe(annotator, few, top_k=5):
            ranked = [
                [[_log(one.probability), [_place(mention) for mention in one.mentions]] for one in sentence.sets]
                for sentence in (found and found.alternatives) or ()
            ]
            yield f"{place}/top 5/{title}", {"ranked": ranked}
    if not only:
        yield from _constrained(place, annotator, few)


def _constrained(place: str, annotator: hs.Annotator, texts: Mapping[str, str]) -> Entries:
    """Documents where mentions are required or forbidden: the first long word, the first found mention, two parts."""
    label = annotator.labels[0]
    for title, text in texts.items():
        words = [offsets for sentence in annotator.split(text).sentences[:1] for offsets in sentence.offsets]
        long = [word for word in words if word[1] - word[0] > 2]
        if len(long) < 2:
            continue
        forbidden = sorted(annotator(text).mentions)[:1]
        given: dict[str, dict[str, Any]] = {
            "require": {"require": [hs.Mention(*long[0], label)]},
            "require and forbid": {"require": [hs.Mention(*long[-1], label)], "forbid": forbidden},
        }
        if annotator.discontinuous and len(words) > 3:
            parts = (words[0], words[2])
            apart = hs.Mention(parts[0][0], parts[1][1], label, parts)
            given |= {"require a gap": {"require": [apart]}, "forbid a gap": {"forbid": [apart]}}
        for way, constraints in given.items():
            try:
                # Cut at 0.2, not the best set: its lead over the next one, given these, is not at hand.
                found = _found(annotator(text, threshold=0.2, **constraints), 0.2)
            except hs.HyperspanError:
                found = {"exact": "refused"}
            yield f"{place}/{way}/{title}", found


def _windows(place: str, annotator: hs.Annotator) -> Entries:
    """One long text, annotated in windows and kept without its sentences."""
    small = hs.Annotator(annotator.model, card=annotator.card, window=100, long_text=500)
    [document] = small.pipe([one_long_text()], threshold=0.5, keep_sentences=False)
    yield f"{place}/long text in windows", _found(document, 0.5)


def _pipe(
    annotator: hs.Annotator, texts: Mapping[str, str], **options: Any
) -> Iterator[tuple[str, hs.Document | None]]:
    """The document of each text, or None where the model cannot answer."""
    try:
        documents: list[hs.Document | None] = list(annotator.pipe(texts.values(), **options))
    except hs.HyperspanError:
        documents = [None] * len(texts)
    for (title, text), document in zip(texts.items(), documents, strict=True):
        for mention in document.mentions if document else ():
            if mention.text != text[mention.start : mention.end]:
                raise AssertionError(f"{mention} is not at its place in {title}")
        yield title, document


def _unsure(annotator: hs.Annotator, texts: Mapping[str, str]) -> dict[str, list[tuple[int, int]]]:
    """By text, the sentences whose two best sets are equally probable but for rounding."""
    unsure: dict[str, list[tuple[int, int]]] = {}
    for title, document in _pipe(annotator, texts, top_k=2):
        for sentence in (document and document.alternatives) or ():
            best = [ranked.probability for ranked in sentence.sets]
            if len(best) > 1 and best[0] - best[1] <= NEAR * best[0]:
                unsure.setdefault(title, []).append((sentence.start, sentence.end))
    return unsure


# -- distributions -------------------------------------------------------------------------------------------------


def _distribution(place: str, annotator: hs.Annotator, texts: Sequence[str], least: float = LEAST) -> Entries:
    """The distributions over the mention sets of some sentences, and what is read off them."""
    place, labels = f"{place}/distribution", annotator.model.labels
    sentences = list(hs.sentences_of(annotator, texts, SENTENCES, LONGEST))
    with annotator.model.inference():
        distribution = annotator.model.distribution(sentences)
        every = [[] for _ in sentences]
        first = [{(0, 1, 0)} for _ in sentences]

        def sets(found: Iterable[Iterable[Any]]) -> list[list[str]]:
            return [sorted(hs.mention_of(mention, labels) for mention in mentions) for mentions in found]

        def ranked(k: int, of: Any = distribution) -> list[list[list[Any]]]:
            return [
                [[_number(log), sorted(hs.mention_of(one, labels) for one in mentions)] for mentions, log in found]
                for found in of.topk(k)
            ]

        def marginals() -> dict[str, float]:
            found = hs.numbers(distribution.marginals)
            return {
                f"{sentence}:{hs.mention_of((start, start + width + 1, kind), labels)}": _probability(
                    found[sentence, start, width, kind]
                )
                for sentence, start, width, kind in zip(*(found >= least).nonzero(), strict=True)
            }

        def best() -> Entry:
            lead = [_number(two[0][0] - two[1][0]) if len(two) > 1 else 99.0 for two in ranked(2)]
            return {"best": sets(distribution.argmax()), "lead": lead}

        def drawn() -> Entry:
            generator = hs.generator_for(distribution, SEED)
            if hs.draws_with_numpy(distribution):
                return {"exact": [sets(each) for each in distribution.sample(3, generator)]}
            short = [sentence for sentence in sentences if len(sentence) <= FEW_WORDS][:FEW_SENTENCES]
            samples = annotator.model.distribution(short).sample(DRAWS, generator)
            counted = [Counter(" | ".join(one) for one in sets(each)) for each in samples]
            return {"counts": [dict(counts.most_common(10)) for counts in counted]}

        answers: dict[str, Callable[[], Entry]] = {
            "log Z": lambda: _logs(distribution.log_partition),
            "entropy": lambda: _logs(distribution.entropy),
            "marginals": lambda: {"probabilities": marginals(), "cut": least},
            "best set": best,
            "log p of the best set": lambda: _logs(distribution.log_prob(distribution.argmax())),
            "log p of the empty set": lambda: _logs(distribution.log_prob(every)),
            "5 best": lambda: {"ranked": ranked(5)},
            "samples": drawn,
            "log Z given a mention": lambda: _logs(hs.log_partition_given(distribution, require=first)),
            "log Z without a mention": lambda: _logs(hs.log_partition_given(distribution, forbid=first)),
            "log Z of one type": lambda: _logs(distribution.restrict([len(labels) - 1]).log_partition),
            "2 best of one type": lambda: {"ranked": _of_one_type(distribution, labels)},
        }
        for name, answer in answers.items():
            try:
                yield f"{place}/{name}", answer()
            except (hs.NotSupportedError, hs.HyperspanError):
                yield f"{place}/{name}", {"exact": "not supported"}
        if (gapped := hs.gapped_marginals(distribution, LEAST_OF_SMALL)) is not None:
            found = {
                f"{sentence}:{hs.mention_of(mention, labels)}": _probability(probability)
                for sentence, mentions in enumerate(gapped)
                for mention, probability in sorted(mentions.items())
            }
            yield f"{place}/marginals with gaps", {"probabilities": found, "cut": LEAST_OF_SMALL}


def _of_one_type(distribution: Any, labels: Sequence[str]) -> list[list[list[Any]]]:
    kind = len(labels) - 1
    return [
        [[_number(log), sorted(hs.mention_of(one, [labels[kind]]) for one in mentions)] for mentions, log in found]
        for found in distribution.restrict([kind]).topk(2)
    ]


# -- training ------------------------------------------------------------------------------------------------------


def _training(folders: Path) -> Entries:
    """Short runs of every kind, and of what training can do besides."""
    for name, (corpus, changes) in recipes().items():
        if name in hs.KINDS or name in ("character-lstm", "untied", "handcrafted"):
            yield from _run(name, corpus, changes)
    segmental = str(folders / "segmental")
    yield from _run("handcrafted chain", "harbour", ["model.kind=linear-chain", *HANDCRAFTED])
    yield from _run("cascaded in order", "harbour", ["model.kind=cascaded", *OF_KIND.get("cascaded", ())])
    yield from _run("six words, likelihood alone", "harbour", ["model.max_width=6", "training.softmax_margin=false"])
    yield from _run("warm start", "harbour", [f"training.start={segmental}"])
    yield from _run("student", "harbour", [f"distillation.teacher={segmental}"])
    with tempfile.TemporaryDirectory() as place:
        train = Path(place, "train.jsonl")
        hs.write_corpus(_partly_annotated(), train)
        yield from _run("partial annotation", "harbour", [f"data.train={train}"])
    yield "training/resumed run has the same weights", {"exact": _resumed()}


def _run(name: str, corpus: str, changes: Iterable[str]) -> Entries:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "model")
        _train(folder, corpus, changes)
        epochs = hs.epochs_of(folder)
    yield f"training/{name}/loss", {"losses": [_number(epoch["loss"]) for epoch in epochs]}
    yield f"training/{name}/F1 on dev", {"tree": [epoch["f1"] for epoch in epochs]}


def _train(folder: Path, corpus: str, changes: Iterable[str], **options: Any) -> None:
    data = [f"data.{part}={hs.example_path(corpus)}" for part in ("train", "dev")]
    settings = [*data, *SMALL, *TRAINING, *changes]
    hs.train({}, folder, overrides=settings, device="cpu", threads=1, **options)


def _partly_annotated() -> Iterator[hs.Document]:
    """Harbour: of every third sentence only PER and GPE are annotated, of every other third only half of it."""
    for number, document in enumerate(hs.read_corpus(hs.example_path("harbour"))):
        middle = len(document.text) // 2
        scope = (None, hs.AnnotationScope(types=["PER", "GPE"]), hs.AnnotationScope(regions=[(0, middle)]))[number % 3]
        kept = [m for m in document.mentions if scope is None or scope.covers(m.start, m.end, m.label)]
        yield hs.Document(document.text, kept, id=str(number), annotated=scope)


class _StoppedError(Exception):
    """A run was stopped on purpose."""


def _resumed() -> bool:
    """Whether a run that stops after two epochs and is resumed ends with the weights of one that does not stop."""

    def stop(event: Any) -> None:
        if getattr(event, "name", "") == "epoch" and event.epoch == 2:
            raise _StoppedError

    changes = ["encoder.input_dropout=0.3", "training.ema_decay=0.9"]
    with tempfile.TemporaryDirectory() as place:
        whole, parted = Path(place, "whole"), Path(place, "parted")
        _train(whole, "harbour", changes)
        try:
            _train(parted, "harbour", changes, listeners=[stop])
        except _StoppedError:
            _train(parted, "harbour", changes, resume=True)
        weights = [(folder / "model.safetensors").read_bytes() for folder in (whole, parted)]
    return weights[0] == weights[1]


# -- front ends ----------------------------------------------------------------------------------------------------


def _front_ends() -> Entries:
    gold = list(hs.read_corpus(hs.example_path("harbour")))
    yield from _formats()
    yield from _pictures(gold)
    systems = [_damaged(gold, number) for number in (4, 7)]
    yield "front ends/evaluate", {"tree": _plain(hs.evaluate(gold, systems[0]).to_dict())}
    yield "front ends/compare", {"tree": _plain(hs.compare(gold, *systems, rounds=1000).to_dict())}
    for corpus in ("harbour", "lost-property"):
        parts = hs.split_corpus(hs.example_path(corpus), {"train": 0.6, "dev": 0.2, "test": 0.2}).parts
        texts = {name: [_digest([document.text]) for document in part.documents] for name, part in parts.items()}
        yield f"front ends/split/{corpus}", {"exact": texts}
    annotator, texts = hs.load("genia"), list(all_texts().values())
    ranked = list(hs.rank(annotator, texts, count=20))
    yield "front ends/suggest/mix/order", {"exact": [[one.document, one.sentence] for one in ranked]}
    yield "front ends/suggest/mix/scores", {"logs": [_number(one.score) for one in ranked]}
    sizes = [30, 100, 300, 1000] * 3
    scores = [1 - (0.2 + 2 * size**-0.5) + 0.01 * (number % 3) for number, size in enumerate(sizes)]
    yield "front ends/forecast", {"tree": _plain(hs.forecast(sizes, scores).to_dict())}
    yield from _bulk()


def _formats() -> Entries:
    """Two documents in every format, as files and read again."""
    examples = [next(iter(hs.read_corpus(hs.example_path(name)))) for name in ("coordination", "harbour")]
    documents = [hs.with_sentences(document, hs.Problems("skip")) for document in examples]
    for name in hs.WRITERS:
        with tempfile.TemporaryDirectory() as place:
            target = Path(place, "written")
            hs.write_corpus(documents, target, name, lossy="outermost")
            files = sorted(path for path in [target, *target.rglob("*")] if path.is_file())
            contents = [
                [path.relative_to(place).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()] for path in files
            ]
            yield f"front ends/formats/{name}/files", {"exact": contents}
            if name in hs.READERS:
                again = [[one.text, sorted(map(_place, one.mentions))] for one in hs.read_corpus(target, name)]
                yield f"front ends/formats/{name}/read again", {"exact": again}


def _pictures(gold: Sequence[hs.Document]) -> Entries:
    probable = hs.Document(
        "the upper and lower jaw of the Seattle zoo 🦁",
        [
            hs.Mention(4, 23, "ORGAN", ((4, 9), (20, 23)), probability=0.25),
            hs.Mention(14, 23, "ORGAN", probability=0.9),
            hs.Mention(27, 42, "FAC", probability=0.875),
            hs.Mention(31, 38, "GPE"),
        ],
        id="made by hand",
    )
    yield "front ends/html", {"exact": _digest([hs.render_html([probable, gold[0]], labels=["GPE"])])}
    for number, document in enumerate(gold[:4]):
        for sentence in document.sentences:
            shown = hs.render_sentence(sentence, width=50).plain
            yield f"front ends/terminal/{number}", {"exact": shown}
    words = ["at", "the", "Seattle", "zoo"]
    mentions = [hs.Mention(1, 4, "FAC"), hs.Mention(2, 3, "GPE")]
    yield "front ends/svg/segmental", {"exact": _digest([str(hs.draw_hypergraph(words, mentions, max_width=3))])}
    apart = [hs.Mention(0, 4, "FAC", ((0, 1), (3, 4))), hs.Mention(2, 3, "GPE")]
    svg = hs.draw_hypergraph(words, apart, max_width=2, structure="discontinuous")
    yield "front ends/svg/discontinuous", {"exact": _digest([str(svg)])}


def _damaged(gold: Sequence[hs.Document], number: int) -> list[hs.Document]:
    """The documents as a system might find them, which loses every so many mentions, and takes others for PER."""
    result: list[hs.Document] = []
    for document in gold:
        sentences: list[hs.Sentence] = []
        for place, sentence in enumerate(document.sentences):
            kept = [
                hs.Mention(mention.start, mention.end, "PER" if (index + place) % 5 == 0 else mention.label)
                for index, mention in enumerate(sorted(sentence.mentions))
                if (index + len(sentence)) % number
            ]
            sentences.append(hs.Sentence(sentence.tokens, kept, offsets=sentence.offsets))
        result.append(hs.Document(document.text, sentences=sentences, id=document.id))
    return result


def _bulk() -> Entries:
    """The shards of a job over many texts."""
    with tempfile.TemporaryDirectory() as place:
        records = [{"id": name, "text": text} for name, text in all_texts().items()]
        records.append({"title": "no text"})
        given = Path(place, "texts.jsonl")
        given.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
        output = Path(place, "out")
        summary = hs.annotate_files(given, output, model="genia", threshold=0.5, shard_records=12, workers=1)
        yield "front ends/bulk/documents", {"exact": summary.documents}
        for shard in sorted((output / "documents").iterdir()):
            documents = list(hs.read_corpus(shard, "jsonl"))
            yield f"front ends/bulk/{shard.name}/ids", {"exact": [document.id for document in documents]}
            for document in documents:
                yield f"front ends/bulk/{shard.name}/{document.id}", _found(document, 0.5)
        rejected = [json.loads(line) for path in sorted((output / "rejected").iterdir()) for line in path.open()]
        yield "front ends/bulk/rejected", {"exact": [record["line"] for record in rejected]}


# -- corpora, where they are at hand -------------------------------------------------------------------------------

CORPORA = {"craft": "craft", "english": "gum", "genia": "genia", "litbank": "litbank"}
"""The folder of each model's corpus."""
CORPUS_SENTENCES, CHUNK = 200, 10


def _corpora(folder: Path) -> Entries:
    """Digests of what the bundled models find in sentences of dev, and the sum of their probabilities."""
    for model, corpus in CORPORA.items():
        files = sorted((folder / corpus).glob("dev.*"))
        if not files or model not in hs.bundled_models():
            continue
        every = (sentence for document in hs.read_corpus(files[0]) for sentence in _sentences(document))
        sentences = list(islice(every, CORPUS_SENTENCES))
        found = list(hs.load(model).recognize(sentences))
        sets = [sorted(map(_place, sentence.mentions)) for sentence in found]
        chunks = [_digest([json.dumps(sets[start : start + CHUNK])]) for start in range(0, len(sets), CHUNK)]
        yield f"corpora/{corpus}/mentions", {"exact": chunks}
        sums = [math.fsum(mention.probability or 0.0 for mention in sentence.mentions) for sentence in found]
        yield f"corpora/{corpus}/probabilities", {"logs": list(map(_number, sums))}


def _sentences(document: hs.Document) -> Sequence[hs.Sentence]:
    return hs.with_sentences(document, hs.Problems("skip")).sentences


# -- values --------------------------------------------------------------------------------------------------------


def _found(document: hs.Document | None, cut: Any = None, unsure: Iterable[Any] = ()) -> Entry:
    """The mentions of a document with their probabilities."""
    if document is None:
        return {"exact": "refused"}
    if cut is not None:
        return _mentions(document.mentions, cut=cut)
    entry = _mentions(document.mentions)
    return {**entry, "unsure": [list(span) for span in unsure]} if unsure else entry


def _mentions(mentions: Iterable[hs.Mention], **more: Any) -> Entry:
    found = {_place(mention): _probability(mention.probability) for mention in sorted(mentions)}
    return {"probabilities": found, **more}


def _place(mention: hs.Mention) -> str:
    return f"{','.join(f'{start}-{end}' for start, end in mention.parts)} {mention.label}"


def _probability(value: Any) -> float:
    return round(float(value if value is not None else -1), 7)


def _number(value: Any) -> float:
    """A number with nine digits, which are more than are compared."""
    return float(f"{float(value):.9g}")


def _log(probability: float) -> float:
    return _number(math.log(probability)) if probability > 0 else -math.inf


def _logs(values: Any) -> Entry:
    return {"logs": list(map(_number, hs.numbers(values).tolist()))}


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """The same as JSON holds it."""
    return json.loads(json.dumps(value))
