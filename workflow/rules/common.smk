# Helpers of the rules. No rule reads a setting that is not among its params.
import re

from slicewise import jobs, layout
from slicewise.benchmarks import ct, sgmri
from slicewise.pipeline import rules as job, targets
from slicewise.report import run as report_files

BENCHMARKS = PARAMS.active.benchmarks
MODELS = PARAMS.active.models
AGENTS = targets.agents(PARAMS)
REPORT = jobs.report_job(PARAMS)


def one_of(names):
    """A pattern for exactly these names; for none of them, one that fits nothing."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    benchmark=one_of(BENCHMARKS),
    model=one_of(MODELS),
    agent=one_of(AGENTS),
    metric=one_of((*sgmri.METRICS, *ct.CT_METRICS)),


def up_to(stage):
    """The files of a stage and of all stages before it."""
    stages = layout.STAGES[: layout.STAGES.index(stage) + 1]
    return [path for name in stages for path in targets.strings(targets.stage(name, PARAMS))]
