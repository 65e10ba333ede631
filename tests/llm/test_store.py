"""The response store: keys, durability, merging, damage."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.errors import UserError
from slicewise.llm.export import summarise
from slicewise.llm.records import StoreWarning, read_shard
from slicewise.llm.request import Image, Message, Reply, Request
from slicewise.llm.store import Store

DEPLOYMENT = {"provider": "p", "model": "m", "revision": None, "engine": {}}


def make(text: str, draw: int = 0, **changes: object) -> Request:
    return Request({**DEPLOYMENT, **changes}, (Message("user", (text,)),), {"temperature": 0}, None, draw)


def put(store: Store, text: str, reply: str = "yes") -> None:
    store.put(make(text), Reply(reply, cost=0.5, prompt_tokens=3, completion_tokens=1), seconds=0.1, attempts=1)


def test_key_changes_with_what_can_change_the_reply_and_with_nothing_else() -> None:
    image = Image("ab" * 32, "image/png", 4, 4, lambda: b"")
    base = make("rate this").key
    assert make("rate this.").key != base
    assert make("rate this", draw=1).key != base
    assert make("rate this", model="n").key != base
    assert Request(DEPLOYMENT, make("rate this").messages, {"temperature": 1}).key != base
    assert Request(DEPLOYMENT, make("rate this").messages, {"temperature": 0}, {"type": "object"}).key != base
    assert Request(DEPLOYMENT, make("rate this").messages, {"temperature": 0}, item="another name").key == base
    other = Image("cd" * 32, "image/png", 4, 4, lambda: b"")
    pair = [Request(DEPLOYMENT, (Message("user", ("q", i)),), {}).key for i in (image, other)]
    assert pair[0] != pair[1]


@given(text=st.text(st.characters(), max_size=60), reply=st.text(st.characters(), max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, text: str, reply: str) -> None:
    folder = tmp_path_factory.mktemp("store")
    with Store(folder) as store:
        put(store, text, reply)
        store.share()
    (folder / "live.sqlite").unlink()
    with Store(folder) as fresh:
        record = fresh.get(make(text).key)
    assert record is not None
    assert record.reply.text == reply


def test_share_writes_only_what_is_new_and_is_content_named(store: Store) -> None:
    put(store, "a")
    first = store.share()
    assert store.share() is None
    put(store, "b")
    second = store.share()
    assert first is not None
    assert second is not None
    assert first != second
    assert [len(read_shard(p)[0]) for p in (first, second)] == [1, 1]
    assert store.verify().faults == []


def test_merge_is_a_union_and_agrees_in_both_directions(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        for store, texts in ((a, "xy"), (b, "yz")):
            for text in texts:
                put(store, text, f"from {store.root.name}")
            store.share()
        assert a.merge(b.root) == 1
        assert b.merge(a.root) == 1
        assert [r.line() for r in a.records()] == [r.line() for r in b.records()]
        assert a.get(make("y").key).reply.text == "from a"  # type: ignore[union-attr]  # the earlier one


def test_a_flipped_byte_is_found_and_never_used(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, "a")
        put(store, "b")
        shard = store.share()
    assert shard is not None
    data = shard.read_bytes()
    place = data.index(b'"text":"yes"') + 9
    shard.write_bytes(data[:place] + b"Y" + data[place + 1 :])
    (tmp_path / "live.sqlite").unlink()
    with pytest.warns(StoreWarning, match="line 1"):
        damaged = Store(tmp_path)
    with damaged as store:
        assert len(store) == 1
        faults = store.verify().faults
    assert any("does not match its name" in f for f in faults)
    assert any("line 1" in f for f in faults)


def test_a_damaged_live_record_gives_way_to_a_sound_one(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, "a")
    database = sqlite3.connect(tmp_path / "live.sqlite")
    database.execute("UPDATE replies SET record = replace(record, 'yes', 'no!')")
    database.commit()
    database.close()
    with Store(tmp_path) as store:
        with pytest.warns(StoreWarning, match="not used"):
            assert store.get(make("a").key) is None
        assert len(store.verify().faults) == 1
        put(store, "a")
        assert store.verify().faults == []


def _write(folder: Path, worker: int) -> None:
    with Store(folder) as store:
        for i in range(500):
            put(store, f"{worker}-{i}")


def test_eight_processes_put_four_thousand_entries(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(tmp_path, w)) for w in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0] * 8
    with Store(tmp_path) as store:
        assert len(store) == 4000
        assert summarise(store)["m"]["calls"] == 4000
        assert summarise(store)["m"]["cost"] == pytest.approx(2000.0)


def test_merge_of_a_folder_without_shards_says_so(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no shard"):
        store.merge(tmp_path / "nothing")


@pytest.mark.parametrize("bit", range(8))
def test_any_flipped_bit_of_any_byte_is_noticed(tmp_path: Path, bit: int) -> None:
    with Store(tmp_path) as store:
        put(store, "is it? yes", "why?")
        shard = store.share()
    assert shard is not None
    data = shard.read_bytes()
    for place in range(0, len(data) - 1, 7):
        damaged = data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]
        shard.write_bytes(damaged)
        records, faults = read_shard(shard)
        assert faults or not records, place
        assert not [r for r in records if r.reply.text != "why?" or r.request != make("is it? yes").canonical]


def test_invalid_utf8_in_the_live_layer_is_found_and_not_used(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, "a")
        put(store, "b")
        store.db.execute(
            "UPDATE replies SET record = CAST(REPLACE(CAST(record AS BLOB), x'796573', x'79ff73') AS TEXT) "
            "WHERE key = ?",
            (make("a").key,),
        )
        assert len(store.verify().faults) == 1
        with pytest.warns(StoreWarning, match="not used"):
            assert [r.key for r in store.records()] == [make("b").key]
        with pytest.warns(StoreWarning, match="not used"):
            assert store.share() is not None


def test_a_share_that_was_killed_before_it_was_noted_is_noted_later(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        put(store, "a")
        shard = store.share()
        store.db.execute("UPDATE replies SET shard = NULL")
        store.db.execute("DELETE FROM shards")
    with Store(tmp_path) as store:
        assert store.share() is None
        put(store, "b")
        second = store.share()
    assert shard is not None
    assert second is not None
    assert [len(read_shard(p)[0]) for p in (shard, second)] == [1, 1]


def test_a_damaged_shard_is_not_merged(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path / "other") as other:
        put(other, "a")
        shard = other.share()
    assert shard is not None
    shard.write_bytes(shard.read_bytes().replace(b"yes", b"no!"))
    with pytest.raises(UserError, match="does not match its name"):
        store.merge(tmp_path / "other")
    assert len(store) == 0
