"""Between HTTP and the annotator: limits, the queue, and answers as JSON records."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from hyperspan.errors import EXIT_EXCEPTIONS, HyperspanError, InputError
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.constraints import Constraints
from hyperspan.inference.domain import DomainFit
from hyperspan.serve import answers
from hyperspan.serve.batcher import Batcher, BatchJob
from hyperspan.serve.calls import Call, Memory
from hyperspan.serve.metrics import Metrics
from hyperspan.serve.models import Served, load_models, places
from hyperspan.serve.offsets import Offsets
from hyperspan.serve.problems import Problem, overloaded
from hyperspan.serve.schema import HypergraphRequest, KnownMention, Options
from hyperspan.serve.settings import Settings
from hyperspan.text.sentences import iter_sentences
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.inference.options import DecodingOptions

SMALL = 500
"""Up to this many characters of text are dealt with at once; more is done in another thread, so that nobody waits for
it."""
LARGE = 20_000
"""What is more than this has threads of its own, so that others need not wait for them."""
MENTIONS_A_WORD = 20
"""How much longer an answer with improbable mentions may be."""
ENDING_SECONDS = 0.5
"""How long the end waits for what is being computed."""
CHARACTERS_A_WORD = 6
"""As texts mostly have; they are counted when the text is cut."""
MOST_SETS = 20_000
"""Of all sentences of a request together."""
MOST_CONSTRAINTS = 1_000
"""Mentions that a request may require and forbid."""
MOST_LINES = 128
"""Lines of all streams that are worked on at the same time."""
MOST_DRAWN = 1_000
"""Characters of a sentence whose hypergraph is drawn."""
WARM_UP = "A text, so that the first caller need not wait for what is made once. " * 3
_T = TypeVar("_T")


@dataclass(frozen=True)
class Prepared:
    """Texts that are cut into sentences, and what is wanted of them."""

    documents: list[Document]
    offsets: list[Offsets]
    domains: list[DomainFit | None]
    """How well each text fits the model."""
    job: BatchJob


class Service:
    """The models of a server and the work that it has."""

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
        """Requests that came and are not answered, those whose bodies are still on their way included."""
        self.taken = {"requests": 0, "streams": 0}
        """Slots taken by requests whose bodies are there, and by streams."""
        self.memory = Memory(settings.max_held_bytes, self.metrics)
        self._turn = asyncio.Lock()
        self.lines = asyncio.Semaphore(MOST_LINES)
        """For the lines of all streams: those that get none wait, and cost nothing meanwhile."""
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

    # -- from start to end
    # -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Loads the models in a thread of its own, so that the server answers meanwhile that it is not ready."""
        context = copy_context()  # so that kernels.only holds there, too
        self._loading = threading.Thread(target=context.run, args=(self._load,), name="hyperspan-loading", daemon=True)
        self._loading.start()

    def _load(self) -> None:
        try:
            models = self._given or load_models(self._folders, self.settings.device, self.settings.precision)
            for served in models:
                served.annotator(WARM_UP)
                served.annotator.domain_fit(WARM_UP)
        except EXIT_EXCEPTIONS:
            raise
        except BaseException as error:  # native code raises more than Exception
            self.failure = error
            return
        gc.freeze()  # what is there now stays, and is not looked at again: that would halt all threads
        annotators = {served.name: served.annotator for served in models}
        with self._changing:
            if self.draining:
                return
            self.models = {served.name: served for served in models}
            self.batcher = Batcher(annotators, self.settings.max_queued_words, self.metrics)

    @property
    def is_ready(self) -> bool:
        return self.batcher is not None and self.batcher.is_alive and not self.draining

    @property
    def is_busy(self) -> bool:
        """Whether a thread still loads or computes."""
        loads = self._loading is not None and self._loading.is_alive()
        return loads or self._with_texts > 0 or (self.batcher is not None and self.batcher.is_alive)

    def abort(self) -> None:
        """Gives up what is at work; callers that wait get an error."""
        with self._changing:  # what is loaded from now on gets no batcher
            self.draining = True
        if self.batcher is not None:
            self.batcher.abort()

    def close(self) -> None:
        """Ends, when nobody waits for anything any more."""
        self.abort()
        if self.batcher is not None:
            self.batcher.join(ENDING_SECONDS)
        for pool in (self._pool, self._large_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    # -- requests
    # --------------------------------------------------------------------------------------------------------

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
        """Raises an error if no slot of this kind is free. Who sends slowly takes none, so that nobody can take all of
        them by that."""
        if self.taken[kind] >= self.settings.max_requests:
            self.metrics.shed.add(1, kind)
            raise overloaded(
                f"{self.settings.max_requests} {kind} are at work, which is the limit; send the request again later"
            )

    def acquire_slot(self, kind: str, call: Call) -> None:
        self.check_slot(kind)
        self.taken[kind] += 1
        call.slot = kind

    def leave(self, call: Call) -> None:
        """Frees all that a request took."""
        call.abandoned = True
        self.memory.release(call)
        if call.slot is not None:
            self.taken[call.slot] -= 1

    async def annotate(
        self, texts: Sequence[str], asked: Options, call: Call, *, wait: bool = False
    ) -> list[dict[str, Any]]:
        """What was found in each text, as the records of an answer; with `wait`, a full queue is waited for."""
        served, options = self.check_options(asked)
        characters = self._check_size(texts)
        if self.batcher is not None and not wait:
            self.batcher.check_capacity(characters / CHARACTERS_A_WORD)  # before there is work with the text
        prepared = await self.offload(characters, call, self._prepare, served, options, texts, asked, call)
        call.record["texts"] = call.record.get("texts", 0) + len(texts)
        call.record["words"] = call.record.get("words", 0) + sum(map(len, prepared.job.sentences))
        found = await self._computed(prepared.job, call, wait)
        self.metrics.texts.add(len(texts), served.name)
        return await self.offload(answer_size(texts, asked), call, answers.documents, prepared, found, asked, call)

    async def hypergraph(self, asked: HypergraphRequest, call: Call) -> dict[str, Any]:
        """A short sentence's hypergraph with the hyperpath of its most probable mentions."""
        plain = Options(model=asked.model, types=asked.types)
        served, options = self.check_options(plain)
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
        """The model that is asked for, and what is wanted of it; refuses what it does not do, whatever the texts."""
        served, limits = self.model(asked.model), self.settings
        if asked.top_k > limits.max_alternatives:
            raise Problem(
                422, f"top_k is {asked.top_k:,}, and the limit is {limits.max_alternatives:,}; ask for fewer sets"
            )
        thresholds = asked.threshold.values() if isinstance(asked.threshold, dict) else [asked.threshold]
        for value in (*thresholds, asked.candidates):
            if value is not None and value < limits.least_probability:
                raise Problem(
                    422,
                    f"mentions are asked for from a probability of {value:.3g} on, and the limit is {limits.least_probability:g}; ask for fewer",
                )
        if len(asked.require) + len(asked.forbid) > MOST_CONSTRAINTS:
            raise Problem(
                413, f"more than {MOST_CONSTRAINTS:,} mentions are required and forbidden; send fewer at a time"
            )
        return served, served.annotator.options(asked.threshold, asked.types, asked.top_k, asked.candidates)

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
                known = annotator.constraints(document, Constraints(required, forbidden))
            except HyperspanError as error:  # which names places as hyperspan counts them
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
            BatchJob(served.name, sentences, options, constraints, annotator.model.max_width),
        )

    async def _computed(self, job: BatchJob, call: Call, wait: bool) -> list[Any]:
        """What was found in the sentences of a job; its place in the queue is freed when nobody waits for it any
        more."""
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
        """Runs a function here if it has little to do (in characters of text), and else in another thread, as long as
        somebody waits.

        Here they take turns: between two of them, whatever else has come is attended to.
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
        """Waits for a turn: of all that is there to be done here, one thing is done before others are attended to."""
        async with self._turn:
            await asyncio.sleep(0)

    def _count(self, more: int) -> None:
        with self._changing:
            self._with_texts += more


def answer_size(texts: Sequence[str], asked: Options) -> int:
    """How much work it is to write an answer, in characters of text of which only the mentions are wanted."""
    improbable = asked.candidates is not None or asked.threshold is not None
    return sum(map(len, texts)) * (1 + asked.top_k + MENTIONS_A_WORD * improbable)


def _split(annotator: Annotator, text: str, index: int | None, call: Call) -> Document:
    """A text with its sentences, cut one after the other as long as the request may take."""
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
