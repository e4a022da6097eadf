"""Whether a server's memory levels off: `python -m experiments.speed soak --requests 100000`.

It is sent that many requests, at twice the rate that it can answer, whether or not those before are answered; those
that it turns away count. Its resident memory is looked at every second. Over the last four fifths of the requests it
must stay within 5%: from the least to the most. The command fails if it does not.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.speed.measure import machine
from experiments.speed.server import Caller, Load, ServerProcess, invented_texts, ready
from hyperspan.cli.options import ModelName

SETTLED = 0.2
"""The share of the run after which memory must have levelled off."""
ALLOWED = 0.05
KEPT_SECONDS = 3.0
"""A connection that was not used for longer is opened anew, before the server closes it."""
CONNECTIONS = 400
"""Requests that are waited for at the same time, at most: more than the server takes on."""


def resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


class Soak:
    """Requests at a steady rate, and the memory of the server meanwhile."""

    def __init__(self, server: ServerProcess, bodies: list[bytes]):
        self.server, self.bodies = server, bodies
        self.sent = 0
        self.statuses: Counter[str] = Counter()
        self.memory: list[tuple[int, float]] = []  # requests sent, MB

    async def run(self, requests: int, rate: float) -> float:
        watching = asyncio.create_task(self._watch())
        room, idle = asyncio.Semaphore(CONNECTIONS), []
        start = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            while self.sent < requests:
                await asyncio.sleep(max(start + self.sent / rate - time.perf_counter(), 0))
                await room.acquire()
                self.sent += 1
                tasks.create_task(self._ask(idle, room))
        seconds = time.perf_counter() - start
        watching.cancel()
        self.memory.append((self.sent, resident_megabytes(self.server.process.pid)))
        for caller, _ in idle:
            caller.close()
        return seconds

    async def _ask(self, idle: list[tuple[Caller, float]], room: asyncio.Semaphore) -> None:
        caller, since = idle.pop() if idle else (Caller(self.server.port), 0.0)
        if time.perf_counter() - since > KEPT_SECONDS:
            caller.close()
        try:
            status, _ = await caller.ask("POST", "/v1/annotate", self.bodies[self.sent % len(self.bodies)])
            self.statuses[str(status)] += 1
        except (OSError, asyncio.IncompleteReadError):
            caller.close()
            self.statuses["no answer"] += 1
        idle.append((caller, time.perf_counter()))
        room.release()

    async def _watch(self) -> None:
        while True:
            self.memory.append((self.sent, resident_megabytes(self.server.process.pid)))
            await asyncio.sleep(1)


def run(
    model: ModelName = "genia",
    requests: Annotated[int, typer.Option(min=1, help="How many.")] = 100_000,
    sentences: Annotated[int, typer.Option(min=1, help="In a request.")] = 1,
) -> dict[str, Any]:
    return asyncio.run(measure(model, requests, sentences))


async def measure(model: str, requests: int, sentences: int) -> dict[str, Any]:
    texts = invented_texts(200, sentences)
    server = ServerProcess(model)
    try:
        await ready(server.port)
        load = Load(server.port, texts, [0] * len(texts))
        before = resident_megabytes(server.process.pid)
        await load.in_turn(64, 3.0)
        warm = await load.in_turn(64, 5.0)
        capacity = len(warm.times) / warm.seconds
        soak = Soak(server, load.bodies)
        seconds = await soak.run(requests, 2 * capacity)
    finally:
        server.kill()
    settled = [megabytes for sent, megabytes in soak.memory if sent >= SETTLED * requests]
    tenths = [next(mb for sent, mb in soak.memory if sent >= share * requests / 10) for share in range(11)]
    return {
        "machine": machine(),
        "requests": requests,
        "seconds": seconds,
        "capacity_per_second": capacity,
        "asked_per_second": requests / seconds,
        "statuses": dict(soak.statuses),
        "memory_at_start_mb": before,
        "memory_by_tenth_mb": [round(megabytes, 1) for megabytes in tenths],
        "least_mb": min(settled),
        "most_mb": max(settled),
        "spread": max(settled) / min(settled) - 1,
    }


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Format the figures as text."""
    yield f"{figures['machine']}; {figures['requests']:,} requests in {figures['seconds']:,.0f} s"
    yield (
        f"{figures['asked_per_second']:,.0f} requests/s asked for, {figures['capacity_per_second']:,.0f} possible; "
        f"{figures['statuses']}"
    )
    yield f"memory: {figures['memory_at_start_mb']:,.0f} MB at the start; by tenth {figures['memory_by_tenth_mb']}"
    yield (
        f"from {SETTLED:.0%} to 100%: {figures['least_mb']:,.1f} to {figures['most_mb']:,.1f} MB, "
        f"{figures['spread']:.1%} apart"
    )


def failure(figures: dict[str, Any]) -> str:
    """Say that memory does not level off, if it does not."""
    spread = figures["spread"]
    return f"memory does not level off: {spread:.1%} apart, more than {ALLOWED:.0%}" if spread > ALLOWED else ""
