"""Distributed training: the ranks of the processes, and the values that they exchange.

Each has the whole model and takes its share of every batch. Losses are sums over sentences, so the gradients of all
processes together are those of the batch; each takes the same step with them. Only the first process writes files and
shows progress. With one process, all of this does nothing.

torchrun, or another program that sets its variables, starts the processes. gloo transfers CPU tensors, NCCL those of
CUDA devices. When one process fails, all end, and one of them reports why.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hyperspan.errors import HyperspanError, InputError, TrainingError

T = TypeVar("T")
PATIENCE = timedelta(minutes=10)
"""The longest that a process waits for the others, which may be reading data or writing a checkpoint."""
RESTARTS = "TORCHELASTIC_RESTART_COUNT"
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class Processes:
    """The processes of a run, from the view of one of them.

    >>> alone = Processes()
    >>> alone.is_first, alone.share([3, 1, 2]), alone.broadcast("of the first")
    (True, [0, 1, 2], 'of the first')
    """

    def __init__(self, rank: int = 0, count: int = 1, local: int = 0, *, store: Any = None):
        self.rank, self.count, self.local = rank, count, local
        """The rank of this process, the number of processes, and the rank on this machine."""
        self._store = store  # for messages outside of collectives
        self._buffer = torch.zeros(0)

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    @property
    def restarted(self) -> bool:
        """Whether torchrun restarted the processes after a failure."""
        return self.count > 1 and os.environ.get(RESTARTS, "0") != "0"

    def device(self, name: str) -> str:
        """The device of this process, given the name that the user set for all."""
        if self.count == 1 or name == "cpu":
            return name
        if name not in ("auto", "cuda"):
            raise InputError(
                f"the device {name!r} is not for {self.count} processes; choose cpu, or cuda for a GPU each "
                "(CUDA_VISIBLE_DEVICES says which)"
            )
        if not torch.cuda.is_available():
            return "cpu" if name == "auto" else name
        if self.local >= torch.cuda.device_count():
            raise InputError(
                f"there are more processes than the {torch.cuda.device_count()} GPUs of this machine; start no more than one a GPU with "
                "torchrun --nproc-per-node, or use --device cpu"
            )
        torch.cuda.set_device(self.local)
        return f"cuda:{self.local}"

    def share(self, work: Sequence[float]) -> list[int]:
        """The items of this process; all processes get about the same work.

        >>> [Processes(rank, 2).share([5, 1, 4]) for rank in range(2)], Processes(1, 2).share([7])
        ([[0], [1, 2]], [])
        """
        if self.count == 1:
            return list(range(len(work)))
        shares: list[list[int]] = [[] for _ in range(self.count)]
        loads = [0.0] * self.count
        for index in sorted(range(len(work)), key=lambda index: -work[index]):
            least = loads.index(min(loads))
            loads[least] += work[index]
            shares[least].append(index)
        return sorted(shares[self.rank])

    # -- communication --------------------------------------------------------------------------------

    def total(self, values: Tensor) -> Tensor:
        """The sum of the tensors of all processes."""
        if self.count > 1:
            values = values.clone()
            with _answered():
                dist.all_reduce(values)
        return values

    def sum_gradients(self, parameters: Sequence[nn.Parameter], values: Tensor) -> Tensor:
        """Sum the gradients of each parameter over all processes; also return the sum of a few values.

        A parameter without a gradient in any process stays without one, as with one process: optimizers skip it.
        """
        if self.count == 1:
            return values
        gradients = [p.grad for p in parameters]
        there = values.new_tensor([gradient is not None for gradient in gradients])
        parts = [
            (parameter.new_zeros(parameter.shape) if gradient is None else gradient).flatten()
            for parameter, gradient in zip(parameters, gradients, strict=True)
        ]
        sizes = [len(part) for part in (*parts, there, values)]
        if len(self._buffer) != sum(sizes) or self._buffer.device != values.device:
            self._buffer = values.new_empty(sum(sizes))
        torch.cat([*parts, there, values], out=self._buffer)
        with _answered():
            dist.all_reduce(self._buffer)
        *sums, there, values = self._buffer.split(sizes)
        # Reading from a GPU synchronises, and is unnecessary if this process knows the answer.
        known = [True] * len(parts) if None not in gradients else there.tolist()
        for parameter, total, some in zip(parameters, sums, known, strict=True):
            parameter.grad = total.view_as(parameter) if some else None
        return values.clone()

    def broadcast_tensors(self, tensors: Iterable[Tensor]) -> None:
        """Copy these tensors from the first process to all."""
        for tensor in tensors if self.count > 1 else ():
            if tensor.numel():
                content = tensor.detach().clone(memory_format=torch.contiguous_format)
                with _answered():
                    dist.broadcast(content, 0)
                tensor.detach().copy_(content)  # which increments the version counter, unlike a broadcast

    def broadcast(self, value: T) -> T:
        """The first process's value."""
        values = [value]
        if self.count > 1:
            with _answered():
                dist.broadcast_object_list(values, 0)
        return values[0]

    def check_same(self, values: Mapping[str, str]) -> None:
        """Raise an error in all processes if any of these texts differs between them."""
        if self.count == 1:
            return
        every: list[Any] = [None] * self.count
        with _answered():
            dist.all_gather_object(every, values)
        for rank, other in enumerate(every):
            for name, value in every[0].items():
                if other[name] != value:
                    raise InputError(
                        f"process {rank} of {self.count} has another {name} than process 0; start all of them with the same"
                    )

    # -- the end of one is the end of all -------------------------------------------------------------------------

    def _speaks(self) -> bool:
        """Whether no other process has reported the failure yet."""
        try:
            return self._store is None or self._store.add("said", 1) == 1
        except RuntimeError:  # the store is gone with the process that kept it
            return True

    def _say(self, error: BaseException) -> None:
        """Name this process in an error, and write the error where torchrun looks for it."""
        if isinstance(error, HyperspanError) and not self.is_first:
            error.args = (f"process {self.rank} of {self.count}: {error}",)
        if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
            about = {"message": str(error) or "stopped", "extraInfo": {"timestamp": str(int(time.time()))}}
            Path(file).write_text(json.dumps({"message": about}), encoding="utf-8")


