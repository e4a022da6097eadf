"""The model of a bulk job, for processes that have none: it answers requests, and makes no object for a sentence or a mention."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch

from hyperspan.batch import batch_of
from hyperspan.bulk.requests import Answer, BatchRequest, ModelFacts, portable
from hyperspan.errors import EXIT_EXCEPTIONS, JobError
from hyperspan.inference.decoding import MentionDistribution
from hyperspan.inference.options import DecodingOptions
from hyperspan.models.base import Model
from hyperspan.structures.places import Places
from hyperspan.types import Sentence


class ModelComputer:
    """Computes what the options ask for; several threads may ask at once."""

    def __init__(self, model: Model, options: DecodingOptions):
        self.model, self.options = model, options
        self.launching = 0.0
        """The seconds until a GPU had been given all to compute, of all batches together."""

    def facts(self, folder: str) -> ModelFacts:
        """What others need of the model, which lies in a folder."""
        model = self.model
        return ModelFacts(
            folder=folder,
            labels=model.labels,
            tokenizer=model.tokenizer,
            max_width=model.max_width,
            context=model.context,
            reads_tags=model.reads_tags,
            joins_documents=model.joins_documents,
            batch_entries=model.batch_entries,
            reads_ids=model.reads_ids,
            reads_characters=model.reads_ids and model.encoder.reads_characters,
        )

    def warm_up(self) -> None:
        """Compiles kernels, and whatever else is done once, before several threads ask."""
        self.answer(BatchRequest(None, [Sentence(["a", "word"]), Sentence(["another"])]))

    def answer(self, request: BatchRequest) -> Answer:
        """The mentions of a batch; an error that is not the batch's, but of the device, is a :class:`JobError`."""
        try:
            begun = time.perf_counter()
            with torch.inference_mode(), self._on_device():
                distribution = self._distribution(request)
                self.launching += time.perf_counter() - begun
                return self._found(distribution)
        except EXIT_EXCEPTIONS:
            raise
        except (MemoryError, torch.OutOfMemoryError):
            pass  # the tensors of the failed computation are gone once this clause is left
        except BaseException as error:
            self._check_device()
            return Answer(error=portable(error))
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        return Answer(too_large=True)

    def _on_device(self) -> AbstractContextManager[object]:
        """Within it, a GPU is the one of the model: each thread has a current one."""
        device = self.model.device
        return torch.cuda.device(device) if device.type == "cuda" else nullcontext()

    def _distribution(self, request: BatchRequest) -> MentionDistribution:
        if request.arrays is None:
            return self.model.distribution(request.sentences)
        return self.model.distribution_of(batch_of(*request.arrays, self.model.device))

    def _found(self, distribution: MentionDistribution) -> Answer:
        options = self.options
        if not options.types:
            return Answer()
        if len(options.types) < distribution.types:
            distribution = distribution.restrict(options.types)
        [(rows, probabilities)] = distribution.places([options.thresholds])
        places = Places(rows.astype(np.int32, copy=False), probabilities)
        return Answer(places, distribution.topk(options.top_k) if options.top_k else None)

    def _check_device(self) -> None:
        """Raises if a GPU computes nothing any more, as after an error in a kernel."""
        if self.model.device.type != "cuda":
            return
        try:
            torch.cuda.synchronize()
        except BaseException as error:
            raise JobError(f"the GPU has failed ({str(error).strip().partition(chr(10))[0]})") from None
