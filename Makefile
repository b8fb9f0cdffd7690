# Everything runs from a bare checkout: Python >= 3.11, make, and Go >= 1.26 where tools must be built.
PYTHON ?= python3
UV_VERSION := 0.13.8
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
RUN := .venv/bin
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := .venv

.DEFAULT_GOAL := help
.PHONY: help setup up demo down test test-fast test-full lint format docs bench clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; name one with PYTHON=/path/to/python3" >&2; exit 4; }
	@echo "installing uv into .uv"
	@$(PYTHON) -m venv .uv
	@.uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: pyproject.toml uv.lock | $(filter .uv/bin/uv,$(UV))
	@echo "installing the packages of uv.lock into .venv"
	@$(UV) sync --frozen --python $(PYTHON)
	@touch $@

setup: .venv/.ready ## Install the Python environment into .venv

up: setup ## Boot the sandbox, declare the teams, show what Kueue decides
	@$(RUN)/hpctl up --stack local --yes
	@$(RUN)/hpctl demo

demo: setup ## Show the cases of workloads/ again
	@$(RUN)/hpctl demo

down: setup ## Stop the sandbox and remove all that it left
	@$(RUN)/hpctl local down

lint: setup ## Style and types
	@$(RUN)/ruff format --check --quiet .
	@$(RUN)/ruff check --quiet .
	@$(RUN)/mypy --no-error-summary

format: setup ## Rewrite in the project's style
	@$(RUN)/ruff format .
	@$(RUN)/ruff check --fix .

# Two at a time, file by file: tests on an engine mostly wait for it, and those of a file share what they have set up.
PARALLEL := -n 2 --dist loadfile

test: lint ## All tests, on a real engine and API server too
	@$(RUN)/hpctl local tools
	@$(RUN)/pytest $(PARALLEL) -m "not full" tests/unit tests/components tests/policies tests/contract tests/engine

test-fast: lint ## Tests that need no engine
	@$(RUN)/pytest -m "not full and not engine" tests/unit tests/components tests/policies tests/contract

test-full: lint ## All tests, in their long form
	@$(RUN)/hpctl local tools
	@HYPOTHESIS_PROFILE=full $(RUN)/pytest tests

docs: setup ## Make the pages of the rules and the editors' schemas anew
	@$(RUN)/python -m reports.rulepages
	@$(RUN)/hpctl schema --to schemas

bench: setup ## The figures of the README
	@$(RUN)/hpctl local tools
	@$(RUN)/python benchmarks/check.py
	@$(RUN)/python benchmarks/diff.py
	@$(RUN)/python benchmarks/up.py
	@$(RUN)/python benchmarks/policies.py
	@$(RUN)/python benchmarks/replay.py

clean: ## Remove what make installed here (the tools' cache stays)
	rm -rf .venv .uv .mypy_cache .pytest_cache .ruff_cache .hypothesis
