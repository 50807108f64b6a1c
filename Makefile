# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest -n 2

.PHONY: demo test format lint types layers check-slow catalog bench lock clean

demo: $(READY)
	$(BIN)/noutput demo

test: $(READY) lint types layers
	$(PYTEST)

check-slow: $(READY)
	$(PYTEST) -m slow

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

catalog: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tools/build_catalog.py

bench: $(READY)
	$(BIN)/python -m benchmarks

# constraints.txt pins every package by version and hash; nothing else is ever installed.
$(READY): constraints.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	if command -v uv >/dev/null 2>&1; then \
		VIRTUAL_ENV=.venv uv pip install --quiet --require-hashes -r constraints.txt && \
		VIRTUAL_ENV=.venv uv pip install --quiet --no-deps --no-build-isolation -e .; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints.txt && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	touch $@

lock:
	uv pip compile pyproject.toml --universal --python-version 3.11 --all-extras --group dev \
		--generate-hashes --no-emit-index-url --no-header --quiet --upgrade -o constraints.txt

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
