"""Tasks of Ray without a model, most of them with something wrong; they import little, because every process of Ray
imports it again."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.ray import RemoteJob, annotate_remotely
from hyperspan.bulk.shards import ShardResult, annotate_shard
from hyperspan.errors import InputError
from hyperspan.kernels.choice import forced
from tests.bulk.fakes import FakeAnnotator


def fake_task(job: RemoteJob, shard: Shard) -> ShardResult:
    """Annotates without a model."""
    annotator: Any = FakeAnnotator()
    return annotate_shard(annotator, shard, job.settings, folder_at(job.output), job.id)


def reference_task(job: RemoteJob, shard: Shard) -> ShardResult:
    """Works only where plain PyTorch is forced."""
    if forced() != (("reference",), None):
        raise InputError("plain PyTorch is not forced here")
    return fake_task(job, shard)


def poisoned_task(job: RemoteJob, shard: Shard) -> ShardResult:
    """Dies of the second shard."""
    if shard.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return fake_task(job, shard)


def full_disk(job: RemoteJob, shard: Shard) -> ShardResult:
    """Has no room for the second shard."""
    if shard.number == 1:
        raise OSError(28, "No space left on device")
    return fake_task(job, shard)


def old_worker(job: RemoteJob, shard: Shard) -> ShardResult:
    """Is given a job of another hyperspan."""
    return annotate_remotely(replace(job, version="0.0.1"), shard)


def elsewhere(job: RemoteJob, shard: Shard) -> ShardResult:
    """Writes to a folder of its own machine."""
    output = f"{job.output}-elsewhere"
    Path(output).mkdir(exist_ok=True)
    return fake_task(replace(job, output=output), shard)
