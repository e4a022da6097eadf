"""What serving costs, on this machine alone: `python -m experiments.speed server`, in about a minute.

A server in a process of its own, and callers on the same cores: words a second relative to the library called directly
in the same run, the time of requests from 1, 8 and 64 callers, memory before and after, what happens when twice as much
is asked for as can be done, and when the server is killed and started again under load. Texts are invented; each
request has a few sentences.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from experiments.speed.invented import invented_sentences
from experiments.speed.measure import machine
from hyperspan.cli.options import ModelName
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.loading import load

CALLERS = (1, 8, 64)
ROUNDS = 3
JSON_TYPE = "application/json"


def invented_texts(count: int, sentences: int) -> list[str]:
    """Texts of so many sentences each, as long as those of GENIA."""
    made = [" ".join(sentence.tokens).capitalize() + "." for sentence in invented_sentences(count * sentences)]
    return [" ".join(made[first : first + sentences]) for first in range(0, len(made), sentences)]


class ServerProcess:
    """The command in a process of its own."""

    def __init__(self, model: str, port: int = 0):
        command = [sys.executable, "-m", "hyperspan", "serve", "--model", model, "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        assert found is not None, "the server did not start"
        self.port = int(found[1])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Caller:
    """One connection that asks and waits, with as little work of its own as may be."""

    def __init__(self, port: int):
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", answer)
        content = await reader.readexactly(int(found[1]) if found else 0)
        return int(answer[9:12]), content

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
        self.streams = None


@dataclass
class Asked:
    """What came of some requests."""

    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)  # of the answered ones
    words: int = 0

    def add(self, other: Asked) -> None:
        self.seconds, self.words = self.seconds + other.seconds, self.words + other.words
        self.statuses += other.statuses
        self.times += other.times

    def figures(self) -> dict[str, Any]:
        times = sorted(self.times) or [float("nan")]
        return {
            "requests_per_second": len(self.times) / self.seconds,
            "words_per_second": self.words / self.seconds,
            "p50_ms": 1000 * statistics.median(times),
            "p99_ms": 1000 * times[min(int(0.99 * len(times)), len(times) - 1)],
            "statuses": dict(self.statuses),
        }


class Load:
    """Callers that ask for the same texts in turn."""

    def __init__(self, port: int, texts: Sequence[str], words: Sequence[int]):
        self.port, self.words = port, words
        self.bodies = [json.dumps({"text": text}).encode() for text in texts]
        self.turn = 0

    async def one(self, caller: Caller, asked: Asked) -> None:
        index = self.turn = (self.turn + 1) % len(self.bodies)
        start = time.perf_counter()
        try:
            status, _ = await caller.ask("POST", "/v1/annotate", self.bodies[index])
        except (OSError, asyncio.IncompleteReadError):
            caller.close()
            asked.statuses["no answer"] += 1
            await asyncio.sleep(0.05)
            return
        asked.statuses[str(status)] += 1
        if status == 503:
            await asyncio.sleep(0.05)
        if status == 200:
            asked.times.append(time.perf_counter() - start)
            asked.words += self.words[index]

    async def in_turn(self, callers: int, seconds: float) -> Asked:
        """Each caller asks again as soon as it has its answer."""
        asked, until = Asked(), time.perf_counter() + seconds

        async def go_on() -> None:
            caller = Caller(self.port)
            while time.perf_counter() < until:
                await self.one(caller, asked)
            caller.close()

        start = time.perf_counter()
        await asyncio.gather(*(go_on() for _ in range(callers)))
        asked.seconds = time.perf_counter() - start
        return asked

    async def at_rate(self, rate: float, seconds: float) -> Asked:
        """So many requests a second, whether or not those before are answered."""
        asked, idle, tasks = Asked(), [], []

        async def single() -> None:
            caller = idle.pop() if idle else Caller(self.port)
            await self.one(caller, asked)
            idle.append(caller)

        start = time.perf_counter()
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(start + number / rate - time.perf_counter(), 0))
            tasks.append(asyncio.create_task(single()))
        await asyncio.gather(*tasks)
        asked.seconds = time.perf_counter() - start
        for caller in idle:
            caller.close()
        return asked


async def ready(port: int) -> None:
    caller = Caller(port)
    for _ in range(1200):
        try:
            if (await caller.ask("GET", "/readyz"))[0] == 200:
                return
        except (OSError, asyncio.IncompleteReadError):
            caller.close()
        await asyncio.sleep(0.05)
    raise RuntimeError("the server is not ready after a minute")


async def metric(port: int, name: str) -> float:
    caller = Caller(port)
    _, text = await caller.ask("GET", "/metrics")
    caller.close()
    found = re.search(rf"^{name} (\S+)$", text.decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


def together(annotator: Annotator, texts: Sequence[str], words: Sequence[int], seconds: float) -> float:
    """Words a second of the library, with all texts at once."""
    start, done = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        list(annotator.pipe(texts))
        done += sum(words)
    return done / (time.perf_counter() - start)


def one_at_a_time(annotator: Annotator, texts: Sequence[str], seconds: float) -> float:
    """The median of the milliseconds that the library takes for a text."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    for text in itertools.cycle(texts):
        start = time.perf_counter()
        if start > until:
            return 1000 * statistics.median(times)
        annotator(text)
        times.append(time.perf_counter() - start)
    raise AssertionError("there are no texts")


