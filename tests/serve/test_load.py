"""Many callers at once: who is computed with whom, who waits, who is turned away, and what happens when somebody
leaves."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from inspect import isframe
from itertools import chain
from typing import Any

import pytest

from hyperspan.errors import InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.decoding import predict
from hyperspan.serve import answers, run
from hyperspan.serve import batcher as batching
from hyperspan.serve.batcher import Batcher, BatchJob
from hyperspan.serve.errors import Problem
from hyperspan.serve.metrics import Metrics
from hyperspan.serve.settings import Settings
from hyperspan.types import Sentence
from tests.serve.running import TEXT, Gated, Running, running, until
from tests.support.models import small_model
from tests.support.process import PATIENCE


@pytest.fixture
def gated() -> Iterator[Gated]:
    one = Gated()
    yield one
    one.gate.set()


def job(annotator: Annotator, text: str, **options: Any) -> BatchJob:
    asked = annotator.options(options.get("threshold"), None, options.get("top_k", 0))
    return BatchJob("small", annotator, annotator.split(text).sentences, asked)


def started(gated: Gated, queued: int = 1000) -> Batcher:
    """A batcher that is busy with something."""
    one = Batcher(queued, Metrics())
    one.submit(job(gated, "First."))
    gated.busy.wait(PATIENCE)
    return one


def finish(one: Batcher) -> None:
    """Ends a batcher when all is done."""
    until(lambda: one.queued == 0)
    one.abort()
    one.join(PATIENCE)
    assert not one.is_alive


def test_what_waits_is_computed_together_and_the_first_does_not_wait(gated: Gated) -> None:
    one = started(gated)
    jobs = [job(gated, f"Ada left {name}.") for name in ("Oz", "home", "soon")]
    odd = job(gated, "Ada left late.", threshold=0.5)
    for waiting in (jobs[0], odd, *jobs[1:]):
        one.submit(waiting)
    gated.gate.set()
    for text, waiting in zip(("Oz", "home", "soon"), jobs, strict=True):
        assert (
            waiting.done.result(PATIENCE)[0].mentions
            == predict(gated.model, waiting.sentences, waiting.options)[0].mentions
        ), text
    odd.done.result(PATIENCE)
    finish(one)
    assert gated.given[:3] == [
        ["First ."],
        ["Ada left Oz .", "Ada left home .", "Ada left soon ."],
        ["Ada left late ."],
    ]
    assert one.queued == 0


def test_a_short_request_does_not_wait_for_a_long_one(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "ROUND", 40)
    monkeypatch.setattr(batching, "MAX_SLICE", 10)
    one = started(gated)
    long, short = job(gated, "Ada left Oz. " * 100), job(gated, "Oz slept.")
    finished: list[str] = []
    long.done.add_done_callback(lambda _: finished.append("long"))
    short.done.add_done_callback(lambda _: finished.append("short"))
    one.submit(long)
    one.submit(short)
    gated.gate.set()
    assert len(long.done.result(PATIENCE)) == 100 and len(short.done.result(PATIENCE)) == 1
    assert finished == ["short", "long"]
    assert max(map(len, gated.given)) <= 12 and one.queued == 0
    alone = predict(gated.model, long.sentences, long.options)
    assert [found.mentions for found in long.done.result()] == [found.mentions for found in alone]
    finish(one)


def test_nobody_suffers_from_what_others_send(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    one = started(gated)
    plain = gated.model.quick_distribution

    def distribution(sentences: Sequence[Sentence]) -> Any:
        if any("poison" in sentence.tokens for sentence in sentences):
            raise InputError("poison is no text")
        return plain(sentences)

    monkeypatch.setattr(gated.model, "quick_distribution", distribution)
    good, bad, other = job(gated, "Ada left."), job(gated, "The poison."), job(gated, "Oz slept.")
    for waiting in (good, bad, other):
        one.submit(waiting)
    gated.gate.set()
    assert good.done.result(PATIENCE)[0].mentions and len(other.done.result(PATIENCE)) == 1
    with pytest.raises(InputError, match="poison is no text"):
        bad.done.result(PATIENCE)
    finish(one)
    assert one.queued == 0


def test_a_full_queue_turns_away_and_who_leaves_makes_room(gated: Gated) -> None:
    one = started(gated, queued=10)
    waiting = job(gated, "Ada left the zoo of Oz and slept.")
    one.submit(waiting)
    with pytest.raises(
        Problem, match=r"11 words are waiting already, and the limit is 10; send the request again"
    ) as full:
        one.submit(job(gated, "Oz."))
    assert full.value.status == 503 and int(full.value.headers["Retry-After"]) >= 1
    one.cancel(waiting)
    kept = job(gated, "Oz.")
    one.submit(kept)
    gated.gate.set()
    assert len(kept.done.result(PATIENCE)) == 1 and waiting.done.cancelled()
    dropped = job(gated, "Ada left. " * 20)
    gated.gate.clear()
    gated.busy.clear()
    one.submit(dropped)
    gated.busy.wait(PATIENCE)
    one.cancel(dropped)  # while it is computed
    gated.gate.set()
    finish(one)
    assert one.queued == 0 and not any("Ada left the" in text for given in gated.given for text in given)
    with pytest.raises(Problem, match="shutting down"):
        one.submit(job(gated, "Oz."))


def test_long_sentences_and_best_sets_count_for_more(gated: Gated) -> None:
    short, long = job(gated, "Ada left Oz. " * 25), job(gated, "Ada left Oz " * 33 + ".")
    assert short.left == 100 and long.left == 100 * 100 / batching.USUAL_WIDTH
    assert job(gated, "Ada left Oz.", top_k=batching.SETS_A_SENTENCE).left == 8
    narrow = Annotator(small_model(max_width=3))
    assert BatchJob("small", narrow, long.sentences, long.options).left == 100


def test_short_requests_come_before_the_next_long_sentence(gated: Gated) -> None:
    one = started(gated, queued=100_000)
    sentence = "Ada left Oz " * 60 + "."
    long = [job(gated, f"{sentence}\n\n{sentence}") for _ in range(4)]
    short = [job(gated, "Oz slept."), job(gated, "Ada slept.")]
    for waiting in (*long, *short):
        one.submit(waiting)
    gated.gate.set()
    assert all(len(waiting.done.result(PATIENCE)) == 2 for waiting in long)
    assert all(len(waiting.done.result(PATIENCE)) == 1 for waiting in short)
    finish(one)
    assert [len(given) for given in gated.given] == [1, 1, 2, *[1] * 7]  # a long one, both short ones, the others
    assert gated.given[2] == ["Oz slept .", "Ada slept ."] and one.queued == 0


def test_a_request_waits_for_no_more_of_others_than_it_asks_for(gated: Gated) -> None:
    one = started(gated, queued=5_000)
    large = job(gated, "Ada left Oz. " * 3_000)
    one.submit(large)
    with pytest.raises(Problem, match="words are waiting already, and the limit is 5,000"):
        one.submit(job(gated, "Ada left Oz. " * 3_000))
    small = job(gated, "Oz.")
    one.submit(small)
    gated.gate.set()
    assert len(small.done.result(PATIENCE)) == 1
    one.cancel(large)
    finish(one)
    assert one.queued == one.ahead(1e9) == 0


# -- over HTTP
# -------------------------------------------------------------------------------------------------------------


def asking(pool: ThreadPoolExecutor, one: Running, text: str) -> Future[Any]:
    return pool.submit(lambda: one.post(text=text))


def test_overload_is_said_at_once_and_what_was_accepted_is_answered(gated: Gated) -> None:
    settings = Settings(max_queued_words=10, max_requests=4)
    with running(settings, {"small": gated}) as one, ThreadPoolExecutor(8) as pool:
        accepted = [asking(pool, one, "Ada left the zoo of Oz and slept.")]
        gated.busy.wait(PATIENCE)
        accepted.append(asking(pool, one, "Ada left."))
        until(lambda: one.service.in_flight == 2)
        until(lambda: one.service.batcher is not None and one.service.batcher.jobs == 1)
        shed = one.post(text="Oz.")
        assert shed.status_code == 503 and int(shed.headers["retry-after"]) >= 1
        assert shed.json()["error"]["code"] == "overloaded" and "words are waiting already" in shed.text
        gated.gate.set()
        assert [future.result(PATIENCE).status_code for future in accepted] == [200, 200]
        gated.gate.clear()
        many = [asking(pool, one, "Oz.") for _ in range(4)]
        until(lambda: one.service.taken["requests"] == 4)
        assert "4 requests are at work, which is the limit" in one.post(text="Oz.").text
        assert one.client.get("/healthz").status_code == one.client.get("/metrics").status_code == 200
        gated.gate.set()
        assert all(future.result(PATIENCE).status_code == 200 for future in many)
        text = one.client.get("/metrics").text
        assert 'hyperspan_shed_total{reason="queue"} 1' in text and 'hyperspan_shed_total{reason="requests"} 1' in text


def test_a_request_that_takes_too_long_is_given_up(gated: Gated) -> None:
    with running(Settings(seconds=0.3), {"small": gated}) as one:
        blocking = threading.Thread(target=lambda: one.post(text="Ada left."))
        blocking.start()
        gated.busy.wait(PATIENCE)
        late = one.post(text="Oz slept.")
        assert late.status_code == 504 and "took longer than 0.3 seconds" in late.json()["error"]["message"]
        gated.gate.set()
        blocking.join()
        until(lambda: one.service.batcher is not None and one.service.batcher.queued == 0)
        assert not any("Oz slept ." in given for given in gated.given)  # nobody waited for it any more


def test_a_caller_who_leaves_frees_his_place(gated: Gated) -> None:
    with running(None, {"small": gated}) as one, ThreadPoolExecutor(1) as pool:
        first = asking(pool, one, "Ada left.")
        gated.busy.wait(PATIENCE)
        leaving = http.client.HTTPConnection("127.0.0.1", one.port)
        leaving.request("POST", "/v1/annotate", json.dumps({"text": "Oz slept."}), {"Content-Type": "application/json"})
        until(lambda: one.service.in_flight == 2)
        leaving.close()
        until(lambda: one.service.in_flight == 1)
        gated.gate.set()
        assert first.result(PATIENCE).status_code == 200
        until(lambda: any(json.loads(entry)["status"] == 499 for entry in one.log))
        assert not any("Oz slept ." in given for given in gated.given)


def test_slow_callers_are_not_waited_for(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "HEAD_SECONDS", 0.2)
    with running(Settings(seconds=2), {"small": annotator}) as one:
        slow = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
        slow.putrequest("POST", "/v1/annotate")
        slow.putheader("Content-Length", "100")
        slow.putheader("Content-Type", "application/json")
        slow.endheaders(b'{"text":')
        response = slow.getresponse()
        assert response.status == 408 and b"did not come within 2 seconds" in response.read()
        silent = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
        silent.connect()
        assert silent.sock is not None
        silent.sock.sendall(b"POST /v1/annotate HTT")
        assert silent.sock.recv(100) == b""  # closed
        silent.close()
        kept = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
        for _ in range(2):  # on one connection, with a pause that is longer than a head may take
            kept.request("POST", "/v1/annotate", b'{"text": "Ada"}', {"Content-Type": "application/json"})
            assert kept.getresponse().read().startswith(b'{"model"')
            assert kept.sock is not None
            time.sleep(0.05)
        kept.close()
        slow.close()


def test_slow_callers_do_not_take_the_places_of_others(annotator: Annotator) -> None:
    with running(Settings(max_requests=2), {"small": annotator}) as one, ExitStack() as stack:
        head = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
        for path in (b"/v1/annotate", b"/v1/annotate", b"/v1/annotate", b"/v1/annotate/stream", b"/v1/annotate/stream"):
            stack.enter_context(socket.create_connection(("127.0.0.1", one.port))).sendall(head % path)
        until(lambda: one.service.in_flight == 5 and one.service.taken["streams"] == 2)
        assert one.post(text="Ada").status_code == 200
        third = one.client.post("/v1/annotate/stream", content=b"", headers={"content-type": "application/json"})
        assert third.status_code == 503 and "2 streams are at work, which is the limit" in third.text


def test_a_caller_who_does_not_read_is_left(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "documents", lambda *_: ["x" * 20_000_000])  # more than any socket keeps
    with running(Settings(seconds=0.5), {"small": annotator}) as one:
        deaf = http.client.HTTPConnection("127.0.0.1", one.port)
        deaf.request("POST", "/v1/annotate", b'{"text": "Ada"}', {"Content-Type": "application/json"})
        until(lambda: any("did not read the response" in entry for entry in one.log))
        until(lambda: one.service.in_flight == 0)
        deaf.close()


def test_stopping_finishes_what_was_accepted_and_refuses_the_rest(gated: Gated) -> None:
    with running(None, {"small": gated}) as one, ThreadPoolExecutor(2) as pool:
        accepted = [asking(pool, one, "Ada left."), asking(pool, one, "Oz slept.")]
        until(lambda: one.service.in_flight == 2)
        one.server.stop()
        refused = one.post(text="Nobody.")
        assert refused.status_code == 503 and refused.json()["error"]["code"] == "shutting_down"
        assert one.client.get("/readyz").status_code == 503 and one.client.get("/healthz").status_code == 200
        gated.gate.set()
        assert [future.result(PATIENCE).status_code for future in accepted] == [200, 200]


def test_a_large_answer_is_made_without_a_pause_to_look_through_all_objects(annotator: Annotator) -> None:
    thresholds, collections = gc.get_threshold(), Counter[bool]()
    with running(Settings(max_texts=2_000), {"small": annotator}) as one:

        def count(phase: str, about: dict[str, int]) -> None:
            if phase == "start" and about["generation"] == 2:
                collections[one.service.in_flight > 0] += 1

        gc.callbacks.append(count)
        run.leave_collections_to_the_server()
        try:
            assert len(one.annotate(texts=[TEXT] * 2_000, candidates=0.001)) == 2_000
            until(lambda: collections[False] > 0)
        finally:
            gc.callbacks.remove(count)
            gc.set_threshold(*thresholds)
    assert collections[True] == 0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/annotate", {"text": TEXT * 1_000}, 200),
        ("/v1/annotate", {"text": TEXT * 1_000, "types": ["nothing"]}, 422),
        ("/v1/annotate", {"texts": [TEXT] * 1_001}, 413),
        ("/v1/annotate", {"text": TEXT * 1_000, "more": 1}, 422),
        ("/v1/hypergraph", {"text": "Ada " * 200}, 413),
    ],
)
def test_a_request_leaves_no_text_to_the_garbage_collector(
    server: Running, path: str, body: dict[str, Any], status: int
) -> None:
    assert server.post(path, **body).status_code == status
    gc.collect()
    gc.disable()
    try:
        assert [server.post(path, **body).status_code for _ in range(5)] == [status] * 5
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = [*gc.garbage, *chain.from_iterable(one.f_locals.values() for one in gc.garbage if isframe(one))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not [one for one in found if isinstance(one, (str, bytes, bytearray)) and len(one) > 10_000]
    assert len(found) < 5 * 500
