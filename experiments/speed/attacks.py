"""What a server does while it is attacked: `python -m experiments.speed attacks`, in about two minutes.

A server in a process of its own is sent one kind of hostile request after the other, by several callers at once.
Meanwhile one caller sends small requests, which must be answered, and another process asks it for /healthz fifty times
a second, each time over a new connection. For each attack: the times of /healthz, what the attackers were answered, and
the most memory that the server held. A plain request follows each attack and must be answered. At the end the server
must stop in the middle of one, and must end within its limit.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import math
import multiprocessing
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.speed.measure import machine
from experiments.speed.server import Caller, ServerProcess, ready
from hyperspan.cli.options import ModelName

LONG_SENTENCE = "IL2" + " x" * 998
QUOTES = ("“", "«", "'", '?"', "aa.", "a+", "a--", "1.a", "...a", "B\u00a0.", "a ", "\n", "😀")
Attack = Callable[[int, float, Counter[str]], Coroutine[Any, Any, None]]


class Prober:
    """A process that asks for /healthz between `start` and `stop`, which returns how long each answer took: forever if
    none came."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")  # which need not import anything again
        self.here, there = context.Pipe()
        context.Process(target=probe, args=(there,), daemon=True).start()

    def start(self, port: int) -> None:
        self.here.send(port)

    def stop(self) -> list[float]:
        self.here.send(None)
        return sorted(self.here.recv())


def probe(parent: Connection) -> None:
    while port := parent.recv():
        times: list[float] = []
        while not parent.poll(0.02):
            start = time.perf_counter()
            status = 0
            with suppress(OSError, http.client.HTTPException):
                asking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                asking.request("GET", "/healthz")
                answer = asking.getresponse()
                answer.read()
                asking.close()
                status = answer.status
            times.append(time.perf_counter() - start if status == 200 else math.inf)
        parent.recv()
        parent.send(times)


def posts(*bodies: bytes, callers: int = 4, patience: float = 60.0, path: str = "/v1/annotate") -> Attack:
    """Callers that send these bodies in turn; who runs out of patience closes the connection and goes on."""

    async def attack(port: int, seconds: float, statuses: Counter[str]) -> None:
        until = time.perf_counter() + seconds

        async def go_on(number: int) -> None:
            caller, turn = Caller(port), number
            while time.perf_counter() < until:
                turn += 1
                try:
                    async with asyncio.timeout(min(patience, max(until - time.perf_counter(), 0.01))):
                        status, _ = await caller.ask("POST", path, bodies[turn % len(bodies)])
                        statuses[str(status)] += 1
                except (OSError, asyncio.IncompleteReadError, TimeoutError):
                    statuses["left"] += 1
                    caller.close()
                    await asyncio.sleep(0.02)
            caller.close()

        await asyncio.gather(*map(go_on, range(callers)))

    return attack


def together(*attacks: Attack) -> Attack:
    async def attack(port: int, seconds: float, statuses: Counter[str]) -> None:
        await asyncio.gather(*(one(port, seconds, statuses) for one in attacks))

    return attack


def streams(count: int, parts: Callable[[], AsyncIterator[bytes]]) -> Attack:
    """Streams that send what `parts` yields, read what they are answered, and are closed at the end."""

    async def attack(port: int, seconds: float, statuses: Counter[str]) -> None:
        async def one() -> None:
            head = b"POST /v1/annotate/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            answer = asyncio.create_task(read_on(reader, statuses))
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(seconds):
                    writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
                    async for part in parts():
                        writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                        await writer.drain()
                    await asyncio.sleep(seconds)
            answer.cancel()
            writer.close()

        await asyncio.gather(*(one() for _ in range(count)))

    return attack


async def read_on(reader: asyncio.StreamReader, statuses: Counter[str]) -> None:
    while part := await reader.read(1 << 16):
        statuses["lines answered"] += part.count(b'"mentions"')
        statuses["lines refused"] += part.count(b'"error"')