async def killed(server: ServerProcess, load: Load, model: str, seconds: float) -> tuple[ServerProcess, dict[str, Any]]:
    """Kills a server under load and starts it again at the same port; how long nobody was answered."""
    asking = asyncio.create_task(load.in_turn(8, 2 * seconds + 8))
    await asyncio.sleep(seconds)
    server.kill()
    start = time.perf_counter()
    again = await asyncio.to_thread(ServerProcess, model, server.port)
    await ready(server.port)
    back = time.perf_counter() - start
    asked = await asking
    return again, {"seconds_until_ready": back, "statuses": dict(asked.statuses)}


async def measured(
    load_: Load, callers: int, annotator: Annotator, texts: Sequence[str], seconds: float
) -> dict[str, Any]:
    """The server with so many callers, in turns with the library, since the machine is not always equally fast."""
    asked, ratios = Asked(), []
    for _ in range(ROUNDS):
        library = together(annotator, texts, load_.words, seconds)
        now = await load_.in_turn(callers, seconds)
        ratios.append(now.words / now.seconds / library)
        asked.add(now)
    return asked.figures() | {"of_the_library": statistics.median(ratios)}


def run(
    model: ModelName = "genia",
    sentences: Annotated[int, typer.Option(min=1, help="In a request.")] = 4,
    seconds: Annotated[float, typer.Option(min=0.1, help="For each measurement.")] = 2.0,
) -> dict[str, Any]:
    return asyncio.run(measure(model, sentences, seconds))


async def measure(model: str, sentences: int, seconds: float) -> dict[str, Any]:
    texts = invented_texts(200, sentences)
    annotator = load(model)
    words = [sum(map(len, annotator.split(text).sentences)) for text in texts]
    figures: dict[str, Any] = {"machine": machine(), "cores": os.cpu_count(), "words_a_request": statistics.mean(words)}
    figures["library"] = {
        "words_per_second": together(annotator, texts, words, seconds),
        "one_at_a_time_ms": one_at_a_time(annotator, texts, seconds),
    }
    server = ServerProcess(model)
    try:
        await ready(server.port)
        load_ = Load(server.port, texts, words)
        await load_.in_turn(8, 1.0)
        figures["memory_before_mb"] = await metric(server.port, "process_resident_memory_bytes") / 1e6
        figures["callers"] = {count: await measured(load_, count, annotator, texts, seconds) for count in CALLERS}
        most = max(entry["requests_per_second"] for entry in figures["callers"].values())
        over = (await load_.at_rate(2 * most, 4 * seconds)).figures()
        over["asked_per_second"], over["of_capacity"] = 2 * most, over["requests_per_second"] / most
        over["turned_away"] = over["statuses"].get("503", 0) / max(sum(over["statuses"].values()), 1)
        figures["twice_the_capacity"] = over
        figures["memory_after_mb"] = await metric(server.port, "process_resident_memory_bytes") / 1e6
        server, figures["killed_and_restarted"] = await killed(server, load_, model, seconds)
    finally:
        server.kill()
    return figures
