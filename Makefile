# Two commands do all the set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.all
PYTEST := $(BIN)/python -m pytest
# Matrices are small: several threads per process only wait for each other.
export OPENBLAS_NUM_THREADS := 1

.SECONDARY:
.PHONY: demo test fast spark format lint types layers docs coverage kernels check-slow catalog bench \
	release-check jvm lock clean

demo: .venv/.demo
	$(BIN)/noutput demo

# Two cores are busy from the start to the end: what needs one goes on beside the tests on two.
test: $(READY)
	$(MAKE) -j 2 fast lint types layers docs spark

fast: $(READY)
	$(PYTEST) -n 2 -m "not slow and not spark"

# Spark starts once and serves its tests one after the other.
spark: $(READY)
	$(PYTEST) -m "spark and not slow"

# `make test` with branch coverage measured, in every process that the tests start, and held at the
# level that pyproject.toml names. `coverage html` then shows the lines.
coverage: $(READY)
	$(BIN)/coverage erase
	$(MAKE) test PYTEST="$(BIN)/coverage run -m pytest"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# What computes with matrices, as on a processor without AVX2: sums are rounded in another order.
KERNEL := OPENBLAS_CORETYPE=Sandybridge NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"

kernels: $(READY)
	$(KERNEL) $(PYTEST) -n 2 -m "not slow and not spark" \
		$(foreach part,mechanisms designs estimate planner,src/noutput/$(part) tests/$(part))

check-slow: $(READY)
	$(PYTEST) -n 2 -m "slow and not spark"
	$(PYTEST) -m "slow and spark"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

# A warning is an error: a broken link, a formula that cannot be set, a name that is not there.
docs: $(READY)
	$(BIN)/sphinx-build -E -W --keep-going -q -b html docs docs/_build/html

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

catalog: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tools/build_catalog.py
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.build_answers
	$(BIN)/python -m tools.train_catalog

# The peers are installed into .venv-peers. `make bench PARTS="frames analyst"` measures other parts.
bench: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks $(PARTS)

# Builds the wheel, the sdist and the npm tarball, installs each into an empty environment, uses it.
release-check: $(READY)
	$(BIN)/python -m tools.release_check

# The client for Kotlin, Java and Android: clients/jvm/build/noutput-client-jvm.jar. Needs a JDK alone.
jvm:
	clients/jvm/build.sh

# Every package is pinned by version and hash; nothing else is ever installed. What the demo needs
# is a small part of what the tests need. `__init__.py` has the version, which is installed too.
.venv/.%: constraints-%.txt pyproject.toml src/noutput/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	if command -v uv >/dev/null 2>&1; then \
		VIRTUAL_ENV=.venv uv pip install --quiet --require-hashes -r $< && \
		VIRTUAL_ENV=.venv uv pip install --quiet --no-deps --no-build-isolation -e .; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $< && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	touch $@

COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --quiet

lock:
	$(COMPILE) --upgrade --all-extras --group dev -o constraints-all.txt
	$(COMPILE) --extra collector --extra plot --group build -c constraints-all.txt -o constraints-demo.txt
	$(COMPILE) --extra collector -c constraints-all.txt -o constraints-collector.txt
	$(subst pip compile pyproject.toml,pip compile --group pyproject.toml:build,$(COMPILE)) \
		-c constraints-all.txt -o constraints-build.txt

clean:
	rm -rf .venv .venv-peers .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache docs/_build htmlcov .coverage .coverage.*