async def open_line() -> AsyncIterator[bytes]:
    yield b'{"text": "'
    for _ in range(39):
        yield b"x" * 100_000


async def many_lines() -> AsyncIterator[bytes]:
    while True:
        yield b'{"text": "IL-2 binds.", "top_k": 5}\n' * 50


async def noise(port: int, seconds: float, statuses: Counter[str]) -> None:
    """Requests that are no HTTP, and connections on which nothing comes."""
    until = time.perf_counter() + seconds
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(500)]
    while time.perf_counter() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET\x00 / nonsense\r\n\r\n")
        statuses[(await reader.read(100))[9:12].decode() or "closed"] += 1
        writer.close()
    for _, writer in idle:
        writer.close()


def body(**content: Any) -> bytes:
    return json.dumps(content).encode()


def attacks() -> dict[str, Attack]:
    filled = [body(text=(sign * 400_000)[:400_000]) for sign in QUOTES]
    short = [body(text=(sign * 30_000)[:60_000]) for sign in QUOTES]
    values = [
        b'{"texts":[' + b"0," * 1_900_000 + b"0]}",
        b"{" + b",".join(b'"%x":0' % number for number in range(390_000)) + b"}",
        b'{"text":"a","require":[' + b"{}," * 1_200_000 + b"{}]}",
        b'{"texts":[' + b'"",' * 1_200_000 + b'""]}',
        b'{"text":"' + b"\\u0061" * 600_000 + b'"}',
    ]
    answers = [body(text="IL-2 binds NF-kappa B. " * 15_000, candidates=0.001, top_k=0)]
    sets = body(text=LONG_SENTENCE, top_k=100, candidates=0.001)
    drawn = [body(text="x " * 11 + ".", types=["DNA", "RNA", "protein", "cell_line"][:count]) for count in (2, 3, 4)]
    every = [*answers, sets, *filled[:4], *short[4:8], *values, body(texts=["IL-2 binds."] * 1_000)]
    return {
        "nothing": posts(body(text="IL-2 binds."), callers=1),
        "20 best sets of 999 words": posts(body(text=LONG_SENTENCE, top_k=20), callers=8),
        "100 best sets, candidates": posts(sets, callers=8),
        "many sentences of 500 words": posts(body(text=("x " * 500 + ".\n\n") * 30), callers=4),
        "short sentences, 8 best sets": posts(body(text="a\n" * 2_500, top_k=8), callers=4),
        "adversarial texts of 60 kB": posts(*short, callers=4),
        "adversarial texts of 400 kB": posts(*filled, callers=4),
        "the same, left after 0.5 s": posts(*filled, callers=8, patience=0.5),
        "bodies of 4 MB with many values": posts(*values, callers=8),
        "answers of several MB": posts(*answers, callers=4),
        "hypergraphs": posts(*drawn, callers=8, path="/v1/hypergraph"),
        "16 of all these requests at once": together(
            posts(*every, callers=12), posts(*drawn, callers=2, path="/v1/hypergraph"), streams(2, many_lines)
        ),
        "120 streams with an open line": streams(120, open_line),
        "100 streams at full speed": streams(100, many_lines),
        "nonsense, idle connections": noise,
    }


def resident_megabytes(pid: int, reset: bool = False) -> float:
    """The most that a process has held since it was reset."""
    if reset:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


async def ask_meanwhile(port: int, statuses: Counter[str], waited: list[float]) -> None:
    """A caller with one small request after the other, until cancelled."""
    while True:
        start = time.perf_counter()
        try:
            status, _ = await Caller(port).ask("POST", "/v1/annotate", body(text="IL-2 binds."))
            statuses[str(status)] += 1
        except (OSError, asyncio.IncompleteReadError):
            statuses["failed"] += 1
        waited.append(time.perf_counter() - start)
        await asyncio.sleep(0.05)


