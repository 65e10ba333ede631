"""Token embeddings of texts, the same to the last bit whatever the batch.

Padding a batch changes results: kernels and sums depend on the padded shape, so a text's values move in the last bits
with its neighbours (bert_score#152, Unbabel/COMET#66). Here nothing is padded. The texts of a batch stand one behind
the other in a single row of tokens; every linear layer sees that row, and attention runs within each text, texts of
equal length together. Rows of a matrix product do not depend on the number of rows once there are more than a few, so
a batch is filled up to ``MIN_ROWS`` and to a multiple of ``ROW_STEP`` rows with tokens that are thrown away.

Measured with torch 2.13 (MKL, AVX-512): a text's bits are the same alone and in any batch, in any order, on 1 to 32
threads, in fp32 and bf16; and it is faster than padded batches, since no work is spent on padding. What a BLAS does
is no promise, so a test compares bits, and written results are rounded to 6 decimals on top.

Architectures other than the BERT family are run one text at a time: slower, equally exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import transformers
from torch.nn import functional

from slicewise.errors import UserError
from slicewise.score.encoder import Engine, Located, Precision

MIN_ROWS = 256
ROW_STEP = 16
BATCH_TOKENS = 2048
_PACKABLE = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
_PREFIX_SPACE = frozenset({"roberta", "gpt2"})
_ATTENTION = "slicewise_packed"

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """One tokenised text.

    Attributes:
        ids: Token ids with the special tokens, at most the encoder's ``max_tokens``.
        truncated: True when the text was longer.
    """

    ids: Ids
    truncated: bool


def clean(text: str) -> str:
    """Strip a text as bert-score does, and make it encodable: surrogate pairs are joined, lone ones become U+FFFD."""
    return text.strip().encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class TokenEncoder:
    """A loaded model cut after one layer, with its tokenizer.

    Args:
        located: The encoder's files.
        layer: Number of transformer layers to load and run.
        precision: ``fp32``, or ``bf16`` (faster, deviates in the third decimal).

    Raises:
        UserError: The layer or the token limit exceeds the model's, or the tokenizer does not do what is needed.
    """

    def __init__(self, located: Located, layer: int, precision: Precision) -> None:
        encoder = located.encoder
        config = _load_config(located)
        if layer > config.num_hidden_layers:
            raise UserError(
                f"encoder '{encoder.name}': layer {layer} is asked for, the model has {config.num_hidden_layers}."
            )
        config.num_hidden_layers = layer  # the layers above are neither loaded nor run
        self.max_tokens = encoder.max_tokens
        self._tokenizer = _load_tokenizer(located, config.model_type)
        self._model = _load_model(located, config, precision)
        self._packable = config.model_type in _PACKABLE
        if self._packable:
            self._model.set_attn_implementation(_ATTENTION)
        self.width = int(config.hidden_size)
        self._unscored = {self._tokenizer.cls_token_id, self._tokenizer.sep_token_id}
        self._check_positions(encoder.name)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokenise cleaned texts; special tokens included, truncated on the right."""
        if not texts:
            return []
        batch = self._tokenizer(
            list(texts), truncation=True, max_length=self.max_tokens, padding=False, return_attention_mask=False
        )
        return [Tokens(tuple(encoding.ids), bool(encoding.overflowing)) for encoding in batch.encodings]

    def scored(self, ids: Ids) -> torch.Tensor:
        """Float64 weights of shape (tokens,): 0 for the sequence's own start and end tokens, 1 for all others."""
        return torch.tensor([float(i not in self._unscored) for i in ids], dtype=torch.float64)

    @torch.inference_mode()
    def encode(self, texts: Sequence[Ids]) -> list[torch.Tensor]:
        """Embed tokenised texts.

        Args:
            texts: Token ids of each text, at least one token each.

        Returns:
            One float32 tensor of shape (tokens, width) per text, in order. A text's values depend on nothing else.
        """
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found: list[torch.Tensor | None] = [None] * len(texts)
        for batch in _batches(order, texts, BATCH_TOKENS if self._packable else 1):
            hidden = self._forward([texts[i] for i in batch])
            start = 0
            for i in batch:
                stop = start + len(texts[i])
                found[i] = hidden[start:stop].clone()  # a view would keep the whole batch alive
                start = stop
        return [tensor for tensor in found if tensor is not None]

    def _forward(self, batch: Sequence[Ids]) -> torch.Tensor:
        if not self._packable:
            return self._run(torch.tensor([batch[0]]), {})
        total = sum(map(len, batch))
        filler = max(MIN_ROWS, -(-total // ROW_STEP) * ROW_STEP) - total
        ids = torch.tensor([[token for text in batch for token in text] + [0] * filler])
        positions = [position for text in batch for position in self._positions(text)] + [0] * filler
        lengths = [len(text) for text in batch] + [1] * filler
        return self._run(ids, {"position_ids": torch.tensor([positions]), "packed_runs": _runs(lengths)})

    def _run(self, ids: torch.Tensor, extra: dict[str, Any]) -> torch.Tensor:
        hidden: torch.Tensor = self._model(input_ids=ids, **extra).last_hidden_state
        return hidden[0].float()

    def _positions(self, ids: Ids) -> list[int]:
        """Position ids as the model makes them for this text alone (RoBERTa starts after the padding id)."""
        embeddings = self._model.embeddings
        if not hasattr(embeddings, "create_position_ids_from_input_ids"):
            return list(range(len(ids)))
        made = embeddings.create_position_ids_from_input_ids(torch.tensor([ids]), embeddings.padding_idx)
        return [int(position) for position in made[0]]

    def _check_positions(self, name: str) -> None:
        limit = getattr(self._model.config, "max_position_embeddings", None)
        if limit is None or not self._packable:
            return
        first = self._positions((self._tokenizer.cls_token_id,))[0]
        if first + self.max_tokens > limit:
            raise UserError(
                f"encoder '{name}': max_tokens is {self.max_tokens}, the model has room for {limit - first}: lower it."
            )


def load(
    located: Located, layer: int | None, precision: Precision, threads: int, engine: Engine = "torch"
) -> TokenEncoder:
    """Load an encoder once per process, and pin torch to ``threads`` threads; ``layer=None`` runs all layers."""
    torch.set_num_threads(threads)
    depth = layer or int(_load_config(located).num_hidden_layers)
    if engine == "openvino":
        return _loaded_openvino(located, depth, precision, threads)
    return _loaded(located, depth, precision)


@lru_cache(maxsize=4)
def _loaded(located: Located, layer: int, precision: Precision) -> TokenEncoder:
    return TokenEncoder(located, layer, precision)


@lru_cache(maxsize=4)
def _loaded_openvino(located: Located, layer: int, precision: Precision, threads: int) -> TokenEncoder:
    from slicewise.score.openvino_encoder import OpenVinoEncoder

    return OpenVinoEncoder(located, layer, precision, threads)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run small products on one thread: split over several, their last bits would depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    packed_runs: Sequence[tuple[int, int]],
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention within each text of a packed row, in the shape of a transformers attention function.

    Args:
        module: The attention layer; unused.
        query: Shape (1, heads, tokens, head width); ``key`` and ``value`` likewise.
        key: As ``query``.
        value: As ``query``.
        attention_mask: Unused: no text sees another, and there is no padding.
        packed_runs: ``(number of texts, tokens of each)`` in the order of the row, covering all tokens.
        scaling: Factor of the dot products.

    Returns:
        Tensor of shape (1, tokens, heads, head width), and no weights.
    """
    _batch, heads, tokens, width = query.shape
    out = query.new_empty((1, tokens, heads, width))
    start = 0
    for count, length in packed_runs:
        stop = start + count * length
        q, k, v = (x[0, :, start:stop].view(heads, count, length, width).transpose(0, 1) for x in (query, key, value))
        mixed = functional.scaled_dot_product_attention(q, k, v, scale=scaling)
        out[0, start:stop] = mixed.transpose(1, 2).reshape(count * length, heads, width)
        start = stop
    return out, None


transformers.AttentionInterface.register(_ATTENTION, packed_attention)


def _batches(order: Sequence[int], texts: Sequence[Ids], budget: int) -> Iterator[list[int]]:
    """Cut texts in order of length into batches of at most ``budget`` tokens; a longer text is a batch by itself."""
    batch: list[int] = []
    total = 0
    for i in order:
        if batch and total + len(texts[i]) > budget:
            yield batch
            batch, total = [], 0
        batch.append(i)
        total += len(texts[i])
    if batch:
        yield batch


def _runs(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Run-length encode lengths as ``(count, length)``."""
    runs: list[tuple[int, int]] = []
    for length in lengths:
        count = runs.pop()[0] if runs and runs[-1][1] == length else 0
        runs.append((count + 1, length))
    return runs


def _load_config(located: Located) -> Any:
    return transformers.AutoConfig.from_pretrained(located.folder, local_files_only=True)


def _load_tokenizer(located: Located, model_type: str) -> Any:
    name = located.encoder.name
    prefix = located.encoder.add_prefix_space or model_type in _PREFIX_SPACE
    extra = {"add_prefix_space": True} if prefix else {}
    tokenizer = transformers.AutoTokenizer.from_pretrained(located.folder, local_files_only=True, **extra)
    if not tokenizer.is_fast:
        raise UserError(f"encoder '{name}': has no fast tokenizer; expected a tokenizer.json among its files.")
    first = [tokenizer.encode(text, add_special_tokens=False)[:1] for text in ("edema", " edema")]
    if prefix and first[0] != first[1]:
        raise UserError(
            f"encoder '{name}': its tokenizer ignores add_prefix_space, so scores would differ from published ones."
        )
    return tokenizer


def _load_model(located: Located, config: Any, precision: Precision) -> Any:
    with quiet():
        model = transformers.AutoModel.from_pretrained(
            located.folder,
            config=config,
            dtype=torch.bfloat16 if precision == "bf16" else torch.float32,
            local_files_only=True,
        )
    if hasattr(model, "pooler"):
        model.pooler = None  # unused, and absent from many checkpoints
    return model.eval()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from reporting weights that are left out on purpose."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
