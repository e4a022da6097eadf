"""The engine ``ray`` of bulk jobs: actors that each hold a model and receive shards whenever they are free.

An actor processes one shard at a time or, with feeders (as on GPUs), one per feeder. A shard is the unit of work
because its commit is atomic: if anything dies during a shard, another actor repeats it, and two actors with the same
shard write the same files. Failed actors are replaced here rather than restarted by Ray, so that a shard that keeps
killing its worker is given up after some attempts, and the others are done.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hyperspan import __version__
from hyperspan.bulk.engine import Backlog, WorkerDiedError
from hyperspan.bulk.job import Job, model_files
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.pool import cpu_count
from hyperspan.bulk.ray_workers import FedWorker, Worker
from hyperspan.bulk.shards import ShardResult
from hyperspan.errors import HyperspanError, InputError, JobError, require
from hyperspan.kernels.choice import environment

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator

OBJECT_STORE = 200_000_000
"""The size of Ray's object store in bytes on a cluster started here: it contains only the model."""
MOST_FEEDERS = 16
"""An H200 is as fast with 8 as with 14."""
PATIENCE = 30.0
"""The number of seconds without a worker after which a message explains the wait."""
REACHABLE = 5.0
"""The seconds within which a cluster must accept a connection.

It must respond within six times as many, as Ray tries for 20.
"""
_PROBE = """
import sys, ray
try:
    ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
except Exception as error:
    sys.exit("because: " + str(error.__cause__ or error).strip().partition(chr(10))[0])
"""
_log = logging.getLogger("hyperspan")


def own_kernels() -> dict[str, Any]:
    """The options of an actor that uses the kernels forced in this process."""
    variables = environment()
    return {"runtime_env": {"env_vars": variables}} if variables else {}


class RayEngine:
    """Workers on a cluster: a running one at the address, or a new one on this machine."""

    def __init__(
        self, workers: int | None = None, address: str | None = None, device: str = "cpu", feeders: int | None = None
    ):
        require("ray", "the engine ray", "ray")
        if workers is not None and workers < 1:
            raise InputError(f"there are {workers} workers to annotate with; ask for at least 1")
        if feeders is not None and feeders < 1:
            raise InputError(f"there are {feeders} feeders for each worker; ask for at least 1")
        self.workers, self.worker_device, self.feeders = workers, device, feeders
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self.device = "cpu"
        self._connected = False

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._connected:
            import ray

            ray.shutdown()

    def run(self, job: Job, annotator: Annotator, on_words: Callable[[int], None]) -> Iterator[ShardResult]:
        files = model_files(job.model["name"])
        ray = self._ray(sum(map(len, files.values())))
        kind = "GPU" if self.worker_device.startswith("cuda") else "CPU"
        there = int(ray.cluster_resources().get(kind, 0))
        if kind == "GPU" and not there:
            raise InputError(f"the device is {self.worker_device}, but the cluster has no GPU; leave --device out")
        feeders = self.feeders or (feeders_of(ray.nodes()) if kind == "GPU" else 0)
        pool = _RayPool(ray, job, self.worker_device, ray.put(files), feeders, Backlog(deque(job.missing())))
        try:
            yield from pool.run(self.workers or max(there, 1))
        finally:
            pool.close()

    def _ray(self, model_bytes: int = 0) -> Any:
        """Ray, connected."""
        import ray

        if ray.is_initialized():
            return ray
        os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of other shards, when one has ended the job
        quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": True}
        if self.address == "local":
            on_gpu = self.worker_device.startswith("cuda")  # with GPUs, the CPUs are for feeders
            cpus = (None if on_gpu else self.workers) or cpu_count()
            store = max(OBJECT_STORE, 3 * model_bytes)
            ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=store, **quiet)
        else:
            _check_reachable(self.address)
            ray.init(self.address, **quiet)
        self._connected = True
        return ray


def feeders_of(nodes: Iterable[dict[str, Any]]) -> int:
    """The number of feeders per GPU: the CPUs of its node minus one, shared evenly by its GPUs."""
    resources = [node["Resources"] for node in nodes if node["Alive"] and node["Resources"].get("GPU")]
    shares = [int(node.get("CPU", 0) / max(node["GPU"], 1)) - 1 for node in resources]
    return max(1, min([MOST_FEEDERS, *shares]))


