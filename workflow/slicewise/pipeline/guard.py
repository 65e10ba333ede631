"""The second door to a version: a plain ``snakemake`` run, then ``slicewise commit``.

``dvc commit`` believes whatever lies in the folder. This one first makes sure that the results are those of
``params.yaml``, finished, with nothing left to do, and only then lets DVC record them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from slicewise import params
from slicewise.errors import UserError
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
    pruned = prune.prune(settings, root)
    _dvc(root, "commit", "--force", "--quiet")
    provenance.write(settings, root)
    return pruned


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
    differences = ran.differences(settings, root)
    if differences:
        raise UserError(
            f"commit refused: the results are not those of params.yaml: {'; '.join(differences[:3])}; "
            f"put these settings into params.yaml, or {_AGAIN}."
        )
    wanted = targets.strings(targets.everything(settings))
    _finished(wanted, root)
    _up_to_date(root)
    return settings


def _finished(wanted: list[str], root: Path) -> None:
    cut_off = sorted(records.incomplete(root).intersection(wanted))
    if cut_off:
        raise UserError(f"commit refused: {len(cut_off)} file(s) such as '{cut_off[0]}' are incomplete; {_AGAIN}.")
    missing = [path for path in wanted if not (root / path).is_file()]
    if missing:
        raise UserError(f"commit refused: {len(missing)} file(s) such as '{missing[0]}' do not exist; {_AGAIN}.")
    untraced = records.untraced(wanted, root)
    if untraced:
        raise UserError(f"commit refused: {untraced_message(untraced)}")


def untraced_message(paths: list[str]) -> str:
    """What to say of results without a record."""
    return (
        f"nothing in {records.METADATA} records how {len(paths)} result(s) such as '{paths[0]}' were made, "
        "so they may belong to other settings; run `dvc pull` to get the records, or delete these results."
    )


def _up_to_date(root: Path) -> None:
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise UserError(f"commit refused: `snakemake --dry-run` failed: {said.strip().splitlines()[-1:]}")
    if NOTHING not in said:
        raise UserError(f"commit refused: the results are out of date: {_first_reason(said)}; {_AGAIN}.")


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
