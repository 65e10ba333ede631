# Answers: one job per benchmark and model; requests run side by side and resume inside it. An agent also leaves its
# trajectories, and the pictures that it saw.


rule infer:
    input:
        up_to("infer"),


rule infer_model:
    input:
        lambda wildcards: targets.strings(targets.answers_source(PARAMS, wildcards.benchmark, wildcards.model)),
        samples=layout.samples("{benchmark}").as_posix(),
    output:
        layout.answers("{benchmark}", "{model}").as_posix(),
    log:
        "logs/infer/{benchmark}/{model}.log",
    benchmark:
        "benchmarks_out/infer/{benchmark}/{model}.tsv"
    wildcard_constraints:
        model=one_of(name for name in MODELS if name not in AGENTS),
    priority: 30
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        cfg=lambda wildcards: job.infer(PARAMS, wildcards.benchmark, wildcards.model),
        code=lambda wildcards: job.code("infer", PARAMS.model(wildcards.model).backend),
    shell:
        "slicewise infer --benchmark {wildcards.benchmark:q} --model {wildcards.model:q} --samples {input.samples:q}"
        " --out {output:q} --settings {params.cfg:q} > {log} 2>&1"


rule infer_agent:
    input:
        lambda wildcards: targets.strings(targets.sources(PARAMS, wildcards.benchmark)),
        samples=layout.samples("{benchmark}").as_posix(),
    output:
        answers=layout.answers("{benchmark}", "{agent}").as_posix(),
        trajectories=layout.trajectories("{benchmark}", "{agent}").as_posix(),
        pictures=layout.pictures("{benchmark}", "{agent}").as_posix(),
    log:
        "logs/infer/{benchmark}/{agent}.log",
    benchmark:
        "benchmarks_out/infer/{benchmark}/{agent}.tsv"
    resources:
        mem_mb=4000,
        runtime=1440,
    params:
        cfg=lambda wildcards: job.infer(PARAMS, wildcards.benchmark, wildcards.agent),
        code=job.code("infer", "agent"),
    shell:
        "slicewise infer --benchmark {wildcards.benchmark:q} --model {wildcards.agent:q} --samples {input.samples:q}"
        " --out {output.answers:q} --settings {params.cfg:q} > {log} 2>&1"
