# Helpers of the rules. No rule reads a setting that is not among its params.
import re

from slicewise import jobs, layout
from slicewise.benchmarks import sgmri
from slicewise.pipeline import rules as job, targets
from slicewise.report import run as report_files

BENCHMARKS = PARAMS.active.benchmarks
MODELS = PARAMS.active.models
REPORT = jobs.report_job(PARAMS)


wildcard_constraints:
    benchmark="|".join(re.escape(name) for name in BENCHMARKS),
    model="|".join(re.escape(name) for name in MODELS),
    metric="|".join(sgmri.METRICS),


def up_to(stage):
    """The files of a stage and of all stages before it."""
    stages = layout.STAGES[: layout.STAGES.index(stage) + 1]
    return [path for name in stages for path in targets.strings(targets.stage(name, PARAMS))]
