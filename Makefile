# make demo: from nothing to a table of results; make test: build, lint, type check and test everything.
# Everything is installed into the repository's own virtual environment (VENV=.venv).

PYTHON ?= python3
VENV ?= .venv
MINUTES ?= 5
BIN := $(VENV)/bin
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check --quiet
DEMO := demo
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help demo test build index lint types unit fuzz sanitize kills bench numbers site man lock wheel clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip setuptools cython

# The package is installed in place (-e). Without build isolation its kernels are compiled once: pip,
# `make build` and `make wheel` share one Cython and one build directory.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install --no-build-isolation -e '.[dev]'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) install --no-build-isolation -e '.[demo]'
	@touch $@

demo: $(VENV)/.demo ## Make the spelling task, train, predict, evaluate, compare learners; tables and a page
	@$(MAKE) --no-print-directory $(DEMO)/report.json
	@$(BIN)/rerank eval $(DEMO)/data/test.letor $(DEMO)/scores.txt --first-best input \
	    --metric RR --metric P@1 --metric nDCG@10
	@$(BIN)/rerank run configs/spelling-table.yaml --out $(DEMO)/table --jobs 2
	@$(BIN)/rerank report $(DEMO)/table --html $(DEMO)/page.html
	@echo 'The same as a page, with figures and single lists: $(DEMO)/page.html'

$(DEMO)/data/train.letor: scripts/make_spelling.py $(wildcard scripts/spelling/*.py)
	$(BIN)/python scripts/make_spelling.py --out $(DEMO)/data

$(DEMO)/model: $(DEMO)/data/train.letor configs/spelling.yaml
	$(BIN)/rerank train configs/spelling.yaml --out $@

$(DEMO)/scores.txt: $(DEMO)/model
	$(BIN)/rerank predict $(DEMO)/model $(DEMO)/data/test.letor \
		--feature-names $(DEMO)/data/features.txt --out $@

$(DEMO)/report.json: $(DEMO)/scores.txt
	@$(BIN)/rerank eval $(DEMO)/data/test.letor $(DEMO)/scores.txt --first-best input \
	    --metric RR --metric P@1 --metric nDCG@10 --as json > $@.part && mv $@.part $@

test: build lint types unit ## Build, lint, check types and run the whole test suite

build: $(VENV)/.dev ## Build the kernels in place
	@$(BIN)/python -W ignore -c 'from setuptools import setup; setup()' --quiet build_ext --inplace

index: build ## Note where learners, metrics, formats, models and kernels are (rerank/core/index.py)
	@$(BIN)/python scripts/make_index.py

lint: build ## Run ruff, cython-lint and scripts/lint_kernels.py, lint_prose.py and figures.py
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/cython-lint rerank/native rerank/extensions
	@$(BIN)/python scripts/lint_kernels.py
	@$(BIN)/python scripts/lint_prose.py
	@$(BIN)/python scripts/figures.py

types: $(VENV)/.dev ## Run mypy
	@$(BIN)/mypy

unit: build ## Run the test suite alone, on all cores
	@$(BIN)/python -m pytest -n auto --dist worksteal

fuzz: build ## Read mutated files and values of every type, then try the property tests on new cases, MINUTES=5 together
	@$(BIN)/python tests/fuzz/typed.py
	@$(BIN)/python tests/fuzz/files.py --minutes $(MINUTES) --share 0.5
	@$(BIN)/python tests/fuzz/explore.py --minutes $(MINUTES) --share 0.5

kills: build ## Kill and interrupt every verb that writes, then at random moments for MINUTES=5
	@$(BIN)/python tests/fuzz/kills.py --minutes $(MINUTES)

sanitize: build ## Run the kernels' tests with sanitizers and index checks, and with allocations that fail
	@$(BIN)/python tests/fuzz/sanitize.py
	@$(BIN)/python tests/fuzz/failing.py

bench: $(VENV)/.bench build ## Run the benchmarks, each with its peers in one run
	@for bench in $(filter-out %/common.py,$(wildcard scripts/bench/*.py)); do echo; $(BIN)/python $$bench || exit 1; done

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) install --no-build-isolation -e '.[bench]'
	@touch $@

numbers: build ## Measure again the figures of the pages that are cheap; they need RERANK_DATA
	@$(BIN)/python scripts/reproduce configs/reproduce.yaml --cheap --out runs/numbers

site: $(VENV)/.site build ## Build the documentation site in site/ and check it: links, errors, contrast, narrow windows, searches
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file scripts/site/mkdocs.yml --site-dir $(abspath site)
	@$(BIN)/python scripts/site/check.py site

$(VENV)/.site: pyproject.toml | $(BIN)/python
	$(PIP) install --no-build-isolation -e '.[site]'
	@touch $@

man: build ## Write manual pages and completions of the shells to build/share, which `make wheel` packs
	@$(BIN)/python scripts/packaging/man_pages.py build/share

lock: ## Write the locked environments of scripts/packaging anew, with hashes
	@$(BIN)/python -m uv --version >/dev/null 2>&1 || $(PIP) install uv
	@for extra in core dev; do $(BIN)/python -m uv pip compile --quiet --universal --upgrade --python-version 3.11 \
	    --generate-hashes --no-annotate --no-header $$([ $$extra = core ] || echo --extra $$extra) pyproject.toml \
	    -o scripts/packaging/$$extra.txt || exit 1; done

wheel: man ## Build an sdist and a wheel in dist/
	find build/lib.* -type f ! -name '*.so' -delete  # modules deleted since an earlier build
	$(BIN)/python -m build --no-isolation --sdist --wheel --outdir dist .

clean: ## Remove what was built, except the virtual environment
	rm -rf build dist site $(DEMO) *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find rerank -name '*.so' -delete
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
