"""Compute with torch models on CPUs and GPUs; batches come as arrays of ids if the model reads nothing else."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import torch

from hyperspan.bulk.compute import ModelComputer
from hyperspan.bulk.requests import BatchRequest, ModelFacts
from hyperspan.errors import JobError
from hyperspan.nn.batch import batch_of
from hyperspan.nn.model import Model
from hyperspan.runtime.decoding import MentionDistribution
from hyperspan.runtime.options import DecodingOptions


class TorchComputer(ModelComputer):
    """Answer requests with a torch model."""

    model: Model
    memory_errors = (MemoryError, torch.OutOfMemoryError)

    def facts(self, folder: str) -> ModelFacts:
        reads_ids = self.model.reads_ids
        characters = reads_ids and self.model.encoder.reads_characters
        return replace(super().facts(folder), reads_ids=reads_ids, reads_characters=characters)

    def distribution(self, request: BatchRequest) -> MentionDistribution:
        if request.arrays is None:
            return super().distribution(request)
        return self.model.distribution_of(batch_of(*request.arrays, self.model.device))

    def __init__(self, model: Any, options: DecodingOptions):
        super().__init__(model, options)
        self._own = threading.local()

    def warm_up(self) -> None:
        super().warm_up()
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()  # so that the model is visible to all streams

    def on_device(self) -> AbstractContextManager[Any]:
        """A stream per thread, so that a GPU works on the batches of several threads at once."""
        if self.model.device.type != "cuda":
            return nullcontext()
        if not hasattr(self._own, "stream"):
            self._own.stream = torch.cuda.Stream(self.model.device)
        return torch.cuda.stream(self._own.stream)

    def check_device(self) -> None:
        """Raise an error if the GPU is unusable, as after an error in a kernel."""
        if self.model.device.type != "cuda":
            return
        try:
            torch.cuda.synchronize()
        except BaseException as error:
            raise JobError(f"the GPU has failed ({str(error).strip().partition(chr(10))[0]})") from None

    def free_memory(self) -> None:
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
