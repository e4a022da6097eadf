"""One side: reads and writes inputs with the hyperspan that is imported, and prints what came of each.

It runs in a process of its own and uses nothing of hyperspan but public names, so that it also runs with other
checkouts. What an input makes differs in *results*, which are documents and written bytes, or in *messages*.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs

import hyperspan
from hyperspan.corpora import Problems, read_corpus, with_sentences, write_corpus
from hyperspan.errors import HyperspanError
from tests.fuzz.differential.inputs import DrawnInput, Material, draw

RESULTS, MESSAGES = ("documents", "sentences", "written"), ("notes", "losses", "errors")
"""The parts of an outcome."""
SECONDS = 20
"""An input that takes more CPU time hangs."""
GROWTH = 8_000_000_000
"""Bytes of address space that inputs may take, and spaCy with what it imports when it is first used."""


def canonical(value: Any) -> Any:
    """A value as JSON: with all fields of classes, and sets in one order."""
    if attrs.has(type(value)):
        return {one.name: canonical(getattr(value, one.name)) for one in attrs.fields(type(value))}
    if isinstance(value, dict):
        return {str(key): canonical(one) for key, one in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(canonical, value), key=json.dumps)
    if isinstance(value, list | tuple):
        return [canonical(one) for one in value]
    if isinstance(value, float):
        return repr(value)  # a number that is none equals itself
    return value if isinstance(value, str | int | bool | None) else repr(value)


def outcome(given: DrawnInput) -> dict[str, Any]:
    """What comes of an input in the current folder, which is empty."""
    for name, data in given.files.items():
        path = Path("given") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    source = Path("given") / next(iter(given.files)) if len(given.files) == 1 else Path("given")
    problems, errors = Problems(given.on_error), list[str]()  # type: ignore[arg-type]

    def tried(work: Callable[[], Any]) -> Any:
        """What it returns, or what stopped it; the words of a refusal are kept apart."""
        try:
            return work()
        except HyperspanError as error:
            errors.append(f"{type(error).__name__}: {error}")
            return "refused"
        except Exception as error:  # both sides may fail alike; make fuzz finds what fails
            return f"failed with {type(error).__name__}"

    found = tried(lambda: list(read_corpus(source, given.read_as, problems, **given.read_options)))
    made: dict[str, Any] = {"documents": canonical(found), "errors": errors}
    documents = found if isinstance(found, list) else []
    cut = [tried(lambda document=document: with_sentences(document, problems)) for document in documents]
    made["sentences"] = canonical([getattr(document, "sentences", document) for document in cut])
    if given.write_as is not None:
        made |= _written(given, documents, problems, tried)
    made["notes"] = {"notes": dict(sorted(problems.notes.items())), "skipped": problems.skipped}
    return made


def _written(
    given: DrawnInput, documents: Iterable[Any], problems: Any, tried: Callable[[Callable[[], Any]], Any]
) -> dict[str, Any]:
    target = Path(given.target)
    options = {"lossy": given.lossy, "problems": problems, **given.write_options}
    losses = tried(lambda: write_corpus(documents, target, given.write_as, **options))
    paths = sorted(path for path in (target, *target.rglob("*")) if path.is_file())
    files = {str(path): path.read_bytes() for path in paths}
    if given.write_as == "docbin":
        files = {name: _docbin(data) for name, data in files.items()}
    end = losses if isinstance(losses, str) else "written"
    kept = {key: value for key, value in vars(losses).items() if key != "lossy"} if end == "written" else {}
    return {
        "written": {"end": end, **{name: data.decode("latin-1") for name, data in files.items()}},
        "losses": canonical(kept),
    }


def _docbin(data: bytes) -> bytes:
    """Its content: spaCy keeps strings in a set, so that they are packed in another order in each process."""
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    docs = list(DocBin().from_bytes(data).get_docs(Vocab()))
    return json.dumps([doc.to_json(underscore=[]) | {"spans": _groups(doc)} for doc in docs], sort_keys=True).encode()


def _groups(doc: Any) -> dict[str, Any]:
    return {
        name: [[span.start, span.end, span.label_, span.id_, span.kb_id_] for span in group]
        for name, group in doc.spans.items()
    }


def digest(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:12]


class _HangsError(Exception):
    """An input took too long."""


def _hangs(*_: object) -> None:
    raise _HangsError


def limit() -> None:
    """What hangs or eats memory ends as an outcome, not as a dead machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, _hangs)


def outcomes(material: Material, seed: int, indices: Iterable[int]) -> Iterable[tuple[int, DrawnInput, dict[str, Any]]]:
    """What comes of some inputs, each in an empty folder."""
    home = Path.cwd()
    for index in indices:
        given = draw(material, seed, index)
        folder = Path(tempfile.mkdtemp(dir=home))
        os.chdir(folder)
        try:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            made = outcome(given)
        except _HangsError:
            made = {"documents": "hangs"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            os.chdir(home)
            shutil.rmtree(folder, ignore_errors=True)
        yield index, given, made


def main() -> None:
    """Arguments: the material, the source folder that must be imported, the seed, "digest" or "full", and indices."""
    material, source, seed, style, *wanted = sys.argv[1:]
    if not Path(hyperspan.__file__ or "").resolve().is_relative_to(Path(source).resolve()):
        sys.exit(f"hyperspan comes from {hyperspan.__file__}, not from {source}; is it a checkout?")
    warnings.simplefilter("ignore")
    loaded = Material.load(Path(material))
    indices = range(*map(int, wanted)) if style == "digest" else map(int, wanted)
    limit()
    for index, given, made in outcomes(loaded, int(seed), indices):
        parts = {name: digest(part) for name, part in made.items()} if style == "digest" else made
        print(json.dumps([index, given.kind, parts]), flush=style == "full")


if __name__ == "__main__":
    main()
