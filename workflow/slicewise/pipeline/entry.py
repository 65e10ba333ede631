"""What the Snakefile does before and after its jobs, kept out of it so that it stays a list of rules."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from slicewise import layout, params
from slicewise.errors import UserError
from slicewise.params import Params
from slicewise.pipeline import guard, lock, provenance, ran, records, targets

_VOUCHES = {"-F", "--forceall", "-t", "--touch"}


def readable(path: Path = params.PARAMS_FILE) -> None:
    """End the process with one sentence, and where the fault lies, unless the settings are readable YAML."""
    try:
        params.read(path)
    except UserError as error:
        _refuse(error)


def start(config: dict[str, Any], main_process: bool) -> Params:
    """Validate the settings and, in the process that the user started, register the run.

    Args:
        config: The settings as Snakemake merged them: ``params.yaml`` and ``--config``.
        main_process: Whether this is the user's Snakemake and not one that it started on another machine.

    Returns:
        The settings. A fault of the input ends the process with one sentence and status 2, before any job.
    """
    _use_own_environment()
    try:
        settings = params.validate(config)
        targets.check_sources(settings)
        for folder in (layout.RESULTS, Path("data"), lock.SNAKEMAKE, Path("logs"), provenance.TIMINGS):
            _check_writable(folder)
        _refuse_untraced(settings)
    except UserError as error:
        _refuse(error)
    if main_process:
        lock.enter()
    else:
        lock.leave()
    return settings


def begin(settings: Params) -> None:
    """Before the first job: write down which settings run."""
    ran.record(settings)


def finish(settings: Params) -> None:
    """After a run without a failure: write the provenance sidecar and say where the results lie."""
    provenance.write(settings)
    report = layout.stage("report")
    print(
        f"\ntables   {report / 'tables'}\nfigures  {report / 'figures'}\nreport   {report / 'index.html'}",
        file=sys.stderr,
    )


def _check_writable(folder: Path) -> None:
    """Snakemake would end in a traceback; the folder need not exist yet."""
    place = folder if folder.exists() else Path()
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise UserError(
            f"{folder}: cannot be written; expected a folder that you may write to: check its permissions and owner."
        )


def _refuse_untraced(settings: Params) -> None:
    """Results of unknown settings are not built upon, unless the command makes or vouches for all of them."""
    if not _VOUCHES.isdisjoint(sys.argv):
        return
    found = records.untraced(targets.strings(targets.everything(settings)), Path())
    if found:
        raise UserError(guard.untraced_message(found))


def _use_own_environment() -> None:
    """Let jobs find the commands installed beside this Python, whether or not its environment is activated."""
    folder = str(Path(sys.executable).parent)
    if folder not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((folder, os.environ["PATH"]))


def _refuse(error: UserError) -> NoReturn:
    print(f"slicewise: error: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(2)  # Snakemake would print a traceback for an exception, and has nothing to tidy up yet
