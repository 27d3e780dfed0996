# `make demo` and `make test` are the two commands of the README. Each sets up what it needs in .venv, with
# nothing but Python 3.11 or newer, git and make, and needs no network once that has been done.
# A Python of your choice: make PYTHON=/path/to/python3.12 demo

SHELL := /bin/sh
.DEFAULT_GOAL := help
# The target programs of examples are started as `python`: that of .venv, wherever make was called from.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export PYTHON

BIN := .venv/bin
BUNDLE := .demo/docs-search

.PHONY: help demo test test-all sabotage reference lint docs setup lock bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\): ## /\1\t/p' Makefile | while IFS='	' read -r name what; do printf '  make %-9s %s\n' "$$name" "$$what"; done

demo: ## check the release of a real search service and say where its scorecard is
	@sh .ci/setup demo
	@echo "demo: asking a search service, started on a free port, the questions of examples/docs-search"
	@rm -rf $(BUNDLE)
	@code=0; $(BIN)/releasecheck run examples/docs-search/releasecheck.yaml --out $(BUNDLE) || code=$$?; \
	if [ -f $(BUNDLE)/scorecard.html ]; then echo "demo: open $(CURDIR)/$(BUNDLE)/scorecard.html in a browser"; fi; \
	exit $$code

test: ## lint, types, layers, and every test but the long ones (under 10 minutes on 2 cores)
	@$(MAKE) --no-print-directory lint
	@echo "test: running the tests, three at a time (one of them mostly waits)"
	@$(BIN)/pytest -n 3 --dist worksteal -m "not soak"

test-all: ## all of that, and the soaks
	@$(MAKE) --no-print-directory lint
	@echo "test: running all tests, two at a time; soaks and fuzzing take long"
	@RELEASECHECK_LONG_TESTS=1 $(BIN)/pytest -n 2 --dist worksteal

sabotage: ## break each rule of gates in a copy of the program, and see that its tests turn red
	@sh .ci/setup dev
	@$(BIN)/python -m tests.sabotage

reference: ## write docs/reference, and the copies of the config's schema, from the code
	@sh .ci/setup dev
	@$(BIN)/python -m tests.reference

lint: ## style, formatting, types and the layers of the architecture
	@sh .ci/setup dev
	@echo "lint: style"
	@$(BIN)/ruff check --quiet .
	@echo "lint: formatting"
	@$(BIN)/ruff format --check --quiet .
	@echo "lint: types"
	@$(BIN)/mypy
	@echo "lint: layers"
	@$(BIN)/lint-imports --no-cache --no-logo

docs: ## the pages of docs/ as a site, docs/_build/html; a broken link is an error
	@sh .ci/setup dev
	@rm -rf docs/_build/html
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs: open $(CURDIR)/docs/_build/html/index.html in a browser"

setup: ## the virtual environment .venv, with what demo and tests need
	@sh .ci/setup dev

lock: ## compile requirements/*.txt from pyproject.toml (UPGRADE=1: to the newest releases)
	@UPGRADE=$(UPGRADE) sh .ci/lock

bench: ## what the engine adds to the calls it makes
	@sh .ci/setup dev
	@$(BIN)/python benchmarks/engine.py

clean: ## remove .venv, what the demo made, and caches
	@rm -rf .venv .demo dist build docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
