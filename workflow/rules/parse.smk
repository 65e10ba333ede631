# Readings: one job per benchmark and model.


rule parse:
    input:
        up_to("parse"),


rule parse_model:
    input:
        samples=layout.samples("{benchmark}").as_posix(),
        answers=layout.answers("{benchmark}", "{model}").as_posix(),
    output:
        layout.parsed("{benchmark}", "{model}").as_posix(),
    log:
        "logs/parse/{benchmark}/{model}.log",
    benchmark:
        "benchmarks_out/parse/{benchmark}/{model}.tsv"
    priority: 20
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        cfg=lambda wildcards: job.parse(PARAMS, wildcards.benchmark, wildcards.model),
        code=job.code("parse"),
    shell:
        "slicewise parse --benchmark {wildcards.benchmark:q} --model {wildcards.model:q} --samples {input.samples:q}"
        " --answers {input.answers:q} --out {output:q} --settings {params.cfg:q} > {log} 2>&1"
