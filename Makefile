# `make demo` and `make test` are the two commands of the README. Both set up what they need in .venv
# (Python 3.11 or newer, git and make are enough) and need no network once that is done.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python
RUN := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: help setup
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

setup: ## the virtual environment, with everything that tests and demo need
	@sh .ci/setup dev
