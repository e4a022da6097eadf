"""Label Studio's tasks: its full JSON, and the short JSON-MIN::

    [{"id": 1, "data": {"text": "the Seattle zoo"}, "annotations": [{"result": [{"id": "a1", "from_name": "label",
      "to_name": "text", "type": "labels", "value": {"start": 4, "end": 11, "text": "Seattle", "labels": ["GPE"]}}]}]}]
    [{"id": 1, "text": "the Seattle zoo", "label": [{"start": 4, "end": 11, "text": "Seattle", "labels": ["GPE"]}]}]

Offsets count Unicode code points; before its pull request #1559 they counted UTF-16 code units, in which an emoji
counts as two. Regions usually quote their text, which distinguishes the two.

Regions are contiguous. The parts of a discontinuous mention are regions with the same labels, joined by relations with
the label CONTINUES, a <Relation> in the project's configuration::

    {"type": "relation", "from_id": "a1", "to_id": "a2", "direction": "right", "labels": ["CONTINUES"]}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from attrs import evolve

from hyperspan.corpora.documents import joined, trimmed
from hyperspan.corpora.json_records import (
    ABOUT_MENTIONS,
    NO_PROBABILITY,
    Record,
    about_mentions,
    distinct,
    documents_in,
    finite_of,
    first_record,
    id_of,
    is_probability,
    number_of,
    objects_of,
    shown,
    strings_of,
    text_of,
    value_of,
    write_records,
)
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.files import Target
from hyperspan.text.offsets import Offsets
from hyperspan.types import MENTION_ORDER, Document, Mention

OffsetUnit = Literal["auto", "codepoint", "utf16"]
Results = Literal["annotations", "predictions"]
OTHER_RESULTS = "other_results"
"""The key of results that are no mentions: relations, choices."""
OWN_KEYS = {
    "data",
    "annotations",
    "completions",
    "predictions",
    "from_name",
    "to_name",
    "text_key",
    OTHER_RESULTS,
    ABOUT_MENTIONS,
}
NO_WORDS = re.compile(r"\\n|\s+")
"""Allowed differences in a region's quoted text: Label Studio writes line breaks as \\n and trims blanks."""


CONTINUES = "CONTINUES"
"""The label of relations from a part of a mention to its next part."""


def read_label_studio(
    source: Source,
    problems: Problems,
    *,
    results: Results = "annotations",
    annotation: Literal["first", "all"] = "first",
    offset_unit: OffsetUnit = "auto",
    text_key: str | None = None,
    continues: str = CONTINUES,
) -> Iterator[Document]:
    """Read the documents of an export: each task with its first annotation, or once per annotation.

    `results` selects annotations by people or predictions by models; scores become probabilities. `text_key` names the
    text in the data of a task: by default "text", or the only string there. `continues` is the label of relations that
    join the parts of a discontinuous mention; "" for none.

    >>> import io
    >>> task = b'[{"text": "the Seattle zoo", "label": [{"start": 4, "end": 11, "labels": ["GPE", "LOC"]}]}]'
    >>> [document] = read_label_studio(Source("made.json", stream=io.BytesIO(task)), Problems())
    >>> [(mention.text, mention.label) for mention in sorted(document.mentions)]
    [('Seattle', 'GPE'), ('Seattle', 'LOC')]
    """

    def build(task: Record) -> Iterator[Document]:
        full = isinstance(task.get("data"), dict)
        data = task["data"] if full else task
        key = text_key or (_only_text(data) if full else "text")
        text = text_of(data, key)
        lists = _result_lists(task, results, problems) if full else [_short_results(task)]
        metadata = _rest_of(task, key, full)
        name = data.get("document_id", task.get("id"))
        if annotation == "first" and len(lists) > 1:
            problems.note("annotation left out because only the first of a task is read", len(lists) - 1)
        for regions in lists[:1] if annotation == "first" else lists:
            parts = [result for result in regions if is_continuation(result, continues)]
            others = [result for result in regions if not is_continuation(result, continues)]
            listed, more = _mentions(others, text, offset_unit, problems)
            listed = join_parts(listed, parts) if parts else listed
            mentions = distinct(listed, problems)
            yield Document(text, mentions, id=id_of(name), metadata=metadata | more)

    return documents_in(source, problems, build)


