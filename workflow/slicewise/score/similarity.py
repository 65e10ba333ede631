"""Cosine similarity of sentence embeddings, as sentence-transformers defines it.

The embedding of a text is the mean of its token embeddings (special tokens included, at most ``max_tokens``); for
all-MiniLM-L6-v2 at 256 tokens this is ``SentenceTransformer.encode`` to about 1e-7. Distinct texts are encoded once,
pairs in the cache not at all, and when all are cached no model is loaded. An empty text would have an embedding like
any other (two special tokens); here an empty candidate scores 0.0 and an empty reference ``None``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from slicewise.errors import UserError
from slicewise.params import Encoder
from slicewise.score.encoder import Engine, Located, Precision, locate
from slicewise.score.pair_cache import PairCache, pair_keys
from slicewise.score.text import EMPTY_REFERENCE, pair_flags

if TYPE_CHECKING:
    import torch

_METRIC = "cosine-1"  # raised when the values that this module gives change
_BLOCK_TEXTS = 512

Pair = tuple[str, str]


def signature(encoder: Encoder, precision: Precision = "fp32", engine: Engine = "torch") -> str:
    """Metric, encoder, token limit and precision on one line. Raises as :func:`cosine_pairs`."""
    return locate(encoder).signature(_METRIC, precision, engine, None)


def cosine_pairs(
    pairs: Sequence[Pair],
    *,
    encoder: Encoder,
    threads: int,
    cache: PairCache | None,
    precision: Precision = "fp32",
    engine: Engine = "torch",
) -> list[float | None]:
    """Cosine of ``(candidate, reference)`` pairs, in [-1, 1], not clipped.

    Args:
        pairs: Texts; repeated pairs and texts cost nothing.
        encoder: A sentence encoder with mean pooling; its ``layer`` is ignored, the last one counts.
        threads: Threads of torch.
        cache: Where results are kept between runs; ``None`` keeps none.
        precision: ``fp32`` or ``bf16``.
        engine: ``torch``, or ``openvino`` when it is installed.

    Returns:
        One exact float per pair, in order; 0.0 for an empty candidate, ``None`` for an empty reference. Writers round
        to 6 decimals.

    Raises:
        UserError: The encoder cannot be found or loaded, or pools otherwise than by the mean.
    """
    located = locate(encoder)
    distinct = dict.fromkeys(pairs)
    values: dict[Pair, float | None] = {
        pair: None if EMPTY_REFERENCE in flags else 0.0 for pair in distinct if (flags := pair_flags(*pair))
    }
    keyed = [pair for pair in distinct if pair not in values]
    keys = dict(zip(keyed, pair_keys(located.cache_signature(_METRIC, precision, engine, None), keyed), strict=True))
    stored = cache.get_many(list(keys.values())) if cache is not None else {}
    values.update((pair, stored[key]["cosine"]) for pair, key in keys.items() if key in stored)
    missing = [pair for pair in keyed if pair not in values]
    if missing:
        for block in _score(missing, located, threads, precision, engine):
            values.update(block)
            if cache is not None:
                cache.put_many({keys[pair]: {"cosine": value} for pair, value in block.items()})
    return [values[pair] for pair in pairs]


def _score(
    pairs: Sequence[Pair], located: Located, threads: int, precision: Precision, engine: Engine
) -> Iterator[dict[Pair, float]]:
    """Yield cosines block by block, so that a killed run has kept what it finished."""
    from slicewise.score import packed

    _check_pooling(located)
    encoder = packed.load(located, None, precision, threads, engine)
    vectors: dict[str, torch.Tensor] = {}
    uses = Counter(text for pair in pairs for text in pair)
    for start in range(0, len(pairs), _BLOCK_TEXTS):
        block = pairs[start : start + _BLOCK_TEXTS]
        new = [text for text in dict.fromkeys(text for pair in block for text in pair) if text not in vectors]
        tokens = encoder.tokenize([packed.clean(text) for text in new])
        hidden = encoder.encode([t.ids for t in tokens])
        vectors.update((text, _unit(h.double().mean(dim=0))) for text, h in zip(new, hidden, strict=True))
        yield {pair: float((vectors[pair[0]] * vectors[pair[1]]).sum()) for pair in block}
        uses.subtract(text for pair in block for text in pair)
        vectors = {text: vector for text, vector in vectors.items() if uses[text] > 0}


def _unit(vector: torch.Tensor) -> torch.Tensor:
    length: torch.Tensor = vector.norm()
    return vector / length


def _check_pooling(located: Located) -> None:
    path = located.folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    modes = {
        name.removeprefix("pooling_mode_")
        for name, on in config.items()
        if name.startswith("pooling_mode_") and on is True
    }
    modes |= {f"{config['pooling_mode']}_tokens"} if "pooling_mode" in config else set()
    if modes != {"mean_tokens"}:
        raise UserError(
            f"encoder '{located.encoder.name}': pools by {sorted(modes)}, expected mean_tokens: "
            "name a sentence encoder with mean pooling."
        )
