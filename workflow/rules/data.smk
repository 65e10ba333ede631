# Items: one job per benchmark, from phantoms made here, fetched annotations or released files.


rule data:
    input:
        up_to("data"),


rule data_demo:
    output:
        (PARAMS.data.demo.path / targets.DEMO_MANIFEST).as_posix(),
    log:
        "logs/data/demo.log",
    benchmark:
        "benchmarks_out/data/demo.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        cfg=job.demo(PARAMS),
        code=job.code("demo", "sgmri"),
    shell:
        "slicewise data demo --settings {params.cfg:q} > {log} 2>&1"


rule data_chest:
    output:
        (PARAMS.data.chest.path / targets.DEMO_MANIFEST).as_posix(),
    log:
        "logs/data/chest.log",
    benchmark:
        "benchmarks_out/data/chest.tsv"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        cfg=job.chest(PARAMS),
        code=job.code("chest", "sgmri"),
    shell:
        "slicewise data chest --settings {params.cfg:q} > {log} 2>&1"


rule data_fetch:
    output:
        targets.strings(targets.FASTMRI_PLUS / name for name in targets.FASTMRI_PLUS_FILES),
    log:
        "logs/data/fetch.log",
    benchmark:
        "benchmarks_out/data/fetch.tsv"
    retries: 2
    resources:
        mem_mb=500,
        runtime=10,
    params:
        cfg=PARAMS.data.fastmri_plus_commit,
        code=job.code("fetch", "sgmri"),
    shell:
        "slicewise data fetch fastmri-plus --commit {params.cfg:q} > {log} 2>&1"


rule data_build:
    input:
        lambda wildcards: targets.strings(targets.sources(PARAMS, wildcards.benchmark)),
    output:
        samples=layout.samples("{benchmark}").as_posix(),
        summary=layout.data_summary("{benchmark}").as_posix(),
    log:
        "logs/data/{benchmark}.log",
    benchmark:
        "benchmarks_out/data/{benchmark}.tsv"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        cfg=lambda wildcards: job.data(PARAMS, wildcards.benchmark),
        code=lambda wildcards: job.data_code(wildcards.benchmark),
    shell:
        "slicewise data build {wildcards.benchmark:q} --out {output.samples:q} --summary {output.summary:q}"
        " --settings {params.cfg:q} > {log} 2>&1"