def write_label_studio(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    *,
    results: Results = "annotations",
    from_name: str = "label",
    to_name: str = "text",
    continues: str = CONTINUES,
) -> None:
    """Write tasks for import, as annotations or as predictions.

    `from_name` and `to_name` are the names of the tags <Labels> and <Text> in the project's configuration; names stored
    in a document that was read from Label Studio take precedence. `continues` is the label of the <Relation> between
    the parts of a discontinuous mention; without it, discontinuous mentions are lost.
    """

    def tasks() -> Iterator[Record]:
        for document in documents:
            ordered = sorted(document.mentions, key=MENTION_ORDER)
            kept = [mention for mention in ordered if continues or not mention.fragments]
            losses.lose("discontinuous", len(ordered) - len(kept))
            names = {name: document.metadata.get(name, default) for name, default in defaults.items()}
            found = [*regions_of(kept, names, continues), *_other_results(document)]
            yield _task(document) | {results: [{"result": found}]}

    defaults = {"from_name": from_name, "to_name": to_name}
    write_records(tasks(), target, lines=False)


def looks_like_label_studio(head: str) -> bool:
    """Whether there are tasks with data and results, or a text with regions.

    >>> looks_like_label_studio('[{"id": 1, "annotations": [{"id": 5, "result": []}], "data": {"text": "Why?"}}]')
    True
    """
    first = first_record(head)
    if {"annotations", "completions", "predictions"} & first.keys():
        return isinstance(first.get("data"), dict) or ('"result"' in head and '"from_name"' in head)
    has_regions = any(_is_region_list(value) for value in first.values())
    return has_regions and any(isinstance(value, str) for value in first.values())


def _only_text(data: Record) -> str:
    strings = [key for key, value in data.items() if isinstance(value, str)]
    return "text" if "text" in data or len(strings) != 1 else strings[0]


def _rest_of(task: Record, text_key: str, full: bool) -> Record:
    """The metadata: everything but the text and the results."""
    if full:
        rest = {key: value for key, value in task.items() if key not in OWN_KEYS}
        if data := {key: value for key, value in task["data"].items() if key not in {text_key, "document_id"}}:
            rest["data"] = data
    else:
        own = {*OWN_KEYS, text_key}
        rest = {key: value for key, value in task.items() if key not in own and not _is_region_list(value)}
    return rest if text_key == "text" else rest | {"text_key": text_key}


def _result_lists(task: Record, results: Results, problems: Problems) -> list[list[Record]]:
    """The results of each annotation or prediction to read."""
    key = "completions" if results == "annotations" and "annotations" not in task else results
    lists: list[list[Record]] = []
    for found in objects_of(task, key) if task.get(key) is not None else []:
        if found.get("was_cancelled"):
            problems.note("cancelled annotation left out")
            continue
        inherited = {"score": found["score"]} if results == "predictions" and "score" in found else {}
        lists.append([inherited | result for result in objects_of(found, "result")])
    if not lists:
        problems.note(f"task without {results} read as a text without mentions")
    return lists or [[]]


def _short_results(task: Record) -> list[Record]:
    """The regions of JSON-MIN as full results; their key is the name of the <Labels> tag."""
    return [
        {"type": "labels", "from_name": key, "value": region}
        for key, value in task.items()
        if _is_region_list(value)
        for region in value
    ]


def _is_region_list(value: object) -> bool:
    """Whether a value is a list of JSON-MIN regions; an empty list is not."""
    return (
        isinstance(value, list)
        and value != []
        and all(isinstance(item, dict) and {"start", "end", "labels"} <= item.keys() for item in value)
    )


def _mentions(
    results: Sequence[Record], text: str, unit: OffsetUnit, problems: Problems
) -> tuple[list[Mention], Record]:
    """The mentions in the results, and the metadata from the rest."""
    regions = [result for result in results if result.get("type") == "labels"]
    others = [result for result in results if result.get("type") != "labels"]
    for other in others:
        if str(other.get("type")).endswith("labels"):
            raise WrongRecordError(f"a result has type {shown(other['type'])}, but regions of plain text are expected")
    if len(texts := {str(region.get("to_name")) for region in regions}) > 1:
        raise WrongRecordError(
            f"its regions are in {len(texts)} texts, {', '.join(sorted(texts))}, but one is expected"
        )
    found = [mention for region in regions for mention in _region_mentions(region, problems)]
    of_mentions = [other for other in others if _is_about_region(other)]
    of_text = [other for other in others if not _is_about_region(other)]
    more: Record = {ABOUT_MENTIONS: {OTHER_RESULTS: of_mentions}} if of_mentions else {}
    more |= {OTHER_RESULTS: of_text} if of_text else {}
    for key, usual in (("from_name", "label"), ("to_name", "text")):
        if regions and isinstance(name := regions[0].get(key), str) and name != usual:
            more[key] = name
    return trimmed(_in_code_points(found, text, unit, problems), text, problems), more


