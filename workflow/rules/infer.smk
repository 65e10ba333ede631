# Answers: one job per benchmark and model; requests run side by side and resume inside it.


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
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        cfg=lambda wildcards: job.infer(PARAMS, wildcards.benchmark, wildcards.model),
        code=lambda wildcards: job.code("infer", PARAMS.model(wildcards.model).backend),
    shell:
        "slicewise infer --benchmark {wildcards.benchmark:q} --model {wildcards.model:q} --samples {input.samples:q}"
        " --out {output:q} --settings {params.cfg:q} > {log} 2>&1"
