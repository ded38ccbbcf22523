# Each target sets up what it needs in $(VENV); the second call finds it ready.
# Needs make and Python 3.11 or newer. Another interpreter: make test PYTHON=/path/to/python3

VENV ?= .venv
BIN := $(VENV)/bin
# The first interpreter that starts and is new enough.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
ARGS ?=

JOBS ?= 3

.PHONY: help demo test test-quick test-rest test-whole mutations check format bench docs build sbom clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

demo: $(VENV)/.demo ## a tool conversation through every wire, without network or keys
	@echo "five conversations over HTTP on this machine, against a simulated vendor"
	@$(BIN)/llm-rest demo $(ARGS)

test: $(VENV)/.dev ## the test suite, of large tables a sample; ARGS="-k name" narrows it
	@echo "running about 13,400 tests (of 15,100; make test-rest runs the others), $(JOBS) processes at a time, about 5 minutes and 1 GB on two cores"
	@LLM_REST_JOBS=$(JOBS) $(BIN)/python -m tests $(ARGS)

test-quick: $(VENV)/.dev ## one case of each test
	@echo "running one case of each test: about 1,500, $(JOBS) processes at a time, about a minute on two cores"
	@LLM_REST_TESTS=quick LLM_REST_JOBS=$(JOBS) $(BIN)/python -m tests $(ARGS)

test-rest: $(VENV)/.dev ## what `make test` leaves out, and the laws with more examples
	@LLM_REST_TESTS=rest LLM_REST_JOBS=$(JOBS) $(BIN)/python -m tests $(ARGS)

test-whole: $(VENV)/.dev ## both, and the products of tables that each of them takes samples of
	@LLM_REST_TESTS=whole LLM_REST_JOBS=$(JOBS) $(BIN)/python -m tests $(ARGS)

mutations: $(VENV)/.dev ## ten faults put into copies of the code, each of which the tests must find
	@$(BIN)/python -m tests.mutations $(ARGS)

check: $(VENV)/.dev ## formatting, lint, pyright and mypy
	@.ci/check $(BIN)

format: $(VENV)/.dev ## what `make check` can repair by itself
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench: $(VENV)/.dev ## time per conversion and call, as ratios to a floor of the same run; draws docs/growth.svg
	@$(BIN)/python -m benchmarks $(ARGS)
	@test -n "$(ARGS)" || $(BIN)/python -m benchmarks.growth

docs: $(VENV)/.docs ## the documentation as a site in site/, which works offline
	@echo "building the documentation in site/ (about a minute; broken links fail)"
	@$(BIN)/python docs/_tools/diagrams.py docs/assets
	@$(BIN)/python docs/_tools/pages.py build/docs
	@$(BIN)/zensical build --strict --clean
	@$(BIN)/python docs/_tools/pages.py --check site
	@echo "open site/index.html"

build: $(VENV)/.dev ## the sdist and the wheel in dist/, the same bytes each time
	@$(BIN)/python -m build --no-isolation --outdir dist
	@cd dist && sha256sum *.tar.gz *.whl

sbom: $(VENV)/.pip ## what the base install brings, as CycloneDX, in dist/llm_rest.cdx.json
	@echo "installing llm_rest alone in build/sbom, and cyclonedx-bom in $(VENV)"
	@$(BIN)/python -m venv --clear --without-pip build/sbom
	@$(BIN)/python -m pip --python build/sbom/bin/python install --quiet --disable-pip-version-check .
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "cyclonedx-bom>=7,<8"
	@mkdir -p dist
	@$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o dist/llm_rest.cdx.json build/sbom/bin/python
	@$(BIN)/python -c "import json; print(*(f'{c[\"name\"]} {c[\"version\"]}' for c in json.load(open('dist/llm_rest.cdx.json'))['components']), sep='\n')"

clean: ## remove the environment and everything generated
	rm -rf $(VENV) site dist build .pytest_cache .ruff_cache .mypy_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "llm_rest needs Python 3.11 or newer; none found on PATH" >&2; exit 1; }
	@echo "creating a virtual environment in $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { echo "could not create $(VENV); on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

# --group needs pip 25.1.
$(VENV)/.pip: | $(BIN)/python
	@echo "upgrading pip in $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.pip
	@echo "installing llm_rest and its extras server and cli in $(VENV) (about 10 s)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[server,cli]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.pip
	@echo "installing llm_rest, test peers, linters and type checkers in $(VENV) (about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[server,cli]" --group dev
	@touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(VENV)/.pip
	@echo "installing the documentation tools in $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[server,cli]" --group docs
	@touch $@