ALONE = Processes()
_numbers = itertools.count()
_joined: list[Processes] = []


@contextmanager
def joined() -> Iterator[Processes]:
    """Join the processes of this run, as the environment describes them; a nested block reuses the outer one.

    If the block ends with a user error in any number of processes, one of them raises it and the others end silently.
    """
    rank, count, local = (0, 1, 0) if _joined else _environment()
    if count == 1:
        yield _joined[0] if _joined else ALONE
        return
    processes = _meet(rank, count, local)
    _joined.append(processes)
    own_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _on_terminate) if own_thread else None
    try:
        yield processes
        dist.destroy_process_group()
    except (HyperspanError, OSError, KeyboardInterrupt) as error:
        if own_thread:  # torchrun may signal a process more than once
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            before = signal.SIG_IGN
        if not processes._speaks():
            raise SystemExit(130 if isinstance(error, KeyboardInterrupt) else 2) from None
        processes._say(error)
        raise
    finally:
        _joined.clear()
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _environment() -> tuple[int, int, int]:
    """The rank of this process, the number of all, and its rank on this machine."""
    if not {"RANK", "WORLD_SIZE"} & os.environ.keys() or os.environ.get("WORLD_SIZE") == "1":
        return 0, 1, 0
    if missing := [name for name in VARIABLES if not os.environ.get(name)]:
        raise InputError(
            f"RANK or WORLD_SIZE is set, so this process is one of several, but without {', '.join(missing)} it cannot find the "
            "others; start it with torchrun, or unset RANK and WORLD_SIZE"
        )
    try:
        rank, count, local = (int(os.environ[name]) for name in VARIABLES[:3])
    except ValueError:
        rank, count, local = -1, 0, 0
    if not (0 <= rank < count and local >= 0):
        given = ", ".join(f"{name}={os.environ[name]}" for name in VARIABLES[:3])
        raise InputError(f"{given} is no process of several; start it with torchrun, or unset RANK and WORLD_SIZE")
    return rank, count, local


def _meet(rank: int, count: int, local: int) -> Processes:
    """Wait for all other processes."""
    if not dist.is_available():
        raise InputError(
            "this PyTorch was built without torch.distributed, so only one process can train; install another build"
        )
    from torch.distributed import PrefixStore  # pyright: ignore[reportPrivateImportUsage]
    from torch.distributed.rendezvous import rendezvous

    try:
        store, _, _ = next(rendezvous("env://", rank=rank, world_size=count, timeout=PATIENCE))
        # A prefix for each group: keys of an earlier group of a restarted run must not be read.
        store = PrefixStore(f"hyperspan/{os.environ.get(RESTARTS, '0')}/{next(_numbers)}", store)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise InputError(
            f"process {rank} of {count} did not find the others at {where} ({str(error).splitlines()[0][:200]}); "
            "check that all are started, and that MASTER_ADDR and MASTER_PORT are right"
        ) from None
    return Processes(rank, count, local, store=store)


@contextmanager
def _answered() -> Iterator[None]:
    """Turn any error of a collective operation into one sentence."""
    try:
        yield
    except RuntimeError as error:
        raise TrainingError(
            f"another process of this run has ended, or has not answered for {PATIENCE.total_seconds() / 60:g} minutes; go on from the "
            "last checkpoint with --resume"
        ) from error


def _on_terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise TrainingError(
        "this process got SIGTERM, which torchrun sends when another process of the run has ended; go on from the last "
        "checkpoint with --resume"
    )
