# Tables, figures and one page, each over all benchmarks and models of the suite.


rule report:
    input:
        up_to("report"),


rule report_tables:
    input:
        up_to("score"),
    output:
        targets.strings(report_files.table_outputs(REPORT)),
    log:
        "logs/report/tables.log",
    benchmark:
        "benchmarks_out/report/tables.tsv"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        cfg=job.report(PARAMS),
        code=job.report_code(PARAMS, "tables"),
    shell:
        "slicewise report tables --settings {params.cfg:q} > {log} 2>&1"


rule report_figures:
    input:
        up_to("score"),
        targets.strings(report_files.table_outputs(REPORT)),
    output:
        targets.strings(report_files.figure_outputs(REPORT)),
    log:
        "logs/report/figures.log",
    benchmark:
        "benchmarks_out/report/figures.tsv"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        cfg=job.report(PARAMS),
        code=job.report_code(PARAMS, "figures"),
    shell:
        "slicewise report figures --settings {params.cfg:q} > {log} 2>&1"


rule report_site:
    input:
        up_to("score"),
        targets.strings(report_files.table_outputs(REPORT)),
        targets.strings(report_files.figure_outputs(REPORT)),
    output:
        targets.strings(report_files.site_outputs(REPORT)),
    log:
        "logs/report/site.log",
    benchmark:
        "benchmarks_out/report/site.tsv"
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        cfg=job.report(PARAMS),
        code=job.report_code(PARAMS, "site"),
    shell:
        "slicewise report site --settings {params.cfg:q} > {log} 2>&1"
