"""The Hugging Face Hub: listing a dataset at a commit, fetching one file whole, and what its errors mean.

``HF_ENDPOINT`` (a mirror) and ``HF_TOKEN`` are respected. huggingface_hub is imported when a fetch begins.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewise.errors import UserError

if TYPE_CHECKING:
    from tqdm import tqdm

DEFAULT_ENDPOINT = "https://huggingface.co"
TRIES = 3


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as the Hub lists it.

    Attributes:
        path: Path in the repository.
        size: Bytes.
        blob_id: Git object id of the file, or of its pointer when it is a large file.
        sha256: SHA-256 of a large file; ``None`` for a small one, which the git object id covers.
    """

    path: str
    size: int
    blob_id: str
    sha256: str | None


def endpoint() -> str:
    """The Hub's address: ``HF_ENDPOINT`` or the public one."""
    return os.environ.get("HF_ENDPOINT", DEFAULT_ENDPOINT).rstrip("/")


def listing(repo: str, revision: str) -> tuple[str, list[HubFile]]:
    """The commit that a revision of a dataset stands for, and its files sorted by path."""
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    api = HfApi(endpoint=endpoint(), library_name="slicewise")
    commit = api.dataset_info(repo, revision=revision).sha
    if commit is None:
        raise UserError(
            f"{endpoint()}: named no commit for '{repo}' at '{revision}'; expected a Hub: check HF_ENDPOINT."
        )
    tree = api.list_repo_tree(repo, recursive=True, revision=commit, repo_type="dataset")
    files = [
        HubFile(f.path, f.size, f.blob_id, f.lfs.sha256 if f.lfs else None) for f in tree if isinstance(f, RepoFile)
    ]
    outside = [f.path for f in files if f.path.startswith("/") or ".." in Path(f.path).parts]
    if outside:
        raise UserError(f"{endpoint()}: '{repo}' lists paths outside its own folder, {outside[:3]}; it is not fetched.")
    return commit, sorted(files, key=lambda f: f.path)


def is_intact(path: Path, file: HubFile) -> bool:
    """Whether a file is there with the size and the checksum that the Hub lists."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    if file.sha256 is not None:
        digest = hashlib.sha256()
        expected = file.sha256
    else:
        digest = hashlib.sha1(f"blob {file.size}\0".encode(), usedforsecurity=False)  # a git object id
        expected = file.blob_id
    with path.open("rb") as handle:
        while piece := handle.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest() == expected


@contextmanager
def progress(files: Sequence[HubFile]) -> Iterator[tqdm[Any]]:
    """A bar over the bytes of all files, on a terminal only."""
    from tqdm import tqdm

    total = sum(file.size for file in files)
    with tqdm(total=total, unit="B", unit_scale=True, desc=f"{len(files)} files", disable=None) as bar:
        yield bar


def download(repo: str, commit: str, file: HubFile, staging: Path, target: Path, bar: tqdm[Any]) -> None:
    """Fetch one file into ``staging``, check it and move it to ``target``.

    Raises:
        UserError: The checksum is wrong at every try.
    """
    import httpx2
    from huggingface_hub import hf_hub_download

    for attempt in range(1, TRIES + 1):
        try:
            fetched = Path(
                hf_hub_download(
                    repo,
                    file.path,
                    repo_type="dataset",
                    revision=commit,
                    local_dir=staging,
                    endpoint=endpoint(),
                    library_name="slicewise",
                    tqdm_class=_forwarding(bar),
                )
            )
        except httpx2.ReadError:  # a reset connection, which huggingface_hub does not resume by itself
            if attempt == TRIES:
                raise
            continue
        if is_intact(fetched, file):
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(fetched, target)
            return
        fetched.unlink()
    raise UserError(
        f"{file.path}: the checksum of the downloaded file is not the one that {endpoint()} lists for '{repo}' at "
        f"{commit[:12]}, {TRIES} times; a proxy or mirror changes files: try another network or HF_ENDPOINT."
    )


def _forwarding(bar: tqdm[Any]) -> type[tqdm[Any]]:
    """A bar that shows nothing and passes its bytes on to the bar over all files."""
    from tqdm import tqdm

    class Forwarding(tqdm):  # type: ignore[type-arg]
        def __init__(self, **_: Any) -> None:
            super().__init__(disable=True)

        def update(self, n: float | None = 1) -> bool | None:
            return bar.update(n)

    return Forwarding


@contextmanager
def user_errors(repo: str, revision: str, setting: str) -> Iterator[None]:
    """Turn what huggingface_hub raises into one sentence that says what to do.

    Raises:
        UserError: In place of every error of the Hub, the network or the disk.
    """
    import httpx2
    from huggingface_hub.errors import FileMetadataError, HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except (httpx2.HTTPError, OfflineModeIsEnabled, FileMetadataError, HFValidationError, OSError) as error:
        raise UserError(_explain(error, repo, revision, setting)) from error


def _explain(error: BaseException, repo: str, revision: str, setting: str) -> str:
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        return _explain(error.__cause__, repo, revision, setting)
    page = f"{endpoint()}/datasets/{repo}"
    if isinstance(error, HFValidationError):
        return f"{setting}.repo: '{repo}' is no repository name ({error}); expected 'owner/name'."
    if isinstance(error, GatedRepoError):
        return f"{page}: is gated; accept its conditions there, then set HF_TOKEN to a token of your account."
    if isinstance(error, RevisionNotFoundError):
        return f"{setting}.revision: '{revision}' does not exist in {page}; expected a branch, a tag or a commit."
    if isinstance(error, RepositoryNotFoundError):
        return f"{page}: was not found, or is private; check '{setting}.repo', or set HF_TOKEN if it is private."
    if isinstance(error, HfHubHTTPError):
        return _explain_status(error.response.status_code, page)
    if isinstance(error, OfflineModeIsEnabled):
        return f"{page}: cannot be fetched while HF_HUB_OFFLINE is set; unset it, or put the files into place by hand."
    return (
        f"{page}: cannot be fetched ({' '.join(str(error).split()) or type(error).__name__}); check the connection and "
        f"run the command again, it goes on where it stopped; or put the files into place by hand ('{setting}.path')."
    )


def _explain_status(status: int, page: str) -> str:
    if status in (401, 403):
        return f"{page}: access was refused (status {status}); set HF_TOKEN to a token that may read it."
    return f"{page}: the server answered with status {status}; try again later, or set HF_ENDPOINT to a mirror."
