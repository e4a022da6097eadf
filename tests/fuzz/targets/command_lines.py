"""Command lines with their files, run in this process by the same function as the command; and bulk jobs."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hyperspan.bulk import annotate_files
from hyperspan.cli import main
from hyperspan.errors import HyperspanError
from tests.fuzz.mutate import NUMBERS, SIGNS, mutate, mutate_file
from tests.fuzz.samples import BRAT, TEXTS, TOKENS, corpora
from tests.fuzz.target import FoundError, Input, Target, Workplace, check_message
from tests.fuzz.targets.configurations import HANDMADE, KEYS, TOML

FILES: dict[str, bytes] = {
    "a.txt": TEXTS[0].encode(),
    "b.txt": TEXTS[1].encode(),
    "a.txt.gz": gzip.compress(TEXTS[0].encode(), mtime=0),
    "a.jsonl": corpora("jsonl")[0]["corpus.jsonl"],
    "texts.jsonl": b'{"id": 1, "text": "Ada left Oz."}\n{"id": 2, "text": "Why?"}\n',
    "a.data": corpora("four-lines")[0]["corpus.data"],
    "a.tsv": corpora("columns")[0]["corpus.tsv"],
    "a.conll": corpora("conll2003")[0]["corpus.conll"],
    "a.json": corpora("label-studio")[0]["corpus.json"],
    "a.xml": corpora("genia-xml")[0]["corpus.xml"],
    "train.toml": HANDMADE.replace("a.data", "empty.jsonl").encode(),
    "empty.jsonl": b'{"text": "Tea was served.", "mentions": []}\n',
    "in/a.txt": BRAT["zoo.txt"],
    "in/a.ann": BRAT["zoo.ann"],
}
"""What command lines may name; train.toml names a corpus without mentions, so that no training begins."""
COMMANDS = """
annotate Ada_left_Oz. -m model
annotate a.txt -m model --threshold 0.3 --threshold person=0.5 -o out.html
annotate a.txt -m model --top-k 3 --format jsonl --labels person
annotate a.txt -m model --require 0:3:person --forbid 13:16:place -o out.jsonl
bulk a.txt b.txt -m model -o out/ --shard-records 1 --workers 0
annotate a.txt b.txt -m model -o out/
annotate a.txt b.txt -m model -o out.html
bulk texts.jsonl a.txt.gz -m model -o out --workers 0 --column text --id-column id
annotate in -m model --format brat -o out
annotate in -m model --format html -o out/
annotate texts.jsonl -m model -o out.jsonl.gz --force
annotate a.data -m model --from four-lines -o out.conll
annotate - -m model -f columns
annotate -m model -f label-studio --on-error skip
annotate a.jsonl -m model --format docbin -o out.spacy
annotate a.tsv -m model --option repair=true -f w2ner
convert a.data out.jsonl
convert a.jsonl out.data --force
convert a.jsonl - --format conll2003 --lossy outermost
convert a.tsv out.json --format w2ner --from columns --option repair=true
convert a.json out --format brat
convert in out.jsonl --from brat
convert a.xml out.data --option types=raw --option coordination=span
convert - - --from jsonl --format gliner
convert a.conll out.tsv.gz --write-option layers=2
convert a.data out --fractions 60/40 --by sentence --seed 3
convert a.jsonl out --fractions 0.7/0.3/0 --format brat --force
convert in out --fractions 50/25/25 --group-by doc_id --in-order
init a.data -o out.toml
init a.jsonl -o out.toml --dev a.jsonl --from jsonl
view a.data a.jsonl --stats --markdown
view a.tsv --stats --json --on-error skip
view in --stats --from brat
view a.data --first 1 --count 2 --width 40
view a.jsonl --overlapping
evaluate a.data -m model --samples 10 --json
evaluate a.jsonl -m model --threshold 0.5 --threshold person=0.1 --samples 0 -o out.jsonl
evaluate a.data --predictions a.jsonl --samples 20 --markdown
compare a.jsonl a.data --gold a.data --samples 20 --json
compare a.jsonl a.data --markdown
model compact -m model -o out --words 3
model compact -m model -o out --drop person
model calibrate a.data -m model -o out --json
model weights -m model --labels person --top 3 --json
model profile a.data -m model -o out
draw Ada_left_the_zoo --mention 0:1:PER --mention 2:4:FAC -o out.svg
draw a_b_c --labels X,Y --mention 0:2:X --show path
draw a_b_c --mention 0:2:X -c 2 --show graph
draw - --mention 0:1,2:3:X
train train.toml -o out --set training.epochs=1 --device cpu --seed 3 --threads 1
train train.toml --resume
train missing.toml -o out
curve train.toml -o out --sizes 1,2 --seeds 1 --device cpu
curve train.toml --sizes 5,10 --keep --force --json
info model --json
info missing
info
serve --model missing --port 0
--version
--help
annotate --help
""".strip().splitlines()
OPTIONS = sorted({word for line in COMMANDS for word in line.split() if word.startswith("-") and len(word) > 1})
VALUES = (
    *(*FILES, "", " ", *"model missing out out/ in in/ - . 0 0:1:PER 0:0:X a:b:c 0:9: X,Y".split()),
    *"person person=0.5 =0.5 person=nan repair=maybe layers=-1 = cuda:99 meta json table tree".split(),
    *"jsonl brat columns html terminal".split(),
    *(*(number for number in NUMBERS if len(number) < 40), *KEYS[:8], *SIGNS[10:30]),
)
COUNTS = ("--samples",)
"""Options whose numbers are kept below 10,000: who asks for a billion samples waits for them."""


def seed_of(line: str) -> dict[str, bytes]:
    """A command with the files that it names; _ stands for a space."""
    words = [word.replace("_", " ") if word not in FILES and "=" not in word else word for word in line.split()]
    named = [name for name in FILES if name in words or name.split("/")[0] in words]
    if "train.toml" in words:
        named.append("empty.jsonl")
    parts = {"arguments": "\0".join(words).encode(), "stdin": TEXTS[0].encode()}
    if line.startswith(("convert -", "draw -")):
        parts["stdin"] = FILES["a.jsonl"] if line.startswith("convert") else b"a b c"
    return parts | {name: FILES[name] for name in named}


def mutated_arguments(chance: random.Random, words: list[bytes]) -> list[bytes]:
    """Words added, left out, moved, doubled, exchanged, or changed in themselves."""
    for _ in range(chance.randrange(1, 4)):
        index = chance.randrange(len(words)) if words else 0
        action = chance.random()
        if action < 0.3:
            words[index : index + 1] = [os.fsencode(chance.choice(VALUES).encode("utf-8", "replace").decode())]
        elif action < 0.45:
            words.insert(index, chance.choice(OPTIONS).encode())
        elif action < 0.6:
            words[index:index] = [chance.choice(OPTIONS).encode(), chance.choice(VALUES).encode("utf-8", "replace")]
        elif action < 0.7:
            del words[index : index + 1]
        elif action < 0.8:
            words[index:index] = words[index : index + 1]
        elif words:
            words[index] = mutate(chance, words[index], (b"=", b",", b":", b"-", b" ", b"*"))
    return words


def harmless(words: Sequence[bytes]) -> list[str]:
    """Arguments as Python gets them, which name nothing outside the folder, start no server and train nothing."""
    safe = [
        os.fsdecode(word.rstrip(b"/").replace(b"/", b"_").replace(b"..", b"__") + b"/" * word.endswith(b"/"))
        for word in (word.replace(b"\0", b"") if word != b"/" else b"" for word in words)
    ]
    safe = [
        word[:4] if before in COUNTS and word.isdecimal() else word
        for before, word in zip(["", *safe], safe, strict=False)
    ]
    return [
        *safe,
        *(["--model", "missing"] if safe[:1] == ["serve"] else []),
    ]


@contextlib.contextmanager
def as_a_command(arguments: list[str], stdin: bytes, folder: Path) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """This process as the command has its own: arguments, streams that are no terminal, and the current folder."""
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr, Path.cwd()
    out, err = io.BytesIO(), io.BytesIO()
    sys.argv = ["hyperspan", *arguments]
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    sys.stdout, sys.stderr = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in (out, err))
    sys.stderr.reconfigure(errors="backslashreplace")
    os.chdir(folder)
    try:
        yield out, err
    finally:
        streams = sys.stdin, sys.stdout, sys.stderr
        sys.argv, sys.stdin, sys.stdout, sys.stderr, cwd = kept
        os.chdir(cwd)
        for stream in streams:
            with contextlib.suppress(ValueError):
                stream.detach()


class CommandLines(Target):
    """The command ends with 0, 1 or 2, shows no traceback, and leaves no half of a file."""

    name, inputs = "command-line", 3_500

    def seeds(self) -> Sequence[Input]:
        return [seed_of(line) for line in COMMANDS]

    def mutated(self, chance: random.Random) -> Input:
        parts = seed_of(chance.choice(COMMANDS))
        files = [name for name in parts if name != "arguments"]
        if chance.random() < 0.35:
            name = chance.choice(files)
            tokens = TOML if name.endswith(".toml") else TOKENS["json"]
            parts[name] = mutate_file(chance, name, parts[name], tokens)
        else:
            parts["arguments"] = b"\0".join(mutated_arguments(chance, parts["arguments"].split(b"\0")))
        return parts

    def run(self, given: Input, place: Workplace) -> None:
        words = harmless(given["arguments"].split(b"\0"))
        place.write({name: data for name, data in given.items() if name not in ("arguments", "stdin")})
        shutil.copytree(place.tiny_model(), place.folder / "model")
        before = {path for path in place.folder.rglob("*") if path.is_file()}
        status: object = 0
        with as_a_command(words, given["stdin"], place.folder) as (_, err):
            try:
                main()
            except SystemExit as ended:
                status = ended.code or 0
        said = err.getvalue().decode("utf-8", "replace")
        if status not in (0, 1, 2):
            raise FoundError(f"the command ended with {status!r}")
        if "Traceback (most recent call last)" in said:
            raise FoundError("a traceback is on standard error")
        if status == 2 and not said.strip():
            raise FoundError("the command ended with 2 and said nothing")
        if status == 2:
            check_nothing_left(place.folder, before)


def check_nothing_left(folder: Path, before: set[Path]) -> None:
    """A refusal leaves no file behind; what a job or a run has finished is kept in its folder, where it goes on."""
    jobs = {path.parent for name in ("manifest.json", "log.jsonl", "run.json") for path in folder.rglob(name)}
    new = (path for path in folder.rglob("*") if path.is_file() and path not in before and path.name != ".lock")
    left = [path.relative_to(folder) for path in new if not jobs & set(path.parents)]
    if left:
        raise FoundError(f"the command refused and left {len(left)} files, such as {left[0].suffix}")


class BulkJobs(Target):
    """Files of any content in a bulk job: every record is a document or set aside, and the job ends."""

    name, inputs = "bulk", 2_500

    def seeds(self) -> Sequence[Input]:
        return [
            {"texts.jsonl": FILES["texts.jsonl"], "a.txt": FILES["a.txt"]},
            {"a.jsonl": FILES["a.jsonl"]},
            {"a.txt.gz": FILES["a.txt.gz"], "b.txt": FILES["b.txt"]},
            {"b.jsonl.gz": gzip.compress(FILES["texts.jsonl"], mtime=0)},
        ]

    def mutated(self, chance: random.Random) -> Input:
        parts = dict(chance.choice(self.seeds()))
        name = chance.choice(sorted(parts))
        parts[name] = mutate_file(chance, name, parts[name], TOKENS["json"])
        return parts

    def run(self, given: Input, place: Workplace) -> None:
        place.write(given)
        inputs = [place.folder / name for name in given]
        try:
            annotate_files(inputs, place.folder / "out", model=place.tiny_model(), shard_records=2, workers=0)
        except HyperspanError as error:
            check_message(error)
        if halves := [path for path in (place.folder / "out").rglob(".part-*") if path.is_file()]:
            raise FoundError(f"a job left {len(halves)} files that are not whole")
