"""The pair cache: content keys, several processes, kill -9, damage."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.errors import UserError
from slicewise.score.pair_cache import PairCache, pair_keys


def put_range(path: Path, start: int, stop: int) -> None:
    with PairCache(path) as cache:
        for i in range(start, stop):
            (key,) = pair_keys("s", [(str(i), "r")])
            cache.put_many({key: {"f1": i / 7, "writer": start}})


def test_round_trip_is_exact_and_first_value_stays(tmp_path: Path) -> None:
    keys = pair_keys("s", [("a", "b"), ("b", "a"), ("a", "b")])
    assert keys[0] == keys[2] != keys[1]
    with PairCache(tmp_path / "deep" / "pairs.sqlite") as cache:
        cache.put_many({keys[0]: {"f1": 0.1 + 0.2, "flags": ["truncated_candidate"]}, keys[1]: {"f1": None}})
        cache.put_many({keys[0]: {"f1": 9.0}})
    with PairCache(tmp_path / "deep" / "pairs.sqlite") as cache:
        assert cache.get_many([keys[0], b"x" * 32]) == {keys[0]: {"f1": 0.1 + 0.2, "flags": ["truncated_candidate"]}}
        assert len(cache) == 2


@given(st.lists(st.tuples(st.text(), st.text()), unique=True, max_size=20))
def test_keys_are_distinct_by_content_and_signature(pairs: list[tuple[str, str]]) -> None:
    keys = pair_keys("one", pairs) + pair_keys("two", pairs)
    assert len(set(keys)) == 2 * len(pairs)


def test_any_text_has_a_key() -> None:
    assert len(set(pair_keys("s", [("\ud800", ""), ("\udfff", ""), ("\x00", ""), ("", "\x00")]))) == 4


def test_more_keys_than_one_query_holds(tmp_path: Path) -> None:
    keys = pair_keys("s", [(str(i), "") for i in range(2345)])
    with PairCache(tmp_path / "p.sqlite") as cache:
        cache.put_many({key: {"i": i} for i, key in enumerate(keys)})
        found = cache.get_many(keys)
        assert [found[key]["i"] for key in keys] == list(range(2345))
        assert cache.get_many([]) == {}


def test_several_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=put_range, args=(path, start, start + 150)) for start in (0, 100, 200)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with PairCache(path) as cache:
        assert len(cache) == 350


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_kill_loses_no_acknowledged_value(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    program = (
        "import sys\nfrom pathlib import Path\nfrom slicewise.score.pair_cache import PairCache, pair_keys\n"
        "cache = PairCache(Path(sys.argv[1]))\n"
        "for i in range(10**6):\n"
        "    cache.put_many({pair_keys('s', [(str(i), 'r')])[0]: {'i': i}})\n"
        "    print(i, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(0.2)
        writer.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in (first + writer.stdout.read()).splitlines(keepends=True) if "\n" in line]
    keys = pair_keys("s", [(str(i), "r") for i in acknowledged])
    with PairCache(path) as cache:
        assert len(acknowledged) > 1
        assert len(cache.get_many(keys)) == len(acknowledged)
        cache.put_many({b"k" * 32: {}})


def test_a_failed_batch_leaves_nothing_behind(tmp_path: Path) -> None:
    with PairCache(tmp_path / "p.sqlite") as cache:
        with pytest.raises(ValueError, match="JSON"):
            cache.put_many({b"a" * 32: {"f1": 1.0}, b"b" * 32: {"f1": float("nan")}})
        assert len(cache) == 0


def test_damage_is_said_plainly(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database, but long enough to be read as one" * 50)
    with pytest.raises(UserError, match=r"broken\.sqlite.*delete it"):
        PairCache(broken)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="version 99"):
        PairCache(newer)
    torn = tmp_path / "torn.sqlite"
    (key,) = pair_keys("s", [("a", "b")])
    with PairCache(torn) as cache:
        cache.put_many({key: {"f1": 1}})
    with sqlite3.connect(torn) as connection:
        connection.execute("UPDATE pairs SET value = '{\"f1\":'")
    connection.close()
    with PairCache(torn) as cache, pytest.raises(UserError, match=r"torn\.sqlite"):
        cache.get_many([key])
