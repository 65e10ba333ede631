"""Ids: readable, stable, independent of order, unique."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.data import ids
from slicewise.data.ids import Identity


def identity(content: Any = "q", task: str = "detection", slice_number: int | None = 7) -> Identity:
    level = "volume" if slice_number is None else "image"
    return Identity("brain", level, "file_brain_AXT1_202_2020517", slice_number, task, content)


def test_the_front_is_readable() -> None:
    assert ids.assign([identity()])[0].id.startswith("brain-image-file_brain_AXT1_202_2020517-s007-detection-")
    assert ids.assign([identity(slice_number=None)])[0].id.startswith(
        "brain-volume-file_brain_AXT1_202_2020517-detection-"
    )


def test_a_known_id_does_not_change_between_versions() -> None:
    """Answers are stored under ids, so a new release must not rename them."""
    assert ids.sample_id(
        "knee", "image", "file1000005", 21, "localization", ["closed_ended", "Where?", "At the ACL"]
    ) == ("knee-image-file1000005-s021-localization-2979e9")


def test_repeated_records_get_an_ordinal() -> None:
    a, b, c, d = ids.assign([identity("x"), identity("y"), identity("x"), identity("x")])
    assert (c.id, d.id) == (f"{a.id}-2", f"{a.id}-3")
    assert (a.duplicate_of, b.duplicate_of, c.duplicate_of, d.duplicate_of) == (None, None, a.id, a.id)


def test_a_clash_of_short_hashes_lengthens_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "SHORT", 0)
    first, second = ids.assign([identity("x"), identity("y")])
    assert first.id != second.id
    assert all(len(one.id.rsplit("-", 1)[1]) == ids.LONG for one in (first, second))


CONTENT = st.lists(st.one_of(st.text(max_size=5), st.integers(-2, 2), st.none()), max_size=3)
IDENTITIES = st.builds(identity, CONTENT, st.sampled_from(["detection", "counting"]), st.sampled_from([None, 1, 12]))


@given(st.lists(IDENTITIES, max_size=12), st.randoms(use_true_random=False))
def test_ids_are_unique_and_do_not_depend_on_order(items: list[Identity], random: Any) -> None:
    order = list(range(len(items)))
    random.shuffle(order)
    forward = [one.id for one in ids.assign(items)]
    shuffled = [one.id for one in ids.assign([items[i] for i in order])]
    assert len(set(forward)) == len(items)
    assert sorted(forward) == sorted(shuffled)
    for i, name in zip(order, shuffled, strict=True):
        if sum(items[i] == other for other in items) == 1:
            assert name == forward[i]
