"""The Batch API: partial failures, expiry, duplicate delivery, and a poller that was killed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.llm import batch, wire
from slicewise.llm.batch import BatchBuyer
from slicewise.llm.client import Client
from slicewise.llm.pricing import estimate
from slicewise.llm.request import Message, Request
from slicewise.llm.store import Store
from slicewise.llm.till import Till
from slicewise.outcome import Outcome


def make(endpoint: Endpoint, texts: list[str]) -> list[Request]:
    sampling = wire.sampling(endpoint)
    return [Request(endpoint.deployment, (Message("user", (t,)),), sampling, item=t) for t in texts]


BATCH = LlmSettings(batch=True)


@pytest.fixture(autouse=True)
def _poll_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "POLL_SECONDS", 0.01)


def runner(endpoint: Endpoint, store: Store) -> Client:
    return Client(endpoint, store, BATCH)


def test_batch_and_live_share_keys_and_batch_costs_half(start_server: Any, store: Store, tmp_path: Any) -> None:
    server = start_server(log=tmp_path / "log")
    endpoint = server.endpoint()
    requests = make(endpoint, [f"q{i}" for i in range(12)])
    results = runner(endpoint, store).answer_all(requests)
    assert [r.outcome for r in results] == [Outcome.OK] * 12
    asked = server.requests
    live = Client(endpoint, store, LlmSettings()).answer_all(requests)
    assert server.requests == asked
    assert [r.reply for r in live] == [r.reply for r in results]
    assert results[0].reply is not None
    assert results[0].reply.cost == pytest.approx((7 * 1.0 + 4 * 0.5 + 7 * 2.0) / 1e6 / 2)


def test_partial_failure_expiry_and_double_delivery(start_server: Any, store: Store) -> None:
    endpoint = start_server().endpoint()
    texts = ["plain", "BATCH FAILS", "BATCH EXPIRES", "DELIVERED TWICE"]
    results = runner(endpoint, store).answer_all(make(endpoint, texts))
    assert [r.outcome for r in results] == [Outcome.OK, Outcome.API_ERROR, Outcome.OK, Outcome.OK]
    assert "server_error" in (results[1].error or "")
    assert len(store) == 3
    assert list((store.root / "batches").glob("*.json")) == []


@pytest.mark.parametrize("number_written", [True, False])
def test_a_killed_poller_resumes_without_buying_again(
    start_server: Any, store: Store, tmp_path: Any, number_written: bool
) -> None:
    server = start_server(log=tmp_path / "log")
    endpoint = server.endpoint()
    requests = make(endpoint, ["a", "b"])
    first = BatchBuyer(Till(endpoint, store, BATCH))

    async def killed_after_submitting() -> None:
        from slicewise.llm.connection import connect

        async with connect(endpoint) as connection:
            for chunk, data in first._chunks(requests):
                await first._submit(connection, chunk, data)

    asyncio.run(killed_after_submitting())
    (state,) = (store.root / "batches").glob("*.json")
    if not number_written:
        state.write_text(json.dumps(json.loads(state.read_text()) | {"batch_id": None}))
    results = runner(endpoint, store).answer_all(requests)
    assert [r.outcome for r in results] == [Outcome.OK] * 2
    bought = (tmp_path / "log").read_text().splitlines()
    assert len(bought) == len(set(bought)) == 2


def test_answers_of_a_resumed_batch_are_kept_even_when_nobody_asks_any_more(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    old = make(endpoint, ["dropped", "kept"])
    buyer = BatchBuyer(Till(endpoint, store, BATCH))

    async def killed_after_submitting() -> None:
        from slicewise.llm.connection import connect

        async with connect(endpoint) as connection:
            for chunk, data in buyer._chunks(old):
                await buyer._submit(connection, chunk, data)

    asyncio.run(killed_after_submitting())
    runner(endpoint, store).answer_all(make(endpoint, ["kept", "new"]))
    assert set(store.get_many([r.key for r in old])) == {r.key for r in old}
    assert len(store) == 3
    assert len(server.server.batches) == 2


def test_a_batch_keeps_to_the_budget(start_server: Any, store: Store) -> None:
    endpoint = start_server().endpoint(sampling={"max_tokens": 100_000})
    requests = make(endpoint, ["a", "b", "c"])
    each = estimate(requests[0], endpoint, batch=True)
    settings = LlmSettings(batch=True, budget_usd=2.00001 * each)
    outcomes = [r.outcome for r in Client(endpoint, store, settings).answer_all(requests)]
    assert sorted(outcomes) == ["not_run", "ok", "ok"]


def test_replay_asks_no_batch(start_server: Any, store: Store) -> None:
    server = start_server()
    endpoint = server.endpoint()
    with pytest.raises(UserError, match="replay"):
        Client(endpoint, store, LlmSettings(batch=True, mode="replay")).answer_all(make(endpoint, ["a"]))
    assert not server.server.batches
