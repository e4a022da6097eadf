"""The spaCy component "hyperspan": overlapping mentions in ``doc.spans``, with probabilities.

spaCy imports this module (an entry point) for everyone who has both packages, whenever it makes a pipeline. So nothing
here imports torch or a model before a component is created.
"""

import inspect
import json
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan.errors import EXIT_EXCEPTIONS, DomainWarning, InputError, MissingExtraError
from hyperspan.integrations.spacy_docs import ALIGNMENTS, SOURCES, align, as_document, parts_of_span, span_group
from hyperspan.runtime.folders import DEFAULT_MODEL, FILES, bundled_models
from hyperspan.types import Document

try:
    import srsly
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span
    from spacy.util import minibatch
    from spacy.vocab import Vocab
    from thinc.api import Config
except ImportError:
    raise MissingExtraError("the component of spaCy", "spacy") from None

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator
    from hyperspan.runtime.notes import Notes

STATE = "hyperspan.json"
"""The file of a saved component with the name of its bundled model, and the settings changed since it was created.

A model that is not bundled is saved next to it, in a folder "model".
"""


PARTS = "hyperspan_parts"
"""The extension attribute of spans: ``span._.hyperspan_parts``."""
Span.set_extension(PARTS, getter=parts_of_span, force=True)


class Component(Pipe):
    """The component that ``nlp.add_pipe("hyperspan", config={…})`` adds. It is trained with ``hyperspan train``.

    The settings, in `cfg`, may be changed at any time:

    - `spans_key`: the group of ``doc.spans`` to fill; its ``attrs["scores"]`` are the probabilities. The span of a
      discontinuous mention reaches from its first to its last part; ``span._.hyperspan_parts`` are the parts;
    - `threshold`, `recall`, `precision`, `types`, `top_k`, `names`, `pronouns`: as for :class:`hyperspan.Annotator`;
      alternatives go to ``attrs["alternatives"]``, a promise to ``attrs["promise"]``;
    - `alignment`: for a mention that begins or ends inside a token, take all tokens that it touches ("expand"), only
      those inside it ("contract"), or drop it ("strict");
    - `sentences`, `tokens`: whether the model reads those of "hyperspan", as in its training, or those of "spacy".

    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("hyperspan", config={"model": "genia", "threshold": 0.5})
    >>> doc = nlp("NF-kappa B binds the IL-2 promoter.")
    >>> [(span.text, span.label_) for span in doc.spans["sc"]]
    [('NF-kappa B', 'protein'), ('IL-2', 'protein'), ('IL-2 promoter', 'DNA')]
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str,
        model: str,
        cfg: dict[str, Any],
        loading: dict[str, Any],
        scorer: Callable[..., Any] | None = None,
    ):
        self.vocab, self.name, self.scorer = vocab, name, scorer
        self.cfg = cfg
        self.counts: Counter[str] = Counter()
        """Counts of the mentions found so far: all, unaligned, dropped and merged."""
        self.notes: Notes | None = None
        """What was seen in the documents so far; None before the model is loaded."""
        self._warned = False
        self._given = dict(cfg)
        self._source, self._loading = model, loading
        self._annotator: Annotator | None = None
        self._process = os.getpid()

    @property
    def key(self) -> str:
        """The group of ``doc.spans`` that is filled."""
        return self.cfg["spans_key"]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the component predicts; empty before the model is loaded."""
        if self._annotator is None:
            return ()
        annotator, types = self._annotator, self.cfg["types"]
        if self.cfg["names"]:
            return tuple(label for label in annotator.name_labels if types is None or label in types)
        return tuple(
            label for label in annotator.model.labels if label in (annotator.labels if types is None else types)
        )

    @property
    def annotator(self) -> "Annotator":
        """hyperspan's annotator, for features without a place in spaCy."""
        if self._annotator is None:
            self._load(self._source)
        assert self._annotator is not None
        return self._annotator

    def _load(self, source: str) -> None:
        from hyperspan.runtime.loading import load
        from hyperspan.runtime.notes import Notes

        annotator = load(source, **self._loading)
        self._source, self._annotator, self.notes = source, annotator, Notes(annotator)
        for label in (*annotator.model.labels, *annotator.name_labels):
            self.vocab.strings.add(label)

    def check(self) -> None:
        """Load the model, and raise an error for settings that are invalid or do not fit it."""
        for name, known in (("alignment", ALIGNMENTS), ("sentences", SOURCES), ("tokens", SOURCES)):
            if self.cfg[name] not in known:
                raise InputError(f"{name} is {self.cfg[name]!r}, but must be one of {', '.join(known)}")
        self.annotator.pipe((), **self._wanted())

    def _wanted(self) -> dict[str, Any]:
        names = ("threshold", "recall", "precision", "types", "top_k", "names", "pronouns")
        return {name: self.cfg.get(name) for name in names}

    # -- documents -----------------------------------------------------------------------------------------------------

    def __call__(self, doc: Doc) -> Doc:
        self.set_annotations([doc], self.predict([doc]))
        self._judge([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Yield the documents with their mentions, in order; one that fails does not affect others of its batch."""
        for docs in minibatch(stream, batch_size):
            try:
                self.set_annotations(docs, self.predict(docs))
                done = docs
            except EXIT_EXCEPTIONS:
                raise
            except BaseException:
                done = self._one_by_one(docs)
            else:
                self._judge(docs)
            yield from done

    def _one_by_one(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        handle = self.get_error_handler()
        for doc in docs:
            try:
                self(doc)
            except EXIT_EXCEPTIONS:
                raise
            except BaseException as error:  # spaCy's handlers expect subclasses of Exception
                handle(self.name, self, [doc], error if isinstance(error, Exception) else RuntimeError(repr(error)))
            else:
                yield doc

    def predict(self, docs: Sequence[Doc]) -> list[Document]:
        """Predict the mentions of documents, by characters, as hyperspan documents; the given ones are unchanged."""
        if os.getpid() != self._process:
            # One of several processes of nlp.pipe(n_process=…): they share the cores.
            from hyperspan.kernels.threads import use_threads

            use_threads(1)
            self._process = os.getpid()
        annotator, settings = self.annotator, (self.cfg["sentences"], self.cfg["tokens"])
        given = [as_document(doc, annotator.model.tokenizer, *settings) for doc in docs]
        return list(annotator.pipe(given, **self._wanted(), keep_sentences=False))

    def _judge(self, docs: Iterable[Doc]) -> None:
        """Warn, once, if documents differ from the model's training text."""
        if self._warned or self.notes is None:
            return
        for doc in docs:
            self.notes.see(doc.text)
        if note := self.notes.domain.note:
            self._warned = True
            if self.cfg.get("recall") is not None or self.cfg.get("precision") is not None:
                from hyperspan.runtime.notes import NOT_THERE

                note += NOT_THERE
            warnings.warn(note, DomainWarning, stacklevel=2)

    def set_annotations(self, docs: Sequence[Doc], found: Sequence[Document]) -> None:
        """Store the found mentions in ``doc.spans``."""
        from hyperspan.corpora.json_records import PROMISE, alternatives_records

        total: Counter[str] = Counter()  # added at the end: if a document fails, all are annotated again, one by one
        for doc, document in zip(docs, found, strict=True):
            placed, counts = align(doc, document.mentions, self.cfg["alignment"])
            group = span_group(doc, self.key, placed)
            group.attrs |= {name: counts[name] for name in ("unaligned", "dropped", "merged")}
            if PROMISE in document.metadata:
                group.attrs[PROMISE] = document.metadata[PROMISE]
            if self.cfg["top_k"]:
                group.attrs["alternatives"] = alternatives_records(document.alternatives or ())
            doc.spans[self.key] = group
            total.update(counts)
        self.counts.update(total)

    # -- files ---------------------------------------------------------------------------------------------------------

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the name of a bundled model, or all files of another, to a folder."""
        for name, content in self._files().items():
            file = Path(path) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Component":
        """Read what `to_disk` wrote; settings that were not changed when it was saved keep their current values."""
        folder = Path(path)
        if (folder / STATE).is_file():
            state = json.loads((folder / STATE).read_bytes())
            self.cfg.update(state["changes"])
            self._load(state["model"] or str(folder / "model"))
        self.check()
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The content of `to_disk` as bytes."""
        return srsly.msgpack_dumps(self._files())

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "Component":
        """Read what `to_bytes` returned."""
        held: Any = srsly.msgpack_loads(bytes_data)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "model").mkdir()
            for name in (STATE, *(f"model/{file}" for file in FILES)):
                if name in held:
                    (Path(folder) / name).write_bytes(held[name])
            return self.from_disk(folder)

    def _files(self) -> dict[str, bytes]:
        """The files to save, by name in the folder of the component."""
        changes = {name: value for name, value in self.cfg.items() if value != self._given.get(name)}
        bundled = self._source in bundled_models()
        state = {"model": self._source if bundled else None, "changes": changes}
        files = {STATE: json.dumps(state, ensure_ascii=False).encode()}
        return files if bundled else files | {f"model/{name}": data for name, data in self._model_files().items()}

    def _model_files(self) -> dict[str, bytes]:
        """The files of the model in memory: those that it was loaded from may have changed or vanished."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.annotator.model.save(folder)
            self.annotator.card.write(folder)
            return {file.name: file.read_bytes() for file in folder.iterdir()}

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self.vocab, self.name, self._source, self._given, self._loading, self.scorer)
        return _revived, (made, self.to_bytes(), self._process)


def _revived(made: tuple[Any, ...], state: bytes, process: int) -> Component:
    """The component in another process, for ``nlp.pipe`` without fork."""
    component = Component(*made).from_bytes(state)
    component._process = process
    return component


# Older versions of spaCy need annotations that are not strings (from __future__).
@Language.factory(
    "hyperspan",
    assigns=["doc.spans"],
    default_config={
        "model": DEFAULT_MODEL,
        "spans_key": "sc",
        "threshold": None,
        "recall": None,
        "precision": None,
        "types": None,
        "alignment": "expand",
        "sentences": "hyperspan",
        "tokens": "hyperspan",
        "top_k": 0,
        "names": False,
        "pronouns": True,
        "device": "cpu",
        "dtype": "float32",
        "skip": None,
        "scorer": {"@scorers": "spacy.spancat_scorer.v1"},
    },
)
def make_component(
    nlp: Language,
    name: str,
    model: str,
    spans_key: str,
    threshold: float | dict[str, float] | None,
    recall: float | dict[str, float] | None,
    precision: float | dict[str, float] | None,
    types: list[str] | None,
    alignment: str,
    sentences: str,
    tokens: str,
    top_k: int,
    names: bool,
    pronouns: bool,
    device: str,
    dtype: str,
    skip: float | None,
    scorer: Callable[..., Any] | None,
) -> Component:
    """The factory: the settings of :class:`Component` and of :func:`hyperspan.load`."""
    cfg = {
        "spans_key": spans_key,
        "threshold": threshold,
        "recall": recall,
        "precision": precision,
        "types": types,
        "alignment": alignment,
        "sentences": sentences,
        "tokens": tokens,
        "top_k": top_k,
        "names": names,
        "pronouns": pronouns,
    }
    for key, given in (("threshold", threshold), ("recall", recall), ("precision", precision)):
        if isinstance(given, dict) and Config().from_str(Config({"t": given}).to_str()) != {"t": given}:
            raise InputError(
                f"the {key}s {given} have labels that a config file of spaCy cannot hold; leave them out here and set "
                f'nlp.get_pipe("{name}").cfg["{key}"], which is saved as well'
            )
    loading = {"device": device, "dtype": dtype, "skip": skip}
    component = Component(nlp.vocab, name, model, cfg, loading, scorer)
    if not _from_config():
        component.check()
    return component


def _from_config() -> bool:
    """Whether spaCy makes a pipeline from a config. It may read files next, with the only copy of a model."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != Language.from_config.__name__:
        frame = frame.f_back
    return frame is not None
