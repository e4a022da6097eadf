"""Workers of Ray without a model, most of them with something wrong; they import little, because every actor imports it
again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from hyperspan import __version__
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.ray_workers import Worker
from hyperspan.bulk.shards import ShardResult
from hyperspan.errors import InputError
from hyperspan.kernels.choice import forced
from tests.bulk.fakes import FakeAnnotator


class FakeWorker(Worker):
    """Annotates without a model."""

    def start(self, files: dict[str, bytes], device: str) -> str:
        self.annotator: Any = FakeAnnotator()
        return __version__


class ReferenceWorker(FakeWorker):
    """Starts only where plain PyTorch is forced."""

    def start(self, files: dict[str, bytes], device: str) -> str:
        if forced() != (("reference",), None):
            raise InputError("plain PyTorch is not forced here")
        return super().start(files, device)


class PoisonedWorker(FakeWorker):
    """Dies of the second shard."""

    def annotate(self, shard: Shard) -> ShardResult:
        if shard.number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().annotate(shard)


class SharedPoison(PoisonedWorker):
    """Dies of the second shard when it is given with the first."""

    def annotate(self, shard: Shard) -> ShardResult:
        time.sleep(0.5 if shard.number == 0 else 0)
        return super().annotate(shard)


class FullDisk(FakeWorker):
    """Has no room for the second shard."""

    def annotate(self, shard: Shard) -> ShardResult:
        if shard.number == 1:
            raise OSError(28, "No space left on device")
        return super().annotate(shard)


class OldWorker(FakeWorker):
    """Has another hyperspan."""

    def start(self, files: dict[str, bytes], device: str) -> str:
        return "0.0.1"


class Elsewhere(FakeWorker):
    """Writes to a folder of its own machine."""

    def annotate(self, shard: Shard) -> ShardResult:
        self.output = f"{self.output.removesuffix('-elsewhere')}-elsewhere"
        Path(self.output).mkdir(exist_ok=True)
        return super().annotate(shard)
