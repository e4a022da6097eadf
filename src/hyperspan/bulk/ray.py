"""The engine ``ray`` of bulk jobs: each shard is a task, which Ray places where there is room.

Ray places tasks, and :func:`hyperspan.bulk.workers.run_shards` repeats those whose process or machine has died. A
process of Ray keeps the model for its next task. Nothing here imports ray before it is called.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan import __version__
from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.job import Job, model_files
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.shards import JobSettings, ShardResult, WorkerDiedError, annotate_shard
from hyperspan.bulk.workers import OnWords, annotator_on
from hyperspan.errors import HyperspanError, InputError, JobError, require
from hyperspan.kernels.choice import environment
from hyperspan.kernels.threads import cpu_count, use_threads

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator

OBJECT_STORE = 200_000_000
"""The size of Ray's object store in bytes on a cluster started here: it contains only the model."""
PER_GPU = 8
"""The tasks that share a GPU by default."""
REACHABLE = 5.0
"""The seconds within which a cluster must accept a connection."""


def own_kernels() -> dict[str, Any]:
    """The options of a task or actor that uses the kernels forced in this process."""
    variables = environment()
    return {"runtime_env": {"env_vars": variables}} if variables else {}


# -- in a process of Ray -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RemoteModel:
    """A model that other machines load from its files."""

    hash: str
    device: str
    dtype: str
    files: list[Any] = field(compare=False)
    """A reference to its files by name, in a list, so that Ray fetches them only when they are asked for."""


@dataclass(frozen=True)
class RemoteJob:
    """What a task needs to know of the job, besides its shard."""

    id: str
    version: str
    """The version of hyperspan that runs the job."""
    model: RemoteModel
    settings: JobSettings
    output: str


def annotate_remotely(job: RemoteJob, shard: Shard) -> ShardResult:
    """Annotate and commit a shard in this process, which keeps the model."""
    if job.version != __version__:
        raise JobError(
            f"a worker has hyperspan {__version__}, and this is {job.version}; install the same on all machines"
        )
    annotator = loaded(job.model)
    try:
        return annotate_shard(annotator, shard, job.settings, folder_at(job.output), job.id)
    except WorkerDiedError:
        os._exit(1)  # so that the next task is given to another process


@functools.lru_cache(maxsize=1)
def loaded(model: RemoteModel) -> Annotator:
    """The annotator of this process."""
    import ray

    return annotator_of(ray.get(model.files[0]), model.device, model.dtype)


def annotator_of(files: dict[str, bytes], device: str, dtype: str) -> Annotator:
    """An annotator from the files of its model, with one CPU thread: there are as many workers as CPUs."""
    use_threads(1)
    with tempfile.TemporaryDirectory(prefix="hyperspan-") as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return annotator_on(folder, device, dtype)


# -- in the process of the job -----------------------------------------------------------------------------------------


class RayTasks:
    """Tasks on a cluster: a running one at the address, or a new one on this machine."""

    device = "cpu"  # the process of the job only checks options
    count = 1

    def __init__(self, workers: int | None = None, address: str | None = None, device: str = "cpu"):
        require("ray", "the engine ray")
        if workers is not None and workers < 1:
            raise InputError(f"there are {workers} workers to annotate with; ask for at least 1")
        self.workers, self.worker_device = workers, device
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self._connected = self._closed = False
        self._running: set[Any] = set()

    def __enter__(self) -> RayTasks:
        return self

    def __exit__(self, *error: object) -> None:
        if self._connected:
            import ray

            ray.shutdown()

    def start(self, job: Job, annotator: Annotator) -> None:
        files = model_files(job.model["name"])
        self._ray = ray = self._connect(sum(map(len, files.values())))
        there = ray.cluster_resources()
        cpus, gpus = int(there.get("CPU", 0)), int(there.get("GPU", 0))
        share = 0.0
        if self.worker_device.startswith("cuda"):
            if not gpus:
                raise InputError(f"the device is {self.worker_device}, but the cluster has no GPU; leave --device out")
            self.count = self.workers or max(min(PER_GPU * gpus, cpus), 1)
            share = 1 / math.ceil(self.count / gpus)
        else:
            self.count = self.workers or max(cpus, 1)
        options = {"num_cpus": 1, "num_gpus": share, "max_retries": 0, "max_calls": 0, "scheduling_strategy": "SPREAD"}
        self._task = ray.remote(**options, **own_kernels())(annotate_remotely)
        model = RemoteModel(job.model["hash"], self.worker_device, job.settings.dtype, [ray.put(files)])
        self._job = ray.put(RemoteJob(job.id, __version__, model, job.settings, job.output.name))

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        from ray.exceptions import RayError, RayTaskError

        if self._closed:
            raise WorkerDiedError("the job has ended")
        reference = self._task.remote(self._job, shard)
        self._running.add(reference)
        try:
            return self._ray.get(reference)
        except RayTaskError as error:
            raise _cause(error) from None
        except RayError as error:
            raise WorkerDiedError(str(error).strip().splitlines()[-1]) from None
        finally:
            self._running.discard(reference)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        for reference in list(self._running):
            with suppress(Exception):  # it has just ended
                self._ray.cancel(reference, force=True)

    def _connect(self, model_bytes: int) -> Any:
        """Ray, connected."""
        import ray

        if ray.is_initialized():
            return ray
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of other shards, when one has ended the job
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": True}
        if self.address == "local":
            cpus = (None if self.worker_device.startswith("cuda") else self.workers) or cpu_count()
            store = max(OBJECT_STORE, 3 * model_bytes)
            ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=store, **quiet)
        else:
            _check_reachable(self.address)
            try:
                ray.init(self.address, **quiet)
            except (OSError, RuntimeError, ValueError) as error:
                raise _unreachable(self.address, str(error.__cause__ or error).strip().partition("\n")[0]) from None
        self._connected = True
        return ray


def _cause(error: Any) -> Exception:
    """The exception that a task raised."""
    cause = error.cause
    if isinstance(cause, (HyperspanError, OSError)):
        return cause
    return JobError(f"a worker failed: {type(cause).__name__}: {cause}")


# -- connecting --------------------------------------------------------------------------------------------------------


def _check_reachable(address: str) -> None:
    """Raise an error in seconds where Ray tries for minutes: an unknown host, or nothing that listens."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise InputError(f"the address of a Ray cluster is {address!r}, but HOST:PORT is expected, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACHABLE).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from None


def _unreachable(address: str, reason: str) -> JobError:
    where = "unset RAY_ADDRESS" if address == os.environ.get("RAY_ADDRESS") else "leave --ray-address out"
    return JobError(
        f"the Ray cluster at {address} cannot be reached ({reason.removesuffix('.')}); check the address, "
        f"or {where} for a cluster on this machine"
    )
