"""Between HTTP and the annotator: limits, the queue, and JSON records."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hyperspan.errors import EXIT_EXCEPTIONS, HyperspanError, InputError
from hyperspan.render.hypergraph import DIAGRAMS, OTHERS
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.domain import DomainFit
from hyperspan.serve import answers
from hyperspan.serve.batcher import Batcher, BatchJob
from hyperspan.serve.errors import Problem, overloaded
from hyperspan.serve.metrics import Metrics
from hyperspan.serve.models import Served, load_models, places
from hyperspan.serve.requests import Call, Memory
from hyperspan.serve.schema import HypergraphRequest, KnownMention, Options
from hyperspan.serve.settings import Settings
from hyperspan.text.offsets import Offsets
from hyperspan.text.sentences import iter_sentences
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.runtime.options import DecodingOptions

SMALL = 500
"""Up to this many characters of text are processed in the event loop; more in another thread."""
LARGE = 20_000
"""Larger requests have separate threads, so that others need not wait for them."""
MENTIONS_A_WORD = 20
"""How many times longer a response with improbable mentions may be."""
ENDING_SECONDS = 0.5
"""The time that the shutdown waits for running computations."""
CHARACTERS_A_WORD = 6
"""A typical value; words are counted when the text is split."""
MOST_SETS = 20_000
"""The maximum number of sets over all sentences of a request."""
MOST_CONSTRAINTS = 1_000
"""The maximum number of required and forbidden mentions of a request."""
MOST_LINES = 128
"""The maximum number of lines of all streams processed concurrently."""
MOST_DRAWN = 1_000
"""The maximum number of characters of a sentence whose hypergraph is drawn."""
WARM_UP = "A text, so that the first caller need not wait for what is made once. " * 3
_T = TypeVar("_T")


@dataclass(frozen=True)
class Prepared:
    """Texts split into sentences, with the options of the request."""

    documents: list[Document]
    offsets: list[Offsets]
    domains: list[DomainFit | None]
    """How well each text fits the model."""
    job: BatchJob


class Service:
    """The models of a server and its current work."""

    def __init__(self, settings: Settings, annotators: Mapping[str, Annotator] | None = None):
        self.settings, self.metrics = settings, Metrics()
        self._given = [Served(name, annotator) for name, annotator in (annotators or {}).items()]
        self._folders = {} if annotators else places(settings.models)
        self.models: dict[str, Served] = {}
        self.batcher: Batcher | None = None
        self.failure: BaseException | None = None
        """Why the models could not be loaded."""
        self.draining = False
        self.in_flight = 0
        """The number of unanswered requests, including those whose bodies are incomplete."""
        self.taken = {"requests": 0, "streams": 0}
        """Slots taken by requests with complete bodies, and by streams."""
        self.memory = Memory(settings.max_held_bytes, self.metrics)
        self._turn = asyncio.Lock()
        self.lines = asyncio.Semaphore(MOST_LINES)
        """For the lines of all streams: those that wait for it cost nothing."""
        self._with_texts = 0
        self._changing = threading.Lock()
        self._loading: threading.Thread | None = None
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="hyperspan-texts")
        self._large_pool = ThreadPoolExecutor(2, thread_name_prefix="hyperspan-large-texts")
        self.metrics.gauge("hyperspan_requests_in_flight", "Requests at work.", lambda: self.in_flight)
        self.metrics.gauge(
            "hyperspan_queue_words", "Words that wait, as work.", lambda: self.batcher.queued if self.batcher else 0
        )
        self.metrics.gauge(
            "hyperspan_queue_requests", "Requests that wait.", lambda: self.batcher.jobs if self.batcher else 0
        )
        self.metrics.gauge("hyperspan_held_bytes", "Bytes of bodies and lines at work.", lambda: self.memory.held)
        self.metrics.gauge("hyperspan_ready", "Whether requests are taken.", lambda: float(self.is_ready))

    # -- startup and shutdown ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the models in a separate thread, so that the server can respond "not ready" meanwhile."""
        context = copy_context()  # so that kernels.only holds in the thread too
        self._loading = threading.Thread(target=context.run, args=(self._load,), name="hyperspan-loading", daemon=True)
        self._loading.start()

    def _load(self) -> None:
        try:
            models = self._given or load_models(self._folders, self.settings.device, self.settings.dtype)
            for served in models:
                _warm_up(served)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:  # native code raises more than Exception
            self.failure = error
            return
        gc.freeze()  # exempt existing objects from garbage collection, which would halt all threads
        with self._changing:
            if self.draining:
                return
            self.models = {served.name: served for served in models}
            self.batcher = Batcher(self.settings.max_queued_words, self.metrics)

    def use(self, name: str, annotator: Annotator) -> None:
        """Answer with another model from now on; work that was accepted ends with the one before."""
        served = Served(name, annotator)
        _warm_up(served)
        with self._changing:
            self.models = {name: served}

    @property
    def is_ready(self) -> bool:
        return self.batcher is not None and self.batcher.is_alive and not self.draining

    @property
    def is_busy(self) -> bool:
        """Whether a thread is still loading or computing."""
        loads = self._loading is not None and self._loading.is_alive()
        return loads or self._with_texts > 0 or (self.batcher is not None and self.batcher.is_alive)

    def abort(self) -> None:
        """Abandon current work; waiting clients get an error."""
        with self._changing:  # models loaded from now on get no batcher
            self.draining = True
        if self.batcher is not None:
            self.batcher.abort()

    def close(self) -> None:
        """Shut down, after all requests are answered."""
        self.abort()
        if self.batcher is not None:
            self.batcher.join(ENDING_SECONDS)
        for pool in (self._pool, self._large_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    # -- requests ----------------------------------------------------------------------------------------------------

    def model(self, name: str | None) -> Served:
        self.check_loaded()
        if name is None:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise Problem(404, f"there is no model {name[:60]!r}; there are {', '.join(self.models)}")
        return self.models[name]

    def check_loaded(self) -> None:
        if self.failure is not None:
            raise overloaded("the models could not be loaded; the log of the server says why", 60, "not_ready")
        if self.batcher is None:
            raise overloaded("the models are being loaded; send the request again in a moment", 1, "not_ready")
        if not self.batcher.is_alive:
            raise overloaded("the server has stopped working; it must be started again", 60, "not_ready")

    def check_slot(self, kind: str) -> None:
        """Raise an error if no slot of this kind is free.

        Requests with incomplete bodies hold no slot, so that slow senders cannot take all of them.
        """
        if self.taken[kind] >= self.settings.max_requests:
            self.metrics.shed.labels(kind).inc()
            raise overloaded(
                f"{self.settings.max_requests} {kind} are at work, which is the limit; send the request again later"
            )

    def acquire_slot(self, kind: str, call: Call) -> None:
        self.check_slot(kind)
        self.taken[kind] += 1
        call.slot = kind

    def leave(self, call: Call) -> None:
        """Release everything that a request holds."""
        call.abandoned = True
        self.memory.release(call)
        if call.slot is not None:
            self.taken[call.slot] -= 1

    async def annotate(
        self, texts: Sequence[str], asked: Options, call: Call, *, wait: bool = False
    ) -> list[dict[str, Any]]:
        """The predictions of each text as response records; with `wait`, wait while the queue is full."""
        served, options = self.check_options(asked)
        characters = self._check_size(texts)
        if self.batcher is not None and not wait:
            self.batcher.check_capacity(characters / CHARACTERS_A_WORD)  # before any work on the text
        prepared = await self.offload(characters, call, self._prepare, served, options, texts, asked, call)
        call.record["texts"] = call.record.get("texts", 0) + len(texts)
        call.record["words"] = call.record.get("words", 0) + sum(map(len, prepared.job.sentences))
        found = await self._computed(prepared.job, call, wait)
        self.metrics.texts.labels(served.name).inc(len(texts))
        return await self.offload(answer_size(texts, asked), call, answers.documents, prepared, found, asked, call)

    async def hypergraph(self, asked: HypergraphRequest, call: Call) -> dict[str, Any]:
        """The hypergraph of a short sentence with the hyperpath of its most probable mentions."""
        plain = Options(model=asked.model, types=asked.types, names=asked.names, pronouns=asked.pronouns)
        served, options = self.check_options(plain)
        kind = served.annotator.model.config.model.kind
        if kind not in DIAGRAMS:
            raise Problem(
                422,
                f"the model {served.name} is of kind {kind}, whose structure is not drawn; choose a model of kind "
                f"{' or '.join(DIAGRAMS)}; {OTHERS}",
            )
        if len(asked.text) > MOST_DRAWN:
            raise Problem(
                413,
                f"the sentence has {len(asked.text):,} characters, and up to {MOST_DRAWN:,} are drawn; give a shorter one",
            )
        prepared = await self.offload(len(asked.text), call, self._prepare, served, options, [asked.text], plain, call)
        call.record |= {"texts": 1, "words": sum(map(len, prepared.job.sentences))}
        _check_drawable(prepared.documents[0], asked.types, self.settings)
        found = await self._computed(prepared.job, call, False)
        return await self.offload(LARGE, call, answers.hypergraph, prepared, found, asked, served, self.settings)

    def _check_size(self, texts: Sequence[str]) -> int:
        limits = self.settings
        if len(texts) > limits.max_texts:
            raise Problem(
                413,
                f"the request has {len(texts):,} texts, and the limit is {limits.max_texts:,}; send fewer at a time",
            )
        characters = sum(map(len, texts))
        if characters > limits.max_characters:
            raise Problem(
                413,
                f"the request has {characters:,} characters of text, and the limit is {limits.max_characters:,}; send less at a time",
            )
        return characters

    def check_options(self, asked: Options) -> tuple[Served, DecodingOptions]:
        """The requested model and its decoding options; refuse options that it does not support, whatever the texts."""
        served, limits = self.model(asked.model), self.settings
        if asked.top_k > limits.max_alternatives:
            raise Problem(
                422, f"top_k is {asked.top_k:,}, and the limit is {limits.max_alternatives:,}; ask for fewer sets"
            )
        thresholds = asked.threshold.values() if isinstance(asked.threshold, dict) else [asked.threshold]
        self._check_least((*thresholds, asked.candidates))
        if len(asked.require) + len(asked.forbid) > MOST_CONSTRAINTS:
            raise Problem(
                413, f"more than {MOST_CONSTRAINTS:,} mentions are required and forbidden; send fewer at a time"
            )
        given = (asked.threshold, asked.types, asked.top_k, asked.candidates, asked.names, asked.pronouns)
        return served, served.annotator.options(*given, asked.recall, asked.precision)

    def _check_least(self, probabilities: Iterable[float | None]) -> None:
        limit = self.settings.least_probability
        for value in probabilities:
            if value is not None and value < limit:
                raise Problem(
                    422,
                    f"mentions are asked for from a probability of {value:.3g} on, and the limit is {limit:g}; ask for fewer",
                )

    def _prepare(
        self, served: Served, options: DecodingOptions, texts: Sequence[str], asked: Options, call: Call
    ) -> Prepared:
        annotator = served.annotator
        documents = [
            _split(annotator, text, index if len(texts) > 1 else None, call) for index, text in enumerate(texts)
        ]
        offsets = [Offsets(text, asked.offset_unit) for text in texts]
        constraints: dict[int, Constraints] = {}
        require, forbid = (_placed(given, offsets) for given in (asked.require, asked.forbid))
        first = 0
        for document, here, required, forbidden in zip(documents, offsets, require, forbid, strict=True):
            try:
                known = annotator.constraints(document, Constraints(required, forbidden), options.reported_as)
            except HyperspanError as error:  # its message has hyperspan's offsets
                raise InputError(f"{error} (places in code points)" if here.differ else str(error)) from None
            constraints |= {first + sentence: one for sentence, one in known.items()}
            first += len(document.sentences)
        sentences = [sentence for document in documents for sentence in document.sentences]
        if asked.top_k * len(sentences) > MOST_SETS:
            raise Problem(
                413,
                f"the {asked.top_k} best sets of {len(sentences):,} sentences are more than the {MOST_SETS:,} sets of an answer; "
                "ask for fewer, or send less text at a time",
            )
        return Prepared(
            documents,
            offsets,
            [annotator.domain_fit(text) for text in texts],
            BatchJob(served.name, annotator, sentences, options, constraints),
        )

    async def _computed(self, job: BatchJob, call: Call, wait: bool) -> list[Any]:
        """The predictions of a job; it is cancelled when nobody waits for it any more."""
        assert self.batcher is not None
        if wait:
            while self.batcher.is_full(job.size) and not self.batcher.is_closed:
                await asyncio.sleep(0.05)
            call.restart()  # waiting for capacity does not count
        self.batcher.submit(job)
        try:
            return await call.wait_for(asyncio.wrap_future(job.done))
        finally:
            self.batcher.cancel(job)

    async def offload(self, size: int, call: Call, function: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function here if it is short (in characters of text), else in another thread, while the client waits.

        Functions run here take turns, so that other events are handled in between.
        """
        if size <= SMALL:
            async with self._turn:
                result = function(*arguments)
                await asyncio.sleep(0)
            return result

        pool = self._pool if size <= LARGE else self._large_pool

        def work() -> _T:
            self._count(1)
            try:
                return function(*arguments)
            finally:
                self._count(-1)

        return await call.wait_for(asyncio.get_running_loop().run_in_executor(pool, copy_context().run, work))

    async def turn(self) -> None:
        """Wait for a turn: between two functions, the event loop handles other events."""
        async with self._turn:
            await asyncio.sleep(0)

    def _count(self, more: int) -> None:
        with self._changing:
            self._with_texts += more


def _warm_up(served: Served) -> None:
    served.annotator(WARM_UP)
    served.annotator.domain_fit(WARM_UP)


def answer_size(texts: Sequence[str], asked: Options) -> int:
    """The work to write a response, in characters of text with only mentions requested."""
    improbable = any(one is not None for one in (asked.candidates, asked.threshold, asked.recall, asked.precision))
    return sum(map(len, texts)) * (1 + asked.top_k + MENTIONS_A_WORD * improbable)


def _split(annotator: Annotator, text: str, index: int | None, call: Call) -> Document:
    """A text with its sentences, split one by one while the request has time."""
    sentences: list[Sentence] = []
    try:
        for sentence in iter_sentences(text, annotator.model.tokenizer):
            call.check()
            sentences.append(sentence)
        return annotator.split(Document(text, (), sentences))
    except HyperspanError as error:
        raise InputError(str(error) if index is None else f"in texts[{index}], {error}") from None


def _placed(known: Sequence[KnownMention], offsets: Sequence[Offsets]) -> list[list[Mention]]:
    """The mentions of each text, in code points."""
    placed: list[list[Mention]] = [[] for _ in offsets]
    for mention in known:
        if mention.document >= len(offsets):
            raise InputError(
                f"a mention is in document {mention.document}, but there are {len(offsets)}, counted from 0"
            )
        here = offsets[mention.document]
        start, end = here.read(mention.start, "start"), here.read(mention.end, "end")
        parts = [(here.read(first, "start"), here.read(last, "end")) for first, last in mention.fragments or ()]
        placed[mention.document].append(Mention(start, end, mention.label, parts))
    return placed


def _check_drawable(document: Document, types: Sequence[str] | None, limits: Settings) -> None:
    if len(document.sentences) != 1:
        raise Problem(422, f"the text has {len(document.sentences)} sentences, and one is drawn; give one")
    words = len(document.sentences[0])
    if words > limits.max_hypergraph_words:
        raise Problem(
            413,
            f"the sentence has {words:,} words, and up to {limits.max_hypergraph_words} are drawn; give a shorter one",
        )
    if types is not None and not 0 < len(types) <= limits.max_hypergraph_types:
        raise Problem(
            422,
            f"{len(types):,} types are asked for, and 1 to {limits.max_hypergraph_types} are drawn; name fewer, or leave `types` out",
        )