def _region_mentions(region: Record, problems: Problems) -> list[Mention]:
    """A mention for every label of the region, with its offsets and quoted text as given."""
    value = value_of(region, "value", dict, "an object")
    start, end, labels = number_of(value, "start"), number_of(value, "end"), strings_of(value, "labels")
    if not labels:
        problems.note("region without labels left out")
    quoted = text_of(value, "text") if value.get("text") is not None else ""
    name = region.get("id")
    identifier = name if isinstance(name, str) else ""
    score = finite_of(region, "score")
    if score is not None and not is_probability(score):
        problems.note(NO_PROBABILITY)
        score = None
    return [Mention(start, end, label, text=quoted, probability=score, id=identifier) for label in labels]


def _in_code_points(mentions: list[Mention], text: str, unit: OffsetUnit, problems: Problems) -> list[Mention]:
    """The mentions in code points, after a check of their quoted texts."""
    if max(text, default="") <= "\uffff":
        unit = "codepoint"  # both units agree
    if unit == "auto":
        unit = "codepoint"
        if mentions and not all(_quotes(mention, text) for mention in mentions):
            unit = "utf16"
            problems.note("offsets read as UTF-16 code units, as the quoted texts show")
        elif mentions and not any(mention.text for mention in mentions):
            problems.note("offsets read as code points, though no text is quoted that shows it")
    if unit == "utf16":
        read = Offsets(text, unit).read
        mentions = [evolve(one, start=read(one.start, "offset"), end=read(one.end, "offset")) for one in mentions]
    for mention in mentions:
        if not _quotes(mention, text):
            raise WrongRecordError(
                f"a region at {mention.start}:{mention.end} quotes {shown(mention.text)}, but the text there reads "
                f"{shown(text[mention.start : mention.end])}"
            )
    return [evolve(mention, text="") for mention in mentions]


def _quotes(mention: Mention, text: str) -> bool:
    """Whether the quoted text of a mention, if it has one, is at its offsets."""
    covered = text[mention.start : mention.end]
    return mention.text in ("", covered) or NO_WORDS.sub("", mention.text) == NO_WORDS.sub("", covered)


def _task(document: Document) -> Record:
    """A task without results. Its id is a number; other document ids are in its data."""
    metadata = document.metadata
    rest = metadata.get("data")
    data: Record = {str(metadata.get("text_key", "text")): document.text}
    if isinstance(rest, Mapping):
        data = {**rest, **data}
    task: Record = {key: value for key, value in metadata.items() if key not in OWN_KEYS and key != "text"}
    if document.id and str(task.get("id")) != document.id:
        task.pop("id", None)
        data["document_id"] = document.id
    return task | {"data": data}


def regions_of(mentions: Sequence[Mention], names: Record, continues: str) -> list[Record]:
    """A region for each part, and relations between the parts of a discontinuous mention.

    Contiguous mentions with the same id, span and probability share one region with several labels.
    """
    regions: dict[str, Record] = {}
    parts: list[Record] = []
    joined: set[str] = set()
    for number, mention in enumerate(mentions, start=1):
        known = None if mention.fragments or mention.id in joined else regions.get(mention.id)
        if known and _place(known) == (mention.start, mention.end, mention.probability):
            known["value"]["labels"].append(mention.label)
            continue
        ids: list[str] = []
        for index, span in enumerate(mention.parts, start=1):
            name = f"{ids[0]}-part-{index}" if ids else mention.id
            while not name or name in regions:
                name = f"{name or 'mention'}-{number}"
            regions[name] = {"id": name, **names, "type": "labels", **_value(mention, *span)}
            ids.append(name)
        joined.update(ids[: len(mention.fragments)])
        parts += continuations(ids, continues)
    return [*regions.values(), *parts]


