# make run · make test · make bench · make package · make deploy ENV=dev PROJECT=…
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: setup run test lint acceptance

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[s3,dev]'
	touch $@

run: $(STAMP)
	$(BIN)/python -m infra.gateway

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy shared infra functions

test: $(STAMP) lint
	$(BIN)/pytest tests

acceptance: $(STAMP)
	$(BIN)/python -m infra.acceptance $(SUITE)
