"""The second door to a version: a plain ``snakemake`` run, then ``slicewise commit``.

``dvc commit`` believes whatever lies in the folder. This one first makes sure that the results are those of
``params.yaml``, finished, with nothing left to do, and only then lets DVC record them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from slicewise import layout, params
from slicewise.errors import UserError
from slicewise.llm.store import Store
from slicewise.params import PARAMS_FILE, Params
from slicewise.pipeline import lock, provenance, prune, ran, records, targets

NOTHING = "Nothing to be done"
_AGAIN = "run `snakemake --cores all` first, then `slicewise commit`"


def commit(root: Path = Path()) -> list[Path]:
    """Check, prune, and record the results in DVC.

    Returns:
        The pruned files.

    Raises:
        UserError: The results are not those of ``params.yaml``, not finished or not up to date; nothing was changed.
    """
    settings = check(root)
    share_replies(root)
    pruned = prune.prune(settings, root)
    _dvc(root, "commit", "--force", "--quiet")
    provenance.write(settings, root)
    return pruned


def share_replies(root: Path = Path()) -> None:
    """Put the replies that were bought since into the layer of the store that DVC tracks; without a store, nothing."""
    folder = root / layout.STORE
    if (folder / "live.sqlite").is_file():
        with Store(folder) as store:
            store.share()


def check(root: Path = Path()) -> Params:
    """Make sure that the results are exactly what ``params.yaml`` makes.

    Returns:
        The settings.

    Raises:
        UserError: They are not, with the reason.
    """
    settings = params.load(root / PARAMS_FILE)
    if lock.live(root):
        raise UserError("commit refused: a run is going on in this folder; wait until it has ended.")
    fault = _unfinished(targets.strings(targets.everything(settings)), root) or _out_of_date(root)
    if fault is None:
        return settings
    differences = ran.differences(settings, root)
    if differences:
        raise UserError(
            f"commit refused: the last run was not one of params.yaml: {'; '.join(differences[:3])}; "
            f"put these settings into params.yaml, or {_AGAIN}."
        )
    raise UserError(f"commit refused: {fault}; {_AGAIN}.")


def _unfinished(wanted: list[str], root: Path) -> str | None:
    cut_off = sorted(records.incomplete(root).intersection(wanted))
    if cut_off:
        return f"{len(cut_off)} file(s) such as '{cut_off[0]}' are incomplete"
    missing = [path for path in wanted if not (root / path).is_file()]
    if missing:
        return f"{len(missing)} file(s) such as '{missing[0]}' do not exist"
    untraced = records.untraced(wanted, root)
    if untraced:
        raise UserError(f"commit refused: {untraced_message(untraced)}")
    return None


def untraced_message(paths: list[str]) -> str:
    """What to say of results without a record."""
    return (
        f"nothing in {records.METADATA} records how {len(paths)} result(s) such as '{paths[0]}' were made, "
        "so they may belong to other settings; run `dvc pull` to get the records, or delete these results."
    )


def _out_of_date(root: Path) -> str | None:
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise UserError(f"commit refused: `snakemake --dry-run` failed: {' '.join(said.split())[-300:]}")
    return None if NOTHING in said else f"the results are out of date: {_first_reason(said)}"


def _first_reason(said: str) -> str:
    """The first job that would run and why, from the words of a dry run."""
    rule = re.search(r"^(?:local)?rule (\w+):", said, re.MULTILINE)
    reason = re.search(r"^\s*reason: (.+)$", said, re.MULTILINE)
    if not rule or not reason:
        return "jobs would run"
    text = reason.group(1)
    return f"rule {rule.group(1)} would run ({text if len(text) <= 200 else text[:197] + '...'})"


def _dvc(root: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(f"`dvc {' '.join(arguments)}` failed: {' '.join(done.stderr.split()) or done.stdout}")
