"""What annotating in a browser costs: ``make web`` prints it.

A page in Chromium loads a model from a local server and annotates a text, beside Python in the same run, in turns.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import http.server
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hyperspan
from hyperspan.kernels.threads import cpu_count, use_threads
from hyperspan.runtime.folders import PRETRAINED

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.site import browser  # noqa: E402

MODEL = "english"
ROUNDS = 3
TEXT = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))[:25_000]


def sizes() -> None:
    """Bytes over the wire, as they are and compressed."""
    groups = {
        "kernels (one of two builds)": [browser.WEB / "dist/hyperspan.wasm"],
        "modules": sorted((browser.WEB / "src").glob("*.js")),
        f"model {MODEL}": [PRETRAINED / MODEL / name for name in browser.MODEL_FILES],
    }
    for name, paths in groups.items():
        contents = [path.read_bytes() for path in paths]
        packed = (sum(len(pack(one)) for one in contents) for pack in (gzip.compress, brotli_of))
        plain = sum(map(len, contents))
        print(f"{name:30}{plain:>12,} bytes {'gzip {:,}, brotli {:,}'.format(*packed):>36}")


def brotli_of(data: bytes) -> bytes:
    # Only make web installs it.
    import brotli  # pyright: ignore[reportMissingImports]

    return brotli.compress(data, quality=5)  # as servers do while they answer


@contextlib.contextmanager
def served(files: dict[str, Path], pages: dict[str, str], headers: dict[str, str] | None = None) -> Iterator[str]:
    """The address of a server with these files and texts by their paths."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0].removeprefix("/")
            known = path in pages or path in files
            content = pages[path].encode() if path in pages else files[path].read_bytes() if known else b""
            self.send_response(200 if known else 404)
            kinds = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8"}
            self.send_header("Content-Type", kinds.get(Path(path).suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(content)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Nothing is logged."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def speed() -> None:
    """The time to the first answer, and words per second in turns with Python on one thread and on all."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    annotate = hyperspan.load(MODEL)
    with (
        served(browser.files(), {"index.html": "<!doctype html><title>figures</title>"}) as address,
        sync_playwright() as playwright,
    ):
        page = playwright.chromium.launch(args=["--no-sandbox"], executable_path=chromium).new_page()
        page.goto(f"{address}index.html")
        first = page.evaluate(
            """async ([module, model]) => {
              const began = performance.now(), { load } = await import(module);
              window.annotate = await load(model);
              const loaded = performance.now();
              await annotate("The wife of the former mayor of Chicago runs a bakery near the lake.");
              return [loaded - began, performance.now() - loaded];
            }""",
            [f"{address}{browser.PLACE}/src/index.js", f"{address}{browser.PLACE}/models/{MODEL}/"],
        )
        print(
            f"{'to the first answer':30}{sum(first):>12,.0f} ms    (loading {first[0]:,.0f}, answering {first[1]:,.0f})"
        )
        words = sum(len(one) for one in annotate(TEXT).sentences)
        best: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, run in {
                "Chromium": lambda: page.evaluate("text => annotate(text).then(found => found.mentions.length)", TEXT),
                "Python, one thread": lambda: with_threads(1, annotate),
                "Python": lambda: with_threads(cpu_count(), annotate),
            }.items():
                began = time.perf_counter()
                run()
                best[name] = max(best.get(name, 0.0), words / (time.perf_counter() - began))
        for name, rate in best.items():
            share = "" if name == "Chromium" else f"Chromium has {best['Chromium'] / rate:.2f} of it"
            print(f"{name:30}{rate:>12,.0f} words/s {share:>30}")
        memory = page.evaluate(
            """async ([source, model, text]) => {
              const [{ Engine }, { readFolder, readKernels }] = await Promise.all(["engine", "folder"].map((name) => import(`${source}${name}.js`)));
              const engine = await Engine.of(await readKernels(), await readFolder(model)), size = () => engine.kernels.calls.memory.buffer.byteLength;
              const opened = size();
              for (const _ of engine.annotate(text));
              return [opened, size()];
            }""",
            [f"{address}{browser.PLACE}/src/", f"{address}{browser.PLACE}/models/{MODEL}/", TEXT],
        )
        opened, used = (round(size / 1e6) for size in memory)
        print(f"{'memory of the kernels':30}{used:>12,} MB       (with the model alone {opened})")


def with_threads(count: int, annotate: hyperspan.Annotator) -> None:
    use_threads(count)
    annotate(TEXT)


if __name__ == "__main__":
    sizes()
    speed()
