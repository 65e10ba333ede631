# Metrics. Those without an encoder run one job per benchmark and model. The neural ones run one job over all models,
# which loads its encoder once and encodes only texts that it has not met; so do the two that are put together from
# them, for else a new model would start a job for each of the old ones.


rule score:
    input:
        up_to("score"),


rule score_model:
    input:
        lambda wildcards: targets.strings(
            targets.trajectories(PARAMS, wildcards.benchmark, wildcards.model)
            if wildcards.metric == "tool_use"
            else ()
        ),
        samples=layout.samples("{benchmark}").as_posix(),
        parsed=layout.parsed("{benchmark}", "{model}").as_posix(),
    output:
        layout.score("{benchmark}", "{model}", "{metric}").as_posix(),
    log:
        "logs/score/{benchmark}/{model}/{metric}.log",
    benchmark:
        "benchmarks_out/score/{benchmark}/{model}/{metric}.tsv"
    wildcard_constraints:
        metric="|".join(job.MODEL_METRICS),
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        cfg=lambda wildcards: job.score(PARAMS, wildcards.benchmark, wildcards.metric),
        code=lambda wildcards: job.code("score", wildcards.metric, PARAMS.score.protocol),
    shell:
        "slicewise score --metric {wildcards.metric} --benchmark {wildcards.benchmark:q} --model {wildcards.model:q}"
        " --settings {params.cfg:q} > {log} 2>&1"


rule score_models:
    input:
        samples=layout.samples("{benchmark}").as_posix(),
        parsed=expand(layout.parsed("{{benchmark}}", "{model}").as_posix(), model=MODELS),
        parts=lambda wildcards: expand(
            layout.score(wildcards.benchmark, "{model}", "{part}").as_posix(),
            model=MODELS,
            part=job.PARTS.get(wildcards.metric, ()),
        ),
    output:
        expand(layout.score("{{benchmark}}", "{model}", "{{metric}}").as_posix(), model=MODELS),
    log:
        "logs/score/{benchmark}/{metric}.log",
    benchmark:
        "benchmarks_out/score/{benchmark}/{metric}.tsv"
    wildcard_constraints:
        metric="|".join(job.SUITE_METRICS),
    priority: 10
    # Two jobs of one thread score more texts a second than one job of two threads.
    threads: 1
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        cfg=lambda wildcards: job.score(PARAMS, wildcards.benchmark, wildcards.metric),
        code=lambda wildcards: job.code("score", wildcards.metric, PARAMS.score.protocol),
        models=" ".join(f"--model {name}" for name in MODELS),
    shell:
        "slicewise score --metric {wildcards.metric} --benchmark {wildcards.benchmark:q} {params.models}"
        " --threads {threads} --settings {params.cfg:q} > {log} 2>&1"