async def under_attack(server: ServerProcess, prober: Prober, attack: Attack, seconds: float) -> dict[str, Any]:
    resident_megabytes(server.process.pid, reset=True)
    statuses: Counter[str] = Counter()
    prober.start(server.port)
    small: Counter[str] = Counter()
    waited: list[float] = []
    asking = asyncio.create_task(ask_meanwhile(server.port, small, waited))
    await attack(server.port, seconds, statuses)
    asking.cancel()
    times = await asyncio.to_thread(prober.stop)
    start = time.perf_counter()
    status, _ = await Caller(server.port).ask("POST", "/v1/annotate", body(text="IL-2 binds."))
    while status == 503 and time.perf_counter() < start + 60:
        await asyncio.sleep(0.1)
        status, _ = await Caller(server.port).ask("POST", "/v1/annotate", body(text="IL-2 binds."))
    return {
        "healthz_p50_ms": 1000 * times[len(times) // 2],
        "healthz_p99_ms": 1000 * times[int(0.99 * len(times))],
        "healthz_max_ms": 1000 * times[-1],
        "probes": len(times),
        "failures": times.count(math.inf),
        "small_requests": dict(small),
        "small_max_ms": 1000 * max(waited, default=0.0),
        "answers": dict(statuses),
        "memory_mb": resident_megabytes(server.process.pid),
        "next_request": {"status": status, "seconds": time.perf_counter() - start},
        "times": times,
    }


async def stopped(server: ServerProcess, limit: float) -> dict[str, Any]:
    """Stops the server while it computes as much as it takes on."""
    attack = asyncio.create_task(attacks()["100 best sets, candidates"](server.port, limit, Counter()))
    await asyncio.sleep(1)
    start = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    status = await asyncio.to_thread(server.process.wait)
    seconds = time.perf_counter() - start
    attack.cancel()
    await asyncio.gather(attack, return_exceptions=True)
    return {"seconds": seconds, "limit": limit, "status": status}


def run(
    model: ModelName = "genia",
    seconds: Annotated[float, typer.Option(min=0.1, help="For each attack.")] = 8.0,
) -> dict[str, Any]:
    return asyncio.run(measure(model, seconds, Prober()))


async def measure(model: str, seconds: float, prober: Prober) -> dict[str, Any]:
    server = ServerProcess(model)
    try:
        await ready(server.port)
        found = {}
        for name, attack in attacks().items():
            found[name] = await under_attack(server, prober, attack, seconds)
        times = sorted(time for name, entry in found.items() if name != "nothing" for time in entry.pop("times"))
        found["nothing"].pop("times")
        every = {
            "healthz_p50_ms": 1000 * times[len(times) // 2],
            "healthz_p99_ms": 1000 * times[int(0.99 * len(times))],
        }
        return {
            "machine": machine(),
            "attacks": found,
            "all": every | {"probes": len(times)},
            "stopped": await stopped(server, 30.0),
        }
    finally:
        server.kill()


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Format the figures as text."""
    yield figures["machine"]
    for name, entry in figures["attacks"].items():
        yield (
            f"{name:<32} healthz p50 {entry['healthz_p50_ms']:5.0f} ms, p99 {entry['healthz_p99_ms']:5.0f} ms, "
            f"max {entry['healthz_max_ms']:5.0f} ms, {entry['failures']} of {entry['probes']:,} failed; small requests "
            f"{entry['small_requests']}, max {entry['small_max_ms']:.0f} ms; {entry['memory_mb']:,.0f} MB; {entry['answers']}; "
            f"then {entry['next_request']['status']} after {entry['next_request']['seconds']:.1f} s"
        )
    every, ended = figures["all"], figures["stopped"]
    yield (
        f"all attacks: p50 {every['healthz_p50_ms']:.0f} ms, p99 {every['healthz_p99_ms']:.0f} ms of {every['probes']:,}"
    )
    if failures := sum(entry["failures"] for entry in figures["attacks"].values()):
        yield f"{failures:,} probes FAILED"
    yield f"SIGTERM: ended after {ended['seconds']:.1f} s of {ended['limit']:g}, with {ended['status']}"