def _value(mention: Mention, start: int, end: int) -> Record:
    text = mention.text[start - mention.start : end - mention.start]
    score = {} if mention.probability is None else {"score": float(mention.probability)}
    return {"value": {"start": start, "end": end, "text": text, "labels": [mention.label]}, **score}


def _place(region: Record) -> tuple[int, int, float | None]:
    return region["value"]["start"], region["value"]["end"], region.get("score")


def _is_about_region(result: Record) -> bool:
    """Whether a result belongs to a region or joins two, rather than describing the whole text."""
    value = result.get("value")
    return {"from_id", "to_id"} <= result.keys() or (isinstance(value, dict) and "start" in value)


def _other_results(document: Document) -> list[Record]:
    found = [part.get(OTHER_RESULTS) for part in (about_mentions(document.metadata), document.metadata)]
    return [one for listed in found if isinstance(listed, list | tuple) for one in listed if isinstance(one, dict)]


def is_continuation(result: Mapping[str, Any], label: str) -> bool:
    """Whether a result is a relation that joins two parts.

    >>> is_continuation({"type": "relation", "from_id": "a", "to_id": "b", "labels": ["CONTINUES"]}, CONTINUES)
    True
    """
    labels = result.get("labels")
    return bool(label) and result.get("type") == "relation" and isinstance(labels, list) and label in labels


def continuations(regions: Sequence[str], label: str) -> list[Record]:
    """The relations between consecutive regions, given by id, of one mention."""
    return [
        {"type": "relation", "from_id": one, "to_id": other, "direction": "right", "labels": [label]}
        for one, other in pairwise(regions)
    ]


def join_parts(mentions: Iterable[Mention], relations: Iterable[Record]) -> list[Mention]:
    """Join mentions whose regions are linked by relations; the joined mention has the id of the first.

    >>> parts = [Mention(0, 3, "cell", id="a"), Mention(4, 7, "X"), Mention(8, 13, "cell", id="b")]
    >>> join_parts(parts, continuations(["a", "b"], CONTINUES))
    [Mention(0, 13, 'cell', fragments=((0, 3), (8, 13))), Mention(4, 7, 'X')]
    """
    given = list(mentions)
    groups = _groups({mention.id for mention in given if mention.id}, relations)
    parts: dict[str, list[Mention]] = {}
    for mention in given:
        if mention.id in groups:
            parts.setdefault(groups[mention.id], []).append(mention)
    whole: list[Mention] = []
    joined_parts: dict[str, dict[str, Mention]] = {}
    for mention in given:
        group = groups.get(mention.id)
        if group is None:
            whole.append(mention)
            continue
        if group not in joined_parts:
            joined_parts[group] = _by_label(parts[group])
        if (found := joined_parts[group].pop(mention.label, None)) is not None:
            whole.append(found)
    return whole


def _groups(regions: set[str], relations: Iterable[Record]) -> dict[str, str]:
    """For each region joined with others, the region that stands for its whole group."""
    above: dict[str, str] = {}

    def top(region: str) -> str:
        while above.setdefault(region, region) != region:
            above[region] = region = above[above[region]]  # shorter for the next one that asks
        return region

    for relation in relations:
        ends = [str(relation.get(end)) for end in ("from_id", "to_id")]
        for end in ends:
            if end not in regions:
                raise WrongRecordError(
                    f"a relation joins the region {shown(end)}, but no mention has a region of this id"
                )
        above[top(ends[0])] = top(ends[1])
    return {region: top(region) for region in above}


def _by_label(parts: Sequence[Mention]) -> dict[str, Mention]:
    """The mention of each label that these regions form; every region must have all the labels."""
    by_label: dict[str, list[Mention]] = {}
    for part in parts:
        by_label.setdefault(part.label, []).append(part)
    regions = len({part.id for part in parts})
    if any(len(own) != regions for own in by_label.values()):
        labels = ", ".join(sorted(by_label))
        raise WrongRecordError(f"regions that are joined have the labels {labels}, but each needs the same")
    return {label: _whole(sorted(own)) for label, own in by_label.items()}


def _whole(own: Sequence[Mention]) -> Mention:
    spans = joined(part.span for part in own)
    return evolve(own[0], start=spans[0][0], end=spans[-1][1], fragments=spans)
