# Measure how well vision-language models read medical volumes.
#
#   snakemake --cores 8                 everything: data, infer, parse, score, report
#   snakemake --cores 8 -- score        one stage and all before it
#
# Settings: params.yaml. Every job runs one `slicewise` command, which can be run by hand as well.
from snakemake.utils import min_version

from slicewise.pipeline import entry

min_version("9.27")
entry.readable()


configfile: "params.yaml"


# The system below the pinned environment; used only with `--software-deployment-method apptainer`.
container: "docker://python:3.11-bookworm"


PARAMS = entry.start(config, workflow.is_main_process)


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/infer.smk"
include: "workflow/rules/parse.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/report.smk"


# Every file of every stage: Snakemake does not miss an intermediate that no target names.
rule all:
    default_target: True
    input:
        up_to("report"),


onstart:
    entry.begin(PARAMS)


onsuccess:
    entry.finish(PARAMS)
