# Served models on a cluster: a server runs as a service next to the jobs that ask it, and their replies go to the
# response store. The main workflow then finds every reply there and needs no server. docs/models.md
#
#   snakemake -s workflow/rules/serve.smk --cores 4 --config serve=qwen3-vl-8b            here
#   snakemake -s workflow/rules/serve.smk --profile profiles/slurm --config serve=...     a GPU node serves
import re

from slicewise import layout, params
from slicewise.pipeline import rules as job


configfile: "params.yaml"
configfile: "workflow/rules/serve.yaml"


SERVE = config.pop("serve", "").split(",") if config.get("serve") else []
RECIPES = config.pop("recipes")
PARAMS = params.validate(config)


def url_variable(model):
    """The environment variable that the model's base_url names."""
    return re.fullmatch(r"\$(\w+)", PARAMS.model(model).endpoint.base_url or "").group(1)


rule all:
    input:
        [f"served/{b}/{m}.parquet" for b in PARAMS.active.benchmarks for m in SERVE],


rule serve_model:
    output:
        service("served/{model}.url"),
    log:
        "logs/serve/{model}.log",
    resources:
        mem_mb=64000,
        runtime=720,
        slurm_extra=lambda wildcards: RECIPES[wildcards.model].get("slurm_extra", ""),
    params:
        command=lambda wildcards: RECIPES[wildcards.model]["command"],
    shell:
        "python -m slicewise.llm.serving --out {output} -- {params.command} > {log} 2>&1"


rule ask_served_model:
    input:
        url="served/{model}.url",
        samples=layout.samples("{benchmark}").as_posix(),
    output:
        "served/{benchmark}/{model}.parquet",
    log:
        "logs/serve/{benchmark}/{model}.log",
    resources:
        mem_mb=2000,
        runtime=720,
    params:
        cfg=lambda wildcards: job.infer(PARAMS, wildcards.benchmark, wildcards.model),
        variable=lambda wildcards: url_variable(wildcards.model),
    shell:
        "export {params.variable}=$(cat {input.url:q}); slicewise infer --benchmark {wildcards.benchmark:q}"
        " --model {wildcards.model:q} --samples {input.samples:q} --out {output:q} --settings {params.cfg:q} > {log} 2>&1"
