"""BERTScore: the library as oracle, its known faults shown, and independence of everything but the two texts."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import bert_score
import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slicewise.errors import UserError
from slicewise.params import Encoder
from slicewise.score import bert, packed
from slicewise.score.encoder import locate
from slicewise.score.pair_cache import PairCache, Value

VOCABULARY = "edema lesion signal a the left frontal lobe no mass effect 3.5 mm is of 水肿 œdème seen cyst"
WORDS = VOCABULARY.split()
Pair = tuple[str, str]


def some_pairs(count: int, seed: int, longest: int = 60) -> list[Pair]:
    rng = random.Random(seed)  # noqa: S311

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.choice([1, 1, 2, 5, 20, longest])))

    return [(text(), text()) for _ in range(count)]


def score(pairs: list[Pair], encoder: Encoder, **settings: Any) -> bert.BertResult:
    return bert.score_pairs(pairs, encoder=encoder, **({"threads": 1, "cache": None, "rescale": False} | settings))


def columns(result: bert.BertResult) -> list[tuple[Any, ...]]:
    return list(zip(result.precision, result.recall, result.f1_raw, result.flags, strict=True))


@lru_cache(maxsize=8)
def library(encoder: Encoder, *, repaired: bool = True, **settings: Any) -> bert_score.BERTScorer:
    folder = str(locate(encoder).folder)
    scorer = bert_score.BERTScorer(model_type=folder, num_layers=encoder.layer, device="cpu", **settings)
    if repaired and encoder.add_prefix_space:
        scorer._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    return scorer


@pytest.fixture(params=["minilm", "tiny_roberta"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    found: Encoder = request.getfixturevalue(request.param)
    return found


# --- against bert-score ---------------------------------------------------------------------------------------------


def test_equals_the_library_pair_by_pair(encoder: Encoder) -> None:
    pairs = [
        *some_pairs(12, seed=1),
        ("word " * 600, "word " * 599 + "end"),
        ("🙂", "edema"),
        ("a [SEP] b", "edema"),
        (" edema\n", "Edema."),
    ]
    found = score(pairs, encoder)
    scorer = library(encoder)
    expected = [[float(x) for x in scorer.score([candidate], [reference])] for candidate, reference in pairs]
    for row, (precision, recall, f1) in enumerate(expected):
        assert found.precision[row] == pytest.approx(precision, abs=1e-5)
        assert found.recall[row] == pytest.approx(recall, abs=1e-5)
        assert found.f1_raw[row] == pytest.approx(f1, abs=1e-5)


def test_library_lets_padding_leak_into_batches_and_ours_does_not(minilm: Encoder) -> None:
    pairs = some_pairs(16, seed=1)
    candidates, references = (list(side) for side in zip(*pairs, strict=True))
    scorer = library(minilm)
    batch = scorer.score(candidates, references)[2].tolist()
    alone = [float(scorer.score([c], [r])[2]) for c, r in pairs]
    assert max(abs(x - y) for x, y in zip(batch, alone, strict=True)) > 1e-4
    assert list(score(pairs, minilm).f1_raw) == pytest.approx(alone, abs=1e-5)


def test_library_ignores_the_prefix_space_and_ours_does_not(tiny_roberta: Encoder) -> None:
    scorer = library(tiny_roberta, repaired=False)
    assert bert_score.utils.sent_encode(scorer._tokenizer, "edema") != bert_score.utils.sent_encode(
        library(tiny_roberta)._tokenizer, "edema"
    )
    unrepaired = float(scorer.score(["edema"], ["lesion seen"])[2])
    assert abs((score([("edema", "lesion seen")], tiny_roberta).f1_raw[0] or 0.0) - unrepaired) > 1e-3
    undeclared = tiny_roberta.model_copy(update={"add_prefix_space": False})
    assert columns(score([("edema", "seen")], undeclared)) == columns(score([("edema", "seen")], tiny_roberta))


@pytest.mark.parametrize("pair", [("", "edema"), ("edema", ""), (" \n", "edema")])
def test_library_crashes_on_empty_text(minilm: Encoder, pair: Pair) -> None:
    with pytest.raises(AttributeError):
        library(minilm).score([pair[0]], [pair[1]])


@pytest.mark.parametrize(
    ("pair", "value", "flags"),
    [
        (("", "edema"), 0.0, ("empty_candidate",)),  # bert_score#107, #132, #62, #47
        (("\n ", "edema"), 0.0, ("empty_candidate",)),
        (("edema", ""), None, ("empty_reference",)),
        (("", ""), None, ("empty_candidate", "empty_reference")),
        (("[SEP]", "edema"), 0.0, ("empty_candidate",)),  # nothing but an end mark: no token carries weight
        (("\x00", "edema"), 0.0, ("empty_candidate",)),
        (("edema", "\u200b"), None, ("empty_reference",)),
    ],
)
def test_missing_text(minilm: Encoder, pair: Pair, value: float | None, flags: tuple[str, ...]) -> None:
    assert columns(score([pair], minilm)) == [(value, value, value, flags)]


def test_truncation_is_flagged(minilm: Encoder) -> None:
    long, other = "lesion " * 600, "lesion " * 599 + "cyst"
    result = score([(long, other), ("cyst", long), (long, "cyst"), ("word " * 510, "cyst")], minilm)
    assert result.f1_raw[0] == pytest.approx(1.0)  # the difference lies behind the limit: invisible, but flagged
    assert result.flags == (
        ("truncated_candidate", "truncated_reference"),
        ("truncated_reference",),
        ("truncated_candidate",),
        (),
    )


# --- rescaling ------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_rescaling_equals_the_library(tiny_roberta: Encoder) -> None:
    encoder = tiny_roberta.model_copy(update={"baseline": "roberta-large"})
    pairs = [*some_pairs(6, seed=2, longest=30), ("", "edema"), ("edema", "")]
    found = score(pairs, encoder, rescale=True)
    baseline = Path(bert_score.__file__).parent / "rescale_baseline" / "en" / "roberta-large.tsv"
    scorer = library(encoder, lang="en", rescale_with_baseline=True, baseline_path=str(baseline))
    assert found.f1_rescaled is not None
    for value, (candidate, reference) in zip(found.f1_rescaled[:6], pairs, strict=False):
        assert value == pytest.approx(float(scorer.score([candidate], [reference])[2]), abs=1e-5)
    assert found.f1_rescaled[6:] == (0.0, None)  # not (0 - b) / (1 - b)
    assert min(value for value in found.f1_rescaled if value is not None) < 0.0  # never clipped silently
    assert found.signature.endswith("|baseline:roberta-large")
    assert score(pairs, encoder).f1_rescaled is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "none is declared"),
        ({"baseline": "all-MiniLM-L6-v2"}, "ships no baseline"),
        ({"baseline": "roberta-large", "layer": 99}, "no layer 99"),
    ],
)
def test_a_missing_baseline_is_an_error(minilm: Encoder, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        score([("a", "b")], minilm.model_copy(update=change), rescale=True)


# --- independence ---------------------------------------------------------------------------------------------------


def test_same_bits_in_any_batch_order_and_company(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = some_pairs(14, seed=3)
    alone = [columns(score([pair], encoder))[0] for pair in pairs]
    for budget in (64, 300, 2048):
        monkeypatch.setattr(packed, "BATCH_TOKENS", budget)
        assert columns(score(pairs, encoder)) == alone
    assert columns(score(pairs[::-1], encoder))[::-1] == alone
    assert columns(score(pairs[7:11] * 2, encoder)) == alone[7:11] * 2


def test_same_bits_in_small_blocks_without_keeping_embeddings(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text for pair in some_pairs(3, seed=4) for text in pair]
    pairs = [(a, b) for a in texts for b in texts[:3]]
    expected = columns(score(pairs, minilm))
    monkeypatch.setattr(bert, "_BLOCK_CHARACTERS", 50)
    monkeypatch.setattr(bert, "_KEPT_BYTES", 0)
    assert columns(score(pairs, minilm)) == expected


def test_same_bits_on_any_number_of_threads(minilm: Encoder) -> None:
    pairs = some_pairs(10, seed=5)
    one, two, five = (columns(score(pairs, minilm, threads=threads)) for threads in (1, 2, 5))
    torch.set_num_threads(1)
    assert one == two == five


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=5))
def test_any_text_gets_a_value_or_a_flag(tiny_roberta: Encoder, pairs: list[Pair]) -> None:
    result = score(pairs, tiny_roberta)
    assert columns(result) == [columns(score([pair], tiny_roberta))[0] for pair in pairs]
    for value, flags in zip(result.f1_raw, result.flags, strict=True):
        assert (value is None) == ("empty_reference" in flags)
        assert value is None or -1.0 - 1e-9 <= value <= 1.0 + 1e-9


def test_odd_texts_do_not_crash(minilm: Encoder) -> None:
    odd = ["\ud800 edema", "\ud83d\ude42", "a\x00b", "[" * 50_000, "y" * 200_000, "lesion " * 20_000]
    result = score([(text, "edema") for text in odd], minilm)
    assert all(value is not None for value in result.f1_raw)
    assert result.flags[3] == ("truncated_candidate",)


# --- cost -----------------------------------------------------------------------------------------------------------


def test_texts_are_encoded_once(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[packed.Ids] = []
    encode = packed.TokenEncoder.encode

    def counted(self: packed.TokenEncoder, texts: Any) -> list[torch.Tensor]:
        seen.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(packed.TokenEncoder, "encode", counted)
    result = score([("a", "b"), ("b", "a"), ("a", "a"), ("c", "b"), ("a", "b")], minilm)
    assert result.encoded == len(seen) == len(set(seen)) == 3


def test_one_load_per_process(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    score([("a", "b")], minilm)

    def refuse(*_: Any) -> None:
        raise AssertionError("loaded again")

    monkeypatch.setattr(packed, "_load_model", refuse)
    assert score([("a", "new text")], minilm).encoded == 2


def refuse_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(packed, "load", load)


def test_a_warm_run_loads_nothing_and_gives_the_same(
    minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [*some_pairs(10, seed=6), ("", "edema"), ("edema " * 600, "edema")]
    with PairCache(tmp_path / "pairs.sqlite") as cache:
        cold = score(pairs, minilm, cache=cache)
        assert columns(score([*pairs[:5], ("new", pairs[0][1])], minilm, cache=cache))[:5] == columns(cold)[:5]
        refuse_to_load(monkeypatch)
        warm = score(pairs[::-1], minilm, cache=cache)
    assert columns(warm)[::-1] == columns(cold) == columns(score_without(monkeypatch, pairs, minilm))
    assert warm.encoded == 0 < cold.encoded
    assert warm.signature == cold.signature


def score_without(monkeypatch: pytest.MonkeyPatch, pairs: list[Pair], encoder: Encoder) -> bert.BertResult:
    monkeypatch.undo()
    return score(pairs, encoder)


def test_only_new_texts_reach_the_encoder(minilm: Encoder, tmp_path: Path) -> None:
    with PairCache(tmp_path / "pairs.sqlite") as cache:
        score([("a", "b"), ("c", "d")], minilm, cache=cache)
        assert score([("a", "b"), ("e", "b"), ("c", "d")], minilm, cache=cache).encoded == 2  # "e" and its reference


@pytest.mark.parametrize("change", [{"layer": 5}, {"max_tokens": 256}])
def test_other_settings_miss(minilm: Encoder, tmp_path: Path, change: dict[str, Any]) -> None:
    with PairCache(tmp_path / "pairs.sqlite") as cache:
        first = score([("edema", "cyst")], minilm, cache=cache)
        other = score([("edema", "cyst")], minilm.model_copy(update=change), cache=cache)
        assert other.encoded == 2
        assert other.signature != first.signature
        assert score([("edema", "cyst")], minilm, cache=cache, rescale=False).encoded == 0


def test_a_killed_run_keeps_its_finished_blocks(
    minilm: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bert, "_BLOCK_CHARACTERS", 40)
    pairs = some_pairs(8, seed=7)
    put: Callable[[PairCache, Mapping[bytes, Value]], None] = PairCache.put_many
    blocks = 0

    def dying(self: PairCache, values: Mapping[bytes, Value]) -> None:
        nonlocal blocks
        blocks += 1
        if blocks == 3:
            raise KeyboardInterrupt
        put(self, values)

    monkeypatch.setattr(PairCache, "put_many", dying)
    with PairCache(tmp_path / "pairs.sqlite") as cache:
        with pytest.raises(KeyboardInterrupt):
            score(pairs, minilm, cache=cache)
        monkeypatch.setattr(PairCache, "put_many", put)
        kept = len(cache)
        assert 2 <= kept < len(pairs)
        assert columns(score(pairs, minilm, cache=cache)) == columns(score(pairs, minilm))


def test_a_warm_run_does_not_import_torch(minilm: Encoder, tmp_path: Path) -> None:
    path = tmp_path / "pairs.sqlite"
    with PairCache(path) as cache:
        score([("edema", "cyst")], minilm, cache=cache)
    program = (
        "import sys\nfrom pathlib import Path\nfrom slicewise.params import Encoder\n"
        "from slicewise.score import bert\nfrom slicewise.score.pair_cache import PairCache\n"
        "encoder = Encoder.model_validate_json(sys.argv[2])\n"
        "with PairCache(Path(sys.argv[1])) as cache:\n"
        "    result = bert.score_pairs([('edema', 'cyst'), ('', 'x')], encoder=encoder, threads=1, cache=cache, "
        "rescale=False)\n"
        "assert result.encoded == 0\n"
        "assert not {'torch', 'transformers', 'pandas'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path), minilm.model_dump_json()], check=True)


def test_bf16_is_a_named_setting(minilm: Encoder) -> None:
    pairs = some_pairs(6, seed=8)
    exact, rough = score(pairs, minilm), score(pairs, minilm, precision="bf16")
    assert "|precision:bf16" in rough.signature
    deviation = max(abs((a or 0.0) - (b or 0.0)) for a, b in zip(exact.f1_raw, rough.f1_raw, strict=True))
    assert 0.0 < deviation < 2e-2