@dataclass
class _RayPool:
    """Actors and their shards. Each pending reference is an actor that starts (no shard) or a shard."""

    ray: Any
    job: Job
    device: str
    files: Any
    feeders: int
    """Feeders per actor; 0: it annotates itself."""
    backlog: Backlog
    alive: list[Any] = field(default_factory=list)
    running: dict[Any, tuple[Any, Shard | None]] = field(default_factory=dict)
    share: int = 1
    """The maximum number of concurrent shards per actor."""

    def run(self, workers: int) -> Iterator[ShardResult]:
        self.share = max(1, min(self.feeders, math.ceil(len(self.backlog.waiting) / workers)))
        self._fill(workers)
        waited = False
        while self.backlog.waiting or any(shard for _, shard in self.running.values()):
            ready, _ = self.ray.wait(list(self.running), num_returns=1, timeout=PATIENCE)
            for reference in ready:
                actor, shard = self.running.pop(reference)
                done = self._outcome(reference, actor, shard)
                if done is not None:
                    yield done
                self._fill(workers)
            if not ready and not waited and not any(shard for _, shard in self.running.values()):
                waited = True
                _log.warning("hyperspan: the cluster has nothing free for a worker yet; waiting for it")
        self.backlog.check()

    def _outcome(self, reference: Any, actor: Any, shard: Shard | None) -> ShardResult | None:
        """Handle the result of a shard or a start; give the actor its next shards, or release it."""
        from ray.exceptions import RayActorError, RayError, RayTaskError

        result = None
        try:
            result = self.ray.get(reference)
        except RayTaskError as error:
            cause = _cause(error)
            if shard is None:
                raise cause from None
            if isinstance(cause, WorkerDiedError):
                self.backlog.lose(shard, str(cause))
            else:
                self.backlog.fail(cause)
        except (RayActorError, RayError) as error:
            self._release(actor)  # it may only be unreachable, and would continue
            self.backlog.lose(shard, str(error).strip().splitlines()[-1])
            return None
        if shard is None:
            self.backlog.failed_starts = 0
            if result != __version__:
                raise JobError(
                    f"a worker has hyperspan {result}, and this is {__version__}; install the same on all machines"
                )
        self._give(actor)
        return None if shard is None else cast("ShardResult | None", result)

    def _fill(self, workers: int) -> None:
        """Start actors while there are shards for them; each gets shards only after it has started."""
        starting = sum(shard is None for _, shard in self.running.values())
        wanted = math.ceil(len(self.backlog.waiting) / self.share) - starting
        for _ in range(min(workers - len(self.alive), wanted)):
            on_gpu = self.device.startswith("cuda")
            options = {"num_cpus": 0 if on_gpu else 1, "num_gpus": 1 if on_gpu else 0, "scheduling_strategy": "SPREAD"}
            options |= {"max_restarts": 0, "max_task_retries": 0, "max_concurrency": self.share, **own_kernels()}
            remote = self.ray.remote(**options)(FedWorker if self.feeders else Worker)
            actor = remote.remote(self.job.settings, self.job.output.name, self.job.id)
            self.alive.append(actor)
            self.running[actor.start.remote(self.files, self.device)] = (actor, None)

    def _give(self, actor: Any) -> None:
        """Give an actor all shards it can process, or release it. Shards that killed several workers run alone."""
        waiting, suspect = self.backlog.waiting, self.backlog.is_suspect
        given = [shard for other, shard in self.running.values() if other is actor and shard]
        while waiting and len(given) < self.share and not (given and (suspect(given[0]) or suspect(waiting[0]))):
            given.append(waiting.popleft())
            reference = actor.annotate.remote(given[-1])
            self.running[reference] = (actor, given[-1])
        if not given:
            self._release(actor)

    def _release(self, actor: Any) -> None:
        if actor in self.alive:  # not if another of its shards has reported it dead
            self.alive.remove(actor)
            self.ray.kill(actor)

    def close(self) -> None:
        for actor in list(self.alive):
            self._release(actor)


def _cause(error: Any) -> Exception:
    """The exception that a worker raised."""
    cause = error.cause
    if isinstance(cause, (HyperspanError, OSError)):
        return cause
    return JobError(f"a worker failed: {type(cause).__name__}: {cause}")


# -- connecting --------------------------------------------------------------------------------------------------------


def _check_reachable(address: str) -> None:
    """Raise an error in seconds where Ray tries for minutes: unknown host, nothing listening, or another service."""
    if address != "auto":
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdecimal():
            raise InputError(f"the address of a Ray cluster is {address!r}, but HOST:PORT is expected, or auto")
        try:
            socket.create_connection((host.strip("[]"), int(port)), REACHABLE).close()
        except (OSError, OverflowError) as error:
            raise _unreachable(address, str(error)) from None
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE, address], capture_output=True, text=True, timeout=6 * REACHABLE, check=False
        )
    except subprocess.TimeoutExpired:
        raise _unreachable(address, "no cluster answers there") from None
    if probe.returncode:
        _, found, reason = probe.stderr.rpartition("because: ")
        raise _unreachable(address, reason.strip() if found else "it cannot be connected to")


def _unreachable(address: str, reason: str) -> JobError:
    where = "unset RAY_ADDRESS" if address == os.environ.get("RAY_ADDRESS") else "leave --ray-address out"
    return JobError(
        f"the Ray cluster at {address} cannot be reached ({reason.removesuffix('.')}); check the address, "
        f"or {where} for a cluster on this machine"
    )
