"""BERTScore of text pairs (Zhang et al. 2020): greedy matching of contextual token embeddings.

The definition is bert-score's: texts are stripped; precision is the mean over the candidate's tokens of the best
cosine with any token of the reference, recall the reverse, F1 their harmonic mean; the sequence's own start and end
tokens may be matched but carry no weight; no idf. Against ``bert_score.BERTScorer`` called pair by pair with a
repaired tokenizer the values agree within 1e-5. Where bert-score 0.3.13 goes wrong, this does not:

- Padding never reaches a score. In bert-score's batches a padded position has similarity 0, which beats a negative
  best match; its values move with the neighbours by up to 1e-3.
- The first word of a text is tokenised like any other under RoBERTa; recent transformers ignore bert-score's request.
- An empty candidate scores 0.0, raw and rescaled (rescaling a raw 0 would give -4.9); an empty reference gives
  ``None``. Both are flagged. bert-score raises under transformers 5.
- A text beyond the token limit is flagged; a missing baseline is an error.

Cost: distinct texts are encoded once, however many models and items share them, and pairs in the cache not at all;
when every pair is cached neither torch nor the model is loaded. Pairs are worked off reference by reference in
blocks, each block is stored as soon as it is scored, and embeddings are dropped after their last use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slicewise.params import Encoder
from slicewise.score.encoder import Baseline, Engine, Located, Precision, load_baseline, locate
from slicewise.score.pair_cache import PairCache, Value, pair_keys
from slicewise.score.text import EMPTY_CANDIDATE, EMPTY_REFERENCE, pair_flags

if TYPE_CHECKING:
    import torch

    from slicewise.score.packed import TokenEncoder, Tokens

TRUNCATED_CANDIDATE = "truncated_candidate"
TRUNCATED_REFERENCE = "truncated_reference"

_METRIC = "bertscore-1"  # raised when the values that this module gives change
_BLOCK_CHARACTERS = 100_000
_KEPT_BYTES = 256 << 20

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class BertResult:
    """BERTScore of pairs, column by column in the order of the pairs.

    Attributes:
        precision: Raw precision, in [-1, 1]; ``None`` where the reference is empty, in every column.
        recall: Raw recall.
        f1_raw: Raw F1.
        f1_rescaled: F1 rescaled with the baseline, not clipped; ``None`` when rescaling was not asked for.
        flags: Of ``empty_candidate``, ``empty_reference``, ``truncated_candidate``, ``truncated_reference``.
        signature: Engine, encoder, layer, token limit, precision and baseline, on one line.
        encoded: Number of texts that the encoder embedded; 0 when everything was cached.
    """

    precision: tuple[float | None, ...]
    recall: tuple[float | None, ...]
    f1_raw: tuple[float | None, ...]
    f1_rescaled: tuple[float | None, ...] | None
    flags: tuple[tuple[str, ...], ...]
    signature: str
    encoded: int


def score_pairs(
    pairs: Sequence[Pair],
    *,
    encoder: Encoder,
    threads: int,
    cache: PairCache | None,
    rescale: bool,
    precision: Precision = "fp32",
    engine: Engine = "torch",
) -> BertResult:
    """Score ``(candidate, reference)`` pairs.

    Args:
        pairs: Texts; repeated pairs and texts cost nothing.
        encoder: The encoder; its ``layer`` is the one whose embeddings are matched.
        threads: Threads of torch.
        cache: Where results are kept between runs; ``None`` keeps none.
        rescale: Also rescale F1 with the encoder's baseline.
        precision: ``fp32``, or ``bf16``: about 1.8 times as fast on a CPU that has it, F1 off by up to 2e-3.
        engine: ``torch``, or ``openvino`` when it is installed: about a fifth faster, equal to 6 decimals in the main.

    Returns:
        Raw values as exact floats; writers round to 6 decimals.

    Raises:
        UserError: The encoder cannot be found or loaded, or has no baseline and ``rescale`` is set.
    """
    baseline = load_baseline(encoder) if rescale else None
    located = locate(encoder)
    signature = located.signature(_METRIC, precision, engine, encoder.layer)
    distinct = dict.fromkeys(pairs)
    values: dict[Pair, Value] = {pair: _without_text(pair) for pair in distinct if pair_flags(*pair)}
    encoded = 0
    keyed = [pair for pair in distinct if pair not in values]
    keys = dict(
        zip(keyed, pair_keys(located.cache_signature(_METRIC, precision, engine, encoder.layer), keyed), strict=True)
    )
    stored = cache.get_many(list(keys.values())) if cache is not None else {}
    values.update((pair, stored[key]) for pair, key in keys.items() if key in stored)
    missing = [pair for pair in keyed if pair not in values]
    if missing:
        scorer = _Scorer(located, threads, precision, engine)
        for block in scorer.score(missing):
            values.update(block)
            if cache is not None:
                cache.put_many({keys[pair]: value for pair, value in block.items()})
        encoded = scorer.encoded
    return _result([values[pair] for pair in pairs], signature, baseline, encoded)


def _result(values: Sequence[Value], signature: str, baseline: Baseline | None, encoded: int) -> BertResult:
    rescaled = None
    if baseline is not None:
        rescaled = tuple(_rescaled(value, baseline) for value in values)
        signature += f"|baseline:{baseline.name}"
    return BertResult(
        precision=tuple(value["p"] for value in values),
        recall=tuple(value["r"] for value in values),
        f1_raw=tuple(value["f"] for value in values),
        f1_rescaled=rescaled,
        flags=tuple(tuple(value["flags"]) for value in values),
        signature=signature,
        encoded=encoded,
    )


def _rescaled(value: Value, baseline: Baseline) -> float | None:
    if value["f"] is None:
        return None
    return 0.0 if EMPTY_CANDIDATE in value["flags"] else baseline.rescale_f1(value["f"])


def _without_text(pair: Pair) -> Value:
    flags = list(pair_flags(*pair))
    score = None if EMPTY_REFERENCE in flags else 0.0
    return {"p": score, "r": score, "f": score, "flags": flags}


class _Scorer:
    """Encodes and matches pairs in blocks, keeping embeddings only while they have uses left."""

    def __init__(self, located: Located, threads: int, precision: Precision, engine: Engine) -> None:
        from slicewise.score import packed

        self._clean = packed.clean
        self._one_thread = packed.one_thread
        self._encoder: TokenEncoder = packed.load(located, located.encoder.layer, precision, threads, engine)
        self._embedded: dict[str, tuple[Tokens, torch.Tensor]] = {}
        self._uses: Counter[str] = Counter()
        self.encoded = 0

    def score(self, pairs: Iterable[Pair]) -> Iterator[dict[Pair, Value]]:
        """Yield the values of pairs, block by block."""
        by_reference: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_reference.setdefault(pair[1], []).append(pair)
            self._uses.update(pair)
        for block in _blocks(pair for group in by_reference.values() for pair in group):
            self._embed(block)
            with self._one_thread():
                values = {pair: self._match(pair) for pair in block}
            yield values
            self._forget(block)

    def _embed(self, block: Sequence[Pair]) -> None:
        new = [text for text in dict.fromkeys(text for pair in block for text in pair) if text not in self._embedded]
        tokens = self._encoder.tokenize([self._clean(text) for text in new])
        hidden = self._encoder.encode([t.ids for t in tokens])
        self._embedded.update((text, (t, h)) for text, t, h in zip(new, tokens, hidden, strict=True))
        self.encoded += len(new)

    def _forget(self, block: Sequence[Pair]) -> None:
        """Drop embeddings without uses left; over the memory limit drop all: encoding again gives the same bits."""
        self._uses.subtract(text for pair in block for text in pair)
        self._embedded = {text: kept for text, kept in self._embedded.items() if self._uses[text] > 0}
        if sum(hidden.nbytes for _, hidden in self._embedded.values()) > _KEPT_BYTES:
            self._embedded.clear()

    def _match(self, pair: Pair) -> Value:
        (candidate, hidden_c), (reference, hidden_r) = (self._embedded[text] for text in pair)
        flags = [
            flag
            for flag, tokens in ((TRUNCATED_CANDIDATE, candidate), (TRUNCATED_REFERENCE, reference))
            if tokens.truncated
        ]
        weight_c, weight_r = self._encoder.scored(candidate.ids), self._encoder.scored(reference.ids)
        total_c, total_r = float(weight_c.sum()), float(weight_r.sum())
        flags += [flag for flag, total in ((EMPTY_CANDIDATE, total_c), (EMPTY_REFERENCE, total_r)) if not total]
        if not total_r:
            return {"p": None, "r": None, "f": None, "flags": flags}
        if not total_c:
            return {"p": 0.0, "r": 0.0, "f": 0.0, "flags": flags}
        cosine = _unit(hidden_c) @ _unit(hidden_r).T
        precision = float(cosine.amax(dim=1) @ weight_c) / total_c
        recall = float(cosine.amax(dim=0) @ weight_r) / total_r
        total = precision + recall
        return {"p": precision, "r": recall, "f": 2 * precision * recall / total if total else 0.0, "flags": flags}


def _unit(hidden: torch.Tensor) -> torch.Tensor:
    """Rows scaled to length 1, in float64: shape (tokens, width)."""
    wide = hidden.double()
    lengths: torch.Tensor = wide.norm(dim=1, keepdim=True)
    return wide / lengths


def _blocks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Cut pairs into blocks of bounded text; a pair is never cut."""
    block: list[Pair] = []
    size = 0
    for pair in pairs:
        block.append(pair)
        size += len(pair[0]) + (len(pair[1]) if len(block) == 1 or block[-2][1] != pair[1] else 0)
        if size >= _BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
