"""Inputs are found, cut and read: every record once, whatever the limits, and with its place."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.bulk import inputs
from hyperspan.bulk import records as reading
from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input, Kind, find_inputs, stamp_of
from hyperspan.bulk.plan import Columns, PlannedShard, Shard, ShardLimits, read_plan, shards_of, write_plan
from hyperspan.bulk.records import DocumentRecord, InputPiece, Rejected, close_inputs, read_piece
from hyperspan.errors import InputError
from tests.bulk.fakes import write_jsonl


def make_plan(files: Sequence[Input], limits: ShardLimits, columns: Columns | None = None) -> list[Shard]:
    return list(shards_of(files, limits, columns or Columns()))


def read_all(shards: Iterable[Shard], columns: Columns | None = None) -> list[DocumentRecord | Rejected]:
    pieces = [piece for shard in shards for piece in shard.pieces]
    return [record for piece in pieces for record in read_piece(piece, columns or Columns())]


def written(files: Sequence[Input], limits: ShardLimits, folder: Path) -> tuple[list[Input], list[Shard]]:
    """Inputs and shards as a file keeps them."""
    shards = write_plan(Folder(str(folder)), "job", files, limits, Columns())
    entries = list(read_plan(Folder(str(folder))))
    kept = [entry.shard for entry in entries if isinstance(entry, PlannedShard)]
    assert len(kept) == shards
    return [entry for entry in entries if isinstance(entry, Input)], kept


def file_of(path: Path, kind: Kind) -> Input:
    return Input(str(path), kind, *stamp_of(str(path)))


def told(records: list[DocumentRecord | Rejected]) -> list[Any]:
    return [record.document.text if isinstance(record, DocumentRecord) else record.reason for record in records]


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=12), max_size=12)


@given(
    LINES, LINES, st.integers(1, 5), st.integers(1, 40), st.booleans(), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_every_line_is_in_one_shard_with_its_number(
    tmp_path_factory: pytest.TempPathFactory,
    one: list[str],
    other: list[str],
    records: int,
    size: int,
    packed: bool,
    end: str,
    ended: bool,
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    raw = [(end.join(lines) + end * ended).encode() for lines in (one, other)]
    for name, content in zip(("one", "other"), raw, strict=True):
        (folder / name).write_bytes(gzip.compress(content) if packed else content)
    files, limits = [file_of(folder / name, "lines") for name in ("one", "other")], ShardLimits(records, size)
    plan = make_plan(files, limits)
    assert written(files, limits, folder) == (files, plan)
    found = [(r.input, r.place["line"], r.document.text) for r in read_all(plan) if isinstance(r, DocumentRecord)]
    assert found == [
        (str(folder / name), number, text)
        for name, lines in (("one", one), ("other", other))
        for number, line in enumerate(lines, start=1)
        if (text := line.removeprefix("\ufeff") if number == 1 else line).encode().strip()
    ]
    for shard in plan:
        bytes_held = sum(piece.end - piece.start for piece in shard.pieces)
        longest = max(len(f"{line}{end}".encode()) for line in (*one, *other, ""))
        assert shard.pieces and bytes_held <= max(size, longest)
        parts = [raw[files.index(piece.input)][piece.start : piece.end] for piece in shard.pieces]
        assert sum(part.count(b"\n") + (not part.endswith(b"\n")) for part in parts) <= records


def test_messages_say_where_the_records_of_a_shard_begin(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n\nfour")
    (tmp_path / "b.csv").write_bytes(b'text\n"a\nb"\nc\n')
    files = [file_of(tmp_path / "a.txt", "lines"), file_of(tmp_path / "b.csv", "csv")]
    files.append(Input("c.txt", "text", 9))
    places = [shard.place for shard in make_plan(files, ShardLimits(records=3))]
    assert places == [f"from line 1 of {files[0].name}", f"from line 4 of {files[0].name}", "from c.txt"]
    assert Shard(0, (InputPiece(Input("d", "parquet", 9), 4, 6, 5),)).place == "from row 5 of d"


def test_a_line_too_long_to_be_held_is_one_rejected_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 10)
    (tmp_path / "lines").write_bytes(b"one\n" + b"x" * 35 + b"\ntwo\n" + b"y" * 9 + b"\nthree\n" + b"z" * 21)
    for limits in (ShardLimits(), ShardLimits(records=1), ShardLimits(bytes=7)):
        records = read_all(make_plan([file_of(tmp_path / "lines", "lines")], limits))
        assert [record.place["line"] for record in records] == [1, 2, 3, 4, 5, 6]
        assert [text for text in told(records) if "MiB" not in text] == ["one", "two", "y" * 9, "three"]


BAD = [
    ("nonsense", "a record is no JSON: expecting value at 'nonsense'"),
    ('{"text": "cut', "a record is no JSON: it is cut off"),
    ("[1]", "a record is a list of 1, but a JSON object is expected"),
    ('"text"', 'a record is "text", but a JSON object is expected'),
    ("{}", 'the key "text" is missing, its keys are none'),
    ('{"text": null}', '"text" is null, but a string is expected'),
    ('{"text": 3, "id": 1}', '"text" is 3, but a string is expected'),
    ('{"text": "a", "id": [1]}', '"id" is a list of 1, but a name or a number is expected'),
    ('{"text": "a", "id": true}', '"id" is true, but a name or a number is expected'),
    ('{"text": "a"} {"text": "b"}', 'a record is followed by \' {"text": "b"}\' on its line'),
    ('{"text": "\\ud800"}', "a record holds half of a surrogate pair, which is no character"),
    ("[" * 100_000, "a record is nested too deeply"),
    ('{"text": "a", "n": ' + "9" * 5_000 + "}", "a record holds a number of thousands of digits"),
    ('{"format": "hyperspan", "text": "a", "mentions": [{"start": 0}]}', 'the key "end" is missing'),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[reason[:30] for _, reason in BAD])
def test_what_is_no_document_says_why(tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "made.jsonl").write_text(f'{{"text": "good"}}\n{line}\n{{"text": "better"}}', encoding="utf-8")
    one, bad, other = read_all(make_plan([file_of(tmp_path / "made.jsonl", "jsonl")], ShardLimits()))
    assert told([one, other]) == ["good", "better"]
    assert isinstance(bad, Rejected) and bad.place == {"line": 2} and bad.reason.startswith(reason)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "made.jsonl").write_bytes(b'{"text": "Zo\xeb"}\n{"text": "Zoe"}\n')
    (tmp_path / "made.txt").write_bytes(b"Zo\xeb")
    files, _ = find_inputs([str(tmp_path)])
    assert told(read_all(make_plan(files, ShardLimits()))) == [
        "it is not UTF-8 text (invalid continuation byte)",
        "Zoe",
        "it is not UTF-8 text (unexpected end of data)",
    ]


def test_records_keep_their_names_and_all_else_in_metadata(tmp_path: Path) -> None:
    records = [
        {"id": 7, "text": "a", "year": float("nan"), "tags": [1, {"b": None}]},
        {"body": "b", "key": "k", "text": 1, "id": None},
        {"format": "hyperspan", "version": 1, "id": "own", "text": "c", "mentions": [], "metadata": {"m": 1}},
    ]
    path = write_jsonl(tmp_path / "made.jsonl", records)
    plan = make_plan([file_of(path, "jsonl")], ShardLimits())
    first, own = (record.document for record in read_all(plan) if isinstance(record, DocumentRecord))
    assert (first.id, first.metadata) == ("7", {"year": None, "tags": [1, {"b": None}]})
    assert (own.id, own.text, own.metadata) == ("own", "c", {"m": 1})
    [second] = [r for r in read_all(plan, Columns("body", "key")) if isinstance(r, DocumentRecord)]
    assert (second.document.id, second.document.metadata) == ("k", {"text": 1, "id": None})


# -- which files
# --------------------------------------------------------------------------------------------------------


def test_folders_are_read_in_order_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["b.jsonl", "a.JSONL.gz", "c d/é.txt", "c d/z.md", "notes.pdf", ".hidden.txt", "_log/x.txt", "out/o.jsonl"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "b.jsonl")
    (tmp_path / "elsewhere").symlink_to(tmp_path.parent / f"{tmp_path.name}-real")
    (tmp_path.parent / f"{tmp_path.name}-real").mkdir()
    (tmp_path.parent / f"{tmp_path.name}-real/e.txt").write_text("x")
    (tmp_path.parent / f"{tmp_path.name}-real/back").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    given = [".", "b.jsonl", str(tmp_path), (tmp_path / "c d").as_uri()]
    found, left_out = find_inputs(given, output=str(tmp_path / "out"))
    assert [os.path.relpath(file.name, tmp_path) for file in found] == [
        "a.JSONL.gz",
        "b.jsonl",
        "c d/z.md",
        "c d/é.txt",
        "elsewhere/e.txt",
    ]
    assert [(file.kind, file.id) for file in found[1:4]] == [("jsonl", ""), ("text", "c d/z"), ("text", "c d/é")]
    assert left_out == 2 * 3, "notes.pdf, .hidden.txt and _log/x.txt, in both names of the folder"
    assert [file.id for file in find_inputs(["c d/é.txt"])[0]] == ["é"]
    assert {file.kind for file in find_inputs(["c d"], "lines")[0]} == {"lines"}


def test_names_that_are_no_unicode(tmp_path: Path) -> None:
    odd = os.fsdecode(b"Zo\xeb.txt")
    (tmp_path / odd).write_text("Zoe slept.")
    [file], _ = find_inputs([str(tmp_path)])
    plan = make_plan([file], ShardLimits())
    (tmp_path / "out").mkdir()
    assert written([file], ShardLimits(), tmp_path / "out") == ([file], plan)
    [record] = read_all(plan)
    assert isinstance(record, DocumentRecord) and record.document.id == "Zo\ufffd"


@pytest.mark.parametrize(
    ("given", "kind", "sentence"),
    [
        (["missing.jsonl"], None, "missing.jsonl does not exist"),
        (["-"], None, "which standard input cannot be"),
        (["data.bin"], None, "data.bin does not say what it holds; name it with --from"),
        (["empty"], None, "empty holds no files that end in .jsonl"),
        (["nonsense://host/x.jsonl"], None, "nonsense://host/ cannot be opened (Unrecognized filesystem"),
        (["fsspec+memory://nowhere/x"], None, "holds no files"),
        (["cut.jsonl.gz"], None, "cut.jsonl.gz cannot be unpacked (Compressed file ended"),
        (["torn.jsonl.gz"], None, "torn.jsonl.gz cannot be unpacked"),
        (["pipe"], "jsonl", "pipe, no plain file, cannot be"),
        (["data.bin"], "parquet", "data.bin cannot be read as Parquet"),
    ],
)
def test_inputs_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], kind: Kind | None, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    os.mkfifo("pipe")
    Path("data.bin").write_bytes(b"12345678")
    packed = gzip.compress(os.urandom(5_000))
    Path("cut.jsonl.gz").write_bytes(packed[:-1_000])
    Path("torn.jsonl.gz").write_bytes(packed[:50] + b"\0" * 200 + packed[250:])
    with pytest.raises(InputError) as raised:
        make_plan(find_inputs(given, kind)[0], ShardLimits())
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_an_input_that_changes_after_the_plan_is_refused(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "made.jsonl", [{"text": f"text {n}"} for n in range(10)])
    plan = make_plan([file_of(path, "jsonl")], ShardLimits(records=3))
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b"text 7", b"tex! 7"))
    first, *_ = plan
    with pytest.raises(InputError, match="has changed since the job was planned"):
        read_all(plan)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))  # as if a filesystem did not tell
    assert len(list(read_piece(first.pieces[0], Columns()))) == 3
    with pytest.raises(InputError, match="has changed since the job was planned"):
        read_all(plan)
    path.write_bytes(b"")
    with pytest.raises(InputError, match="has changed"):
        list(read_piece(first.pieces[0], Columns()))


def test_a_gzipped_file_is_unpacked_once_for_pieces_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "made.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(b'{"text": "text %d"}\n' % n for n in range(3_000))))
    plan = make_plan([file_of(path, "jsonl")], ShardLimits(records=10))
    assert len(plan) == 300
    rewound = 0

    def rewind(self: Any) -> None:
        nonlocal rewound
        rewound += 1
        original(self)

    reader: Any = gzip._GzipReader  # type: ignore[attr-defined]
    original = reader._rewind
    monkeypatch.setattr(reader, "_rewind", rewind)
    assert told(read_all(plan)) == [f"text {n}" for n in range(3_000)]
    assert rewound == 0
    last_first = [record for shard in reversed(plan) for record in read_piece(shard.pieces[0], Columns())]
    assert told(last_first)[:10] == [f"text {n}" for n in range(2_990, 3_000)] and rewound
    close_inputs()


def test_find_inputs_resolves_links_once_for_each_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.jsonl", "c.pdf", "out/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("text")
    resolved: list[str] = []
    itself = inputs._itself
    monkeypatch.setattr(inputs, "_itself", lambda name: resolved.append(name) or itself(name))
    files, left_out = find_inputs([str(tmp_path)], output=str(tmp_path / "out"))
    assert [Path(file.name).name for file in files] == ["a.txt", "b.jsonl"] and left_out == 1
    assert sorted(Path(name).name for name in resolved) == ["a.txt", "b.jsonl", "c.pdf", "d.txt", "out"]
