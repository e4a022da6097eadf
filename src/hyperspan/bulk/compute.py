"""Compute with the model of a bulk job on behalf of processes that have none. Needs no torch."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from hyperspan.bulk.requests import Answer, BatchRequest, ModelFacts, portable
from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.runtime.decoding import MentionDistribution
from hyperspan.runtime.interface import InferenceModel
from hyperspan.runtime.model import RuntimeModel
from hyperspan.runtime.options import DecodingOptions
from hyperspan.types import Sentence


def computer_of(model: InferenceModel, options: DecodingOptions) -> ModelComputer:
    """The computer for a model and decoding options."""
    if isinstance(model, RuntimeModel):
        return ModelComputer(model, options)
    from hyperspan.bulk.compute_torch import TorchComputer

    return TorchComputer(model, options)


class ModelComputer:
    """Answer requests with any model; requests contain sentences. Thread-safe."""

    memory_errors: tuple[type[BaseException], ...] = (MemoryError,)
    """Errors after which a smaller batch may succeed."""

    def __init__(self, model: Any, options: DecodingOptions):
        self.model, self.options = model, options
        self._counting = threading.Lock()
        self.launching = 0.0
        """The total seconds spent on launching work on a GPU, over all batches."""

    def facts(self, folder: str) -> ModelFacts:
        """The facts that other processes need about the model, which is in a folder."""
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
            names=model.names,
            discontinuous=model.config.discontinuous if model.discontinuous else None,
        )

    def warm_up(self) -> None:
        """Do one-time work, such as compiling kernels, before several threads ask."""
        self.answer(BatchRequest(None, [Sentence(["a", "word"]), Sentence(["another"])]))

    def answer(self, request: BatchRequest) -> Answer:
        """The mentions of a batch. Raises only for failures of the device, not of the batch."""
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
            pass  # leaving this clause frees the memory of the failed computation
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

    # -- overridden for GPUs -----------------------------------------------------------------------------------------

    def distribution(self, request: BatchRequest) -> MentionDistribution:
        compute = self.model.quick_distribution if self.options.probable_alone else self.model.distribution
        return compute(request.sentences)

    def on_device(self) -> AbstractContextManager[Any]:
        """A context in which kernels run on the device of the model."""
        return nullcontext()

    def check_device(self) -> None:
        """Raise an error if the device can no longer compute."""

    def free_memory(self) -> None:
        """Release cached memory."""
