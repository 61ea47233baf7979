# make demo: the whole way on a real task; make test: build, lint, types, the whole suite.
# Everything happens in a virtual environment of the repository's own (VENV=.venv).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := demo
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help demo test build lint types unit bench wheel clean

help: ## Say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

# The package itself stands in place (-e); its kernels are built by `build`.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[dev]'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[demo]'
	@touch $@

demo: $(VENV)/.demo ## Build the spelling task, train, predict, evaluate, print the table
	@$(MAKE) --no-print-directory $(DEMO)/report.json
	@$(BIN)/rerank eval $(DEMO)/data/test.letor $(DEMO)/scores.txt --first-best input \
	    --metric RR --metric P@1 --metric nDCG@10

$(DEMO)/data/train.letor: scripts/make_spelling.py $(wildcard scripts/spelling/*.py)
	$(BIN)/python scripts/make_spelling.py --out $(DEMO)/data

$(DEMO)/model: $(DEMO)/data/train.letor configs/spelling.yaml
	$(BIN)/rerank train configs/spelling.yaml --out $@

$(DEMO)/scores.txt: $(DEMO)/model
	$(BIN)/rerank predict $(DEMO)/model $(DEMO)/data/test.letor --out $@

$(DEMO)/report.json: $(DEMO)/scores.txt
	@$(BIN)/rerank eval $(DEMO)/data/test.letor $(DEMO)/scores.txt --first-best input \
	    --metric RR --metric P@1 --metric nDCG@10 --json > $@.part && mv $@.part $@

test: build lint types unit ## Build, lint, check types, run the whole suite

build: $(VENV)/.dev ## Build the kernels in place
	@$(BIN)/python -W ignore -c 'from setuptools import setup; setup()' --quiet build_ext --inplace

lint: $(VENV)/.dev ## ruff and cython-lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/cython-lint rerank/native

types: $(VENV)/.dev ## mypy
	@$(BIN)/mypy

unit: build ## The test suite alone
	@$(BIN)/python -m pytest

bench: $(VENV)/.bench build ## Measure against the peers, in one run
	@for bench in scripts/bench/*.py; do echo; $(BIN)/python $$bench || exit 1; done

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[bench]'
	@touch $@

wheel: $(VENV)/.dev ## An sdist and a wheel in dist/
	$(BIN)/python -m build --outdir dist .

clean: ## Remove what was built, but for the virtual environment
	rm -rf build dist $(DEMO) *.egg-info
	find rerank/native -name '*.so' -delete
