"""The three jobs as the workflow calls them: outputs, bytes, figures, command line."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from click.testing import CliRunner
from PIL import Image
from slicewise import artifacts, layout
from slicewise.cli.report import report
from slicewise.errors import UserError
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import examples, figures, metrics, provenance, run, style

Tree = tuple[ReportJob, Path]


def test_every_declared_output_exists_and_no_other(reported: Tree) -> None:
    job, root = reported
    declared = {*run.table_outputs(job), *run.figure_outputs(job), *run.site_outputs(job)}
    written = {path.relative_to(root) for path in (root / "results/report").rglob("*") if path.is_file()}
    assert written == declared


def test_the_order_of_rows_and_the_folder_change_no_byte(reported: Tree, tmp_path: Path, make: Any) -> None:
    job, root = reported
    make.tree(tmp_path, shuffle=5)
    run.tables(job, tmp_path)
    with style.styled():
        source = figures.load(job, tmp_path, "sgmri-demo-volume")
        for kind, drawing in figures.drawings().items():
            style.save(drawing(source), tmp_path / layout.figure(f"{kind}-{source.benchmark}", "x").with_suffix(""))
    run.site(job, tmp_path)
    written = [path.relative_to(tmp_path) for path in (tmp_path / "results/report").rglob("*") if path.is_file()]
    assert len(written) == len(run.table_outputs(job)) + 2 * len(run.FIGURES) + 1
    assert [str(p) for p in written if (tmp_path / p).read_bytes() != (root / p).read_bytes()] == []


def test_no_clock_host_or_folder_in_any_file(reported: Tree) -> None:
    job, root = reported
    traces = [str(root), str(Path.cwd()), "CreationDate", "ModDate", "Matplotlib v"]
    traces += [name for name in (socket.gethostname(),) if len(name) > 5]
    for path in (root / "results/report").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not [trace for trace in traces if trace.encode() in content], path
    assert job.suite == "demo"


def test_metrics_have_the_shape_that_dvc_compares(reported: Tree) -> None:
    job, root = reported
    tree = json.loads((root / metrics.METRICS).read_text())
    assert list(tree) == sorted(job.benchmarks)
    assert set(tree["sgmri-demo-image"]) == {model.name for model in job.models}
    leaf = tree["sgmri-demo-image"]["always-yes"]["detection"]
    assert leaf == {"coverage": 1.0, "n": 12, "value": 0.833333}
    assert tree["sgmri-demo-image"]["absent"]["avg"] == {"coverage": 0.0, "n": 0, "value": None}


def test_plots_are_long_tables_without_gaps(reported: Tree) -> None:
    lines = (reported[1] / metrics.plot_path("scores")).read_text().splitlines()
    assert lines[0] == "benchmark,model,column,value,low,high"
    assert len(lines) == 1 + 2 * 3 * 7  # the absent model has no point
    assert all(len(line.split(",")) == 6 and ",," not in line for line in lines)


def test_tables_are_artifacts(reported: Tree) -> None:
    job, root = reported
    for path in run.table_outputs(job):
        if path.suffix == ".parquet":
            assert len(artifacts.stored_digest(root / path)) == 64
            table = artifacts.read_table(root / path)
            assert table.column_names[0] == "position"
            assert table.column("position").to_pylist() == list(range(len(table)))


def test_figures_are_readable_images_of_the_declared_width(reported: Tree) -> None:
    job, root = reported
    for path in run.figure_outputs(job):
        content = (root / path).read_bytes()
        if path.suffix == ".png":
            with Image.open(root / path) as image:
                assert image.width in (int(style.COLUMN * style.DPI), int(style.DOUBLE * style.DPI)), path
        else:
            assert content.startswith(b"%PDF-")
            assert b"FontFile2" in content, "fonts are embedded"
    assert plt.get_fignums() == []


def texts(figure: Any) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def test_without_images_the_page_of_examples_says_so(tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path, make.job(benchmarks=["sgmri-demo-image"]), with_frames=False)
    run.tables(job, tmp_path)
    source = figures.load(job, tmp_path, "sgmri-demo-image")
    with style.styled():
        assert "the benchmark has no images here" in texts(examples.examples(source))
        assert "there is no frame to miss" in texts(figures.drawings()["offsets"](source))
        plt.close("all")


def test_examples_alternate_domains_and_draw_the_boxes(reported: Tree) -> None:
    job, root = reported
    source = figures.load(job, root, "sgmri-demo-volume")
    chosen = examples._chosen(source, 6)
    assert [item["domain"] for item in chosen] == ["brain", "knee"] * 3
    assert chosen == examples._chosen(source, 9)[:6]
    with style.styled():
        figure = examples.examples(source)
    axis = figure.axes[0]
    colours = {patch.get_edgecolor() for patch in axis.patches}
    assert len(colours) == 2, "gold and the reader; the oracle is left out"
    for panel, item in zip(figure.axes, chosen, strict=True):
        shown = max(
            {b["frame"] for b in item["boxes"]}, key=lambda f: (sum(b["frame"] == f for b in item["boxes"]), -f)
        )
        gold = [box for box in item["boxes"] if box["frame"] == shown]
        assert len(panel.patches) == 2 * len(gold), "only the boxes of the frame that is shown"
        assert {box["x0"] for box in gold} <= {patch.get_x() for patch in panel.patches}
    assert any(len(item["boxes"]) > 1 for item in chosen)
    plt.close(figure)


def test_an_unreadable_frame_is_named(tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path, make.job(benchmarks=["sgmri-demo-image"]))
    run.tables(job, tmp_path)
    for path in (tmp_path / "data/demo").iterdir():
        path.write_bytes(b"no image")
    source = figures.load(job, tmp_path, "sgmri-demo-image")
    with pytest.raises(UserError, match=r"data/demo/image-.*\.png: cannot be read as an image"):
        examples.examples(source)
    plt.close("all")


@pytest.mark.parametrize("job_function", [run.figures, run.site])
def test_figures_and_page_ask_for_the_tables_first(tree: Tree, tmp_path: Path, job_function: Any) -> None:
    with pytest.raises(UserError, match=r"\.parquet: not found; expected a Parquet file written by an earlier stage"):
        job_function(tree[0], tmp_path)


def test_command_line(tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path, make.job(benchmarks=["sgmri-demo-volume"]))
    options = ["--settings", job.model_dump_json(), "--root", str(tmp_path)]
    for name, expected in (("tables", run.table_outputs(job)), ("site", run.site_outputs(job))):
        result = CliRunner().invoke(report, [name, *options])
        assert result.exit_code == 0, result.output
        assert all((tmp_path / path).is_file() for path in expected)
    with pytest.raises(UserError, match=r"(?s)--settings: .*unknown setting 'judgee'.*Did you mean 'judge'"):
        CliRunner().invoke(report, ["tables", "--settings", '{"judgee": 1}'], catch_exceptions=False)


def test_provenance_is_for_a_sidecar() -> None:
    found = provenance.collect(Path(__file__).parent)
    assert len(found["git_commit"]) == 40
    assert found["packages"]["pyarrow"] == pytest.importorskip("pyarrow").__version__
    assert provenance.collect(Path(os.sep))["git_commit"] is None


def test_signature_follows_the_settings(make: Any) -> None:
    assert provenance.signature(make.job()) == provenance.signature(make.job())
    assert provenance.signature(make.job()) != provenance.signature(make.job(protocol="reference"))


def test_a_run_in_which_nothing_ran_is_shown_as_such(tmp_path: Path, make: Any) -> None:
    models = [ReportModel(name="absent", title="absent", backend="file")]
    job = make.tree(tmp_path, make.job(models=models), with_frames=False)
    run.tables(job, tmp_path)
    run.figures(job, tmp_path)
    run.site(job, tmp_path)
    table = artifacts.read_rows(tmp_path / layout.table("cells", "parquet"))
    assert {(row["value"], row["n"], row["incomplete"]) for row in table} == {(None, 0, True)}
    assert "absent: no item has a result" in (tmp_path / run.PAGE).read_text()


def test_one_volume_has_scores_but_no_interval(tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path, make.job(benchmarks=["sgmri-demo-image"]), with_frames=False)
    path = tmp_path / layout.samples("sgmri-demo-image")
    rows = [{**row, "volume_id": "v", "options": None} for row in artifacts.read_rows(path)]
    artifacts.write_rows(path, rows, artifacts.SAMPLES)
    run.tables(job, tmp_path)
    cells = artifacts.read_rows(tmp_path / layout.table("cells", "parquet"))
    oracle = next(row for row in cells if row["model"] == "oracle")
    assert (oracle["value"], oracle["clusters"], oracle["low"], oracle["t_low"]) == (1.0, 1, None, None)
