"""Finding, checking and hashing encoders, and the limits of a loaded one."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import get_args

import pytest
from slicewise.errors import UserError
from slicewise.params import Encoder
from slicewise.score import encoder as encoders
from slicewise.score import packed
from slicewise.score.encoder import Engine, locate

ENGINES: tuple[Engine, ...] = get_args(Engine)


def copy_of(encoder: Encoder, folder: Path) -> Encoder:
    shutil.copytree(locate(encoder).folder, folder)
    return Encoder(source="path", name=str(folder), layer=encoder.layer, max_tokens=encoder.max_tokens)


def test_the_package_carries_the_published_weights(minilm: Encoder) -> None:
    located = locate(minilm)
    assert (located.folder / "model.safetensors").is_file()
    assert len(located.digest) == 64


def test_the_digest_is_of_contents_not_of_paths(tiny_roberta: Encoder, tmp_path: Path) -> None:
    same = locate(copy_of(tiny_roberta, tmp_path / "same"))
    assert same.digest == locate(tiny_roberta).digest
    (tmp_path / "same" / "README.md").write_text("x", encoding="utf-8")
    changed = copy_of(same.encoder, tmp_path / "changed")
    assert locate(changed).digest == same.digest  # a readme changes no score
    merges = tmp_path / "other" / "tokenizer_config.json"
    shutil.copytree(same.folder, merges.parent)
    merges.write_text(merges.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert locate(changed.model_copy(update={"name": str(merges.parent)})).digest != same.digest


def test_signatures_hold_no_path_and_keys_hold_the_versions(tiny_roberta: Encoder) -> None:
    located = locate(tiny_roberta)
    assert str(located.folder) not in located.cache_signature("e", "fp32", "torch", 2)
    assert "torch:" in located.cache_signature("e", "fp32", "torch", 2)
    assert "torch:" not in located.signature("e", "fp32", "torch", 2)


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (Encoder(source="package", name="no-such-encoder", layer=1), "pip install no-such-encoder"),
        (Encoder(source="package", name="pytest", layer=1), "0 folders"),
        (Encoder(source="path", name="no/such/folder", layer=1), "no config.json"),
        (Encoder(source="hub", name="nobody/nothing", revision="0" * 40, layer=1), "HF_HUB_OFFLINE"),
    ],
)
def test_missing_encoders_are_said_plainly(
    encoder: Encoder, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=message):
        locate(encoder)


def test_other_weights_in_a_known_package_are_refused(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(encoders.KNOWN_WEIGHTS, minilm.name, "0" * 64)
    with pytest.raises(UserError, match="reinstall"):
        locate(minilm)


def test_weights_must_be_safetensors(tiny_roberta: Encoder, tmp_path: Path) -> None:
    encoder = copy_of(tiny_roberta, tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").unlink()
    with pytest.raises(UserError, match="safetensors"):
        locate(encoder)


@pytest.mark.parametrize(
    ("change", "message"), [({"layer": 4}, "layer 4 .* has 3"), ({"max_tokens": 129}, "room for 128")]
)
def test_limits_of_the_model(tiny_roberta: Encoder, change: dict[str, int], message: str) -> None:
    encoder = tiny_roberta.model_copy(update=change)
    with pytest.raises(UserError, match=message):
        packed.load(locate(encoder), encoder.layer, "fp32", 1)


def test_cut_at_a_layer_equals_that_hidden_state(tiny_roberta: Encoder) -> None:
    import torch
    import transformers

    located = locate(tiny_roberta)
    (tokens,) = packed.load(located, 2, "fp32", 1).tokenize(["edema in the left frontal lobe"])
    (found,) = packed.load(located, 2, "fp32", 1).encode([tokens.ids])
    model = transformers.AutoModel.from_pretrained(located.folder).eval()
    with torch.inference_mode():
        states = model(torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
    assert torch.allclose(found, states[2][0], atol=1e-5)
    assert not torch.allclose(found, states[3][0], atol=1e-2)


def test_architectures_without_packing_run_alone_and_agree(tmp_path: Path, minilm: Encoder) -> None:
    import torch
    import transformers

    folder = tmp_path / "mpnet"
    shutil.copytree(locate(minilm).folder, folder, ignore=shutil.ignore_patterns("*.safetensors", "1_Pooling"))
    torch.manual_seed(1)
    config = transformers.MPNetConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    transformers.MPNetModel(config).save_pretrained(folder)
    encoder = packed.load(locate(Encoder(source="path", name=str(folder), layer=2)), 2, "fp32", 1)
    tokens = encoder.tokenize(["edema", "no mass effect seen"])
    together = encoder.encode([t.ids for t in tokens])
    alone = [encoder.encode([t.ids])[0] for t in tokens]
    assert all(torch.equal(a, b) for a, b in zip(together, alone, strict=True))


def test_openvino_agrees_or_says_how_to_install_it(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    located = locate(minilm)
    if importlib.util.find_spec("openvino") is None:
        with pytest.raises(UserError, match="pip install"):
            packed.load(located, 2, "fp32", 1, "openvino")
        return
    exact, other = (packed.load(located, 2, "fp32", 1, engine) for engine in ENGINES)
    ids = [tokens.ids for tokens in exact.tokenize(["", "edema", "no mass effect " * 30, "cyst " * 600])]
    for a, b in zip(exact.encode(ids), other.encode(ids), strict=True):
        assert a.shape == b.shape
        assert torch.allclose(a, b, atol=5e-5)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UserError, match="pip install"):
        packed.load(located, 1, "fp32", 1, "openvino")
