"""The model of a bulk job, for processes that have none: it answers their requests. Needs no torch."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from hyperspan.bulk.requests import Answer, BatchRequest, ModelFacts, portable
from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.inference.decoding import MentionDistribution
from hyperspan.inference.model import InferenceModel
from hyperspan.inference.options import DecodingOptions
from hyperspan.runtime.model import RuntimeModel
from hyperspan.types import Sentence


def computer_of(model: InferenceModel, options: DecodingOptions) -> ModelComputer:
    """Whoever computes with a model what the options ask for."""
    if isinstance(model, RuntimeModel):
        return ModelComputer(model, options)
    from hyperspan.bulk.compute_torch import TorchComputer

    return TorchComputer(model, options)


class ModelComputer:
    """Answers requests with any model; it is sent sentences. Several threads may ask at once."""

    memory_errors: tuple[type[BaseException], ...] = (MemoryError,)
    """What is raised where a smaller batch may succeed."""

    def __init__(self, model: Any, options: DecodingOptions):
        self.model, self.options = model, options
        self._counting = threading.Lock()
        self.launching = 0.0
        """The seconds until a GPU had been given all to compute, of all batches together."""

    def facts(self, folder: str) -> ModelFacts:
        """What others need of the model, which lies in a folder."""
        model: InferenceModel = self.model
        return ModelFacts(
            folder=folder,
            labels=model.labels,
            tokenizer=model.tokenizer,
            max_width=model.max_width,
            context=model.context,
            reads_tags=model.reads_tags,
            joins_documents=model.joins_documents,
            batch_entries=model.batch_entries,
            discontinuous=model.config.discontinuous if model.discontinuous else None,
        )

    def warm_up(self) -> None:
        """Does what is done once, such as compiling kernels, before several threads ask."""
        self.answer(BatchRequest(None, [Sentence(["a", "word"]), Sentence(["another"])]))

    def answer(self, request: BatchRequest) -> Answer:
        """The mentions of a batch. It raises only what is not the batch's failure, but the device's."""
        begun = time.perf_counter()
        try:
            with self.model.inference(), self.on_device():
                distribution = self.distribution(request)
                with self._counting:
                    self.launching += time.perf_counter() - begun
                return self._found(distribution)
        except EXIT_EXCEPTIONS:
            raise
        except self.memory_errors:
            pass  # what the failed computation holds is freed once this clause is left
        except BaseException as error:
            self.check_device()
            return Answer(error=portable(error))
        self.free_memory()
        return Answer(too_large=True)

    def _found(self, distribution: MentionDistribution) -> Answer:
        options = self.options
        if not options.types:
            return Answer()
        if len(options.types) < distribution.types:
            distribution = distribution.restrict(options.types)
        [found] = distribution.places([options.thresholds])
        places = found._replace(rows=found.rows.astype(np.int32, copy=False))
        return Answer(places, distribution.topk(options.top_k) if options.top_k else None)

    # -- what is different on a GPU
    # ----------------------------------------------------------------------------------------

    def distribution(self, request: BatchRequest) -> MentionDistribution:
        compute = self.model.quick_distribution if self.options.probable_alone else self.model.distribution
        return compute(request.sentences)

    def on_device(self) -> AbstractContextManager[Any]:
        """Within it, kernels run where the model is."""
        return nullcontext()

    def check_device(self) -> None:
        """Raises if nothing can be computed any more."""

    def free_memory(self) -> None:
        """Gives back what is kept for later computations."""
