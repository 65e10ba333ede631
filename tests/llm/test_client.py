"""The client against a server on loopback: every fault, every outcome, nothing bought twice."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.llm import faults, wire
from slicewise.llm.claims import Claims
from slicewise.llm.client import Client
from slicewise.llm.live import LiveBuyer
from slicewise.llm.pricing import Ledger, estimate
from slicewise.llm.request import Message, Reply, Request
from slicewise.llm.result import PermanentError, Result
from slicewise.llm.store import Store
from slicewise.llm.till import Till
from slicewise.outcome import Outcome

LIVE = LlmSettings()
SCHEMA = {"title": "verdict", "type": "object", "properties": {"accuracy": {"type": "integer"}}}


def request(endpoint: Endpoint, text: str, *, schema: dict[str, Any] | None = None, draw: int = 0) -> Request:
    return Request(endpoint.deployment, (Message("user", (text,)),), wire.sampling(endpoint), schema, draw, item=text)


def test_thirty_percent_faults_end_in_every_right_answer(start_server: Any, store: Store, tmp_path: Path) -> None:
    server = start_server(faults=0.3, seed=3, log=tmp_path / "log")
    endpoint = server.endpoint()
    requests = [request(endpoint, f"question {i}") for i in range(150)]
    results = Client(endpoint, store, LIVE).answer_all(requests)
    assert [r.outcome for r in results] == [Outcome.OK] * 150
    assert all(r.reply and r.reply.text and r.reply.text.endswith(f": question {i}") for i, r in enumerate(results))
    bought = (tmp_path / "log").read_text().splitlines()
    assert len(bought) == len(set(bought)) == 150


def test_a_warm_run_asks_nothing_and_replay_gives_the_same(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    requests = [request(endpoint, f"q{i}") for i in range(20)]
    first = Client(endpoint, store, LIVE).answer_all(requests)
    asked = server.requests
    moved = endpoint.model_copy(update={"base_url": "http://127.0.0.1:9/v1", "concurrency": 2, "timeout": 1.0})
    again = Client(moved, store, LlmSettings(mode="replay")).answer_all([request(moved, f"q{i}") for i in range(20)])
    assert server.requests == asked
    assert [r.reply for r in again] == [r.reply for r in first]
    assert all(r.cached for r in again)


def test_replay_names_the_missing_item(store: Store, start_server: Any) -> None:
    endpoint = start_server().endpoint()
    with pytest.raises(UserError, match=r"no reply for 1 of 1 .*item-7"):
        Client(endpoint, store, LlmSettings(mode="replay")).answer_all([request(endpoint, "item-7")])


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("CUT OFF please", Outcome.OK),
        ("FILTERED REPLY", Outcome.REFUSED),
        ("FILTERED PROMPT", Outcome.REFUSED),
        ("SAY NOTHING", Outcome.EMPTY),
        ("SAY NOTHING and CUT OFF", Outcome.TRUNCATED),
        ("TOO LONG", Outcome.API_ERROR),
    ],
)
def test_ends_of_a_reply_are_outcomes(start_server: Any, store: Store, text: str, outcome: Outcome) -> None:
    endpoint = start_server().endpoint()
    (result,) = Client(endpoint, store, LIVE).answer_all([request(endpoint, text)])
    assert result.outcome is outcome
    assert (result.reply is None) == (outcome is Outcome.API_ERROR)


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"model": "missing-model"}, "q"), ({}, "NO QUOTA"), ({"api_key_env": "SLICEWISE_TEST_KEY"}, "q")],
)
def test_what_no_retry_mends_stops_at_once(
    start_server: Any, store: Store, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], text: str
) -> None:
    monkeypatch.setenv("SLICEWISE_TEST_KEY", "sk-wrong")
    server = start_server()
    endpoint = server.endpoint(concurrency=1, **changes)
    with pytest.raises(PermanentError, match="refuses every call") as error:
        Client(endpoint, store, LIVE).answer_all([request(endpoint, f"{text} {i}") for i in range(50)])
    assert server.requests == 1
    assert "sk-wrong" not in str(error.value)


def test_a_missing_key_is_said_before_any_call(
    start_server: Any, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLICEWISE_TEST_KEY", raising=False)
    server = start_server()
    endpoint = server.endpoint(api_key_env="SLICEWISE_TEST_KEY")
    with pytest.raises(UserError, match="SLICEWISE_TEST_KEY"):
        Client(endpoint, store, LIVE).answer_all([request(endpoint, "q")])
    assert server.requests == 0


def test_schema_falls_back_to_what_the_server_takes(start_server: Any, store: Store) -> None:
    server = start_server(schema_modes=("json_object",))
    endpoint = server.endpoint()
    results = Client(endpoint, store, LIVE).answer_all([request(endpoint, f"q{i}", schema=SCHEMA) for i in range(8)])
    assert {r.reply.schema_mode for r in results if r.reply} == {"json_object"}
    plain = start_server(schema_modes=()).endpoint()
    (result,) = Client(plain, store, LIVE).answer_all([request(plain, "other", schema=SCHEMA)])
    assert result.reply is not None
    assert result.reply.schema_mode == "none"


def test_equal_requests_of_one_run_are_bought_once(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    results = Client(endpoint, store, LIVE).answer_all([request(endpoint, "same")] * 5)
    assert server.requests == 1
    assert len({r.reply.text for r in results if r.reply}) == 1


def test_a_draw_number_asks_again(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    Client(endpoint, store, LIVE).answer_all([request(endpoint, "same", draw=d) for d in range(3)])
    assert server.requests == 3


def test_budget_stops_and_a_raised_budget_goes_on(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint(sampling={"max_tokens": 100_000}, concurrency=1)
    requests = [request(endpoint, f"q{i}") for i in range(5)]
    tight = LlmSettings(budget_usd=estimate(requests[0], endpoint) * 1.00001)
    results = Client(endpoint, store, tight).answer_all(requests)
    outcomes = [r.outcome for r in results]
    assert outcomes.count(Outcome.OK) == 1
    assert outcomes.count(Outcome.NOT_RUN) == 4
    results = Client(endpoint, store, LlmSettings(budget_usd=10.0)).answer_all(requests)
    assert [r.outcome for r in results] == [Outcome.OK] * 5
    assert server.requests == 5


def test_refresh_replaces_what_is_old_and_resumes(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    requests = [request(endpoint, f"q{i}") for i in range(3)]
    Client(endpoint, store, LIVE).answer_all(requests)
    old = store.get(requests[0].key)
    assert old is not None
    refresh = LlmSettings(mode="refresh", refresh_before=old.created + "~")
    Client(endpoint, store, LlmSettings(mode="refresh", refresh_before="9999")).answer_all(requests[:1])
    new = store.get(requests[0].key)
    assert new is not None
    assert new.generation == 1
    asked = server.requests
    Client(endpoint, store, refresh).answer_all(requests[:1])
    assert server.requests == asked


def test_recorded_cost_uses_the_cached_price(start_server: Any, store: Store) -> None:
    endpoint = start_server().endpoint()
    (result,) = Client(endpoint, store, LIVE).answer_all([request(endpoint, "q")])
    assert result.reply is not None
    assert result.reply.cost == pytest.approx((7 * 1.0 + 4 * 0.5 + 7 * 2.0) / 1e6)
    assert result.reply.served_model == "test-model-2026-01-01"


def test_an_endpoint_that_is_down_ends_the_run_with_one_sentence(
    store: Store, start_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "BACKOFF_SECONDS", 0.001)
    endpoint = start_server().endpoint(base_url="http://127.0.0.1:9/v1", max_attempts=2, concurrency=2)
    with pytest.raises(PermanentError, match=r"answers nothing: 8 calls in a row .*Cannot connect"):
        Client(endpoint, store, LIVE).answer_all([request(endpoint, f"q{i}") for i in range(500)])
    assert len(store) == 0


def test_a_rate_limit_is_no_fault_of_the_call(store: Store, start_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "BACKOFF_SECONDS", 0.001)
    endpoint = start_server(faults=1.0, kinds=("429",)).endpoint(max_attempts=1)
    (result,) = Client(endpoint, store, LIVE).answer_all([request(endpoint, "q")])
    assert result.outcome is Outcome.OK


def test_what_another_process_claims_is_waited_for_and_not_bought(
    store: Store, start_server: Any, tmp_path: Path
) -> None:
    server = start_server()
    endpoint = server.endpoint()
    wanted = request(endpoint, "shared")
    script = (
        "import sys, time; from pathlib import Path; from slicewise.llm.claims import Claims\n"
        f"assert Claims(Path({str(store.root / 'claims')!r})).take({wanted.key!r}); print('taken', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        store.put(wanted, Reply("bought by the other one"), seconds=0.1, attempts=1)
        assert not Claims(store.root / "claims").take(wanted.key)
        threading.Timer(0.5, other.kill).start()  # the kernel frees the claim of the dead
        buyer = LiveBuyer(Till(endpoint, store, LIVE))
        found: list[Result] = []
        buyer.buy([wanted], found.append)
    assert [r.reply.text for r in found if r.reply] == ["bought by the other one"]
    assert server.requests == 0


def test_a_reply_without_usage_counts_as_what_was_set_aside(store: Store, start_server: Any) -> None:
    endpoint = start_server().endpoint()
    till = Till(endpoint, store, LlmSettings(budget_usd=1.0))
    made = request(endpoint, "q")
    held = till.hold(made)
    assert held is not None
    till.keep(made.key, made.canonical, Reply("x"), seconds=0.0, attempts=1, held=held)
    till.release(held)
    assert Ledger(store, "run", 1.0).spent == pytest.approx(held)
    assert Ledger(store, "another", 1.0).spent == 0.0


def test_what_a_dead_process_had_set_aside_is_free_again(store: Store) -> None:
    store.db.execute("INSERT INTO holds VALUES ('run', 4194304, 5.0)")  # beyond the largest process id
    assert Ledger(store, "run", 1.0).hold(0.9)
    assert not Ledger(store, "run", 1.0).hold(1.1)
