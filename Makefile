# make demo   the main job on a real trajectory: a table, a plot, a CSV and a report
# make test   every gate and test
# make wheel  a wheel for any x86-64 Linux, tried in an environment without Rust
# make bench  trajet beside MDAnalysis, mdtraj and molly, in one run
# All of them install what they need into .venv and work again when called again.

PYTHON ?= python3
BIN := .venv/bin
# Builds call the tools of the virtual environment by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: demo test wheel bench gates rust-tests fuzz python-tests tools clean
.DELETE_ON_ERROR:

demo: .venv/.made-built
	@$(BIN)/python examples/demo.py

# The Python tests come last, so that their closing line ends the output.
test: gates rust-tests fuzz python-tests

gates: .venv/.made-built .venv/.made-test-tools
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
	$(BIN)/ruff format --check python tests benches examples packaging
	$(BIN)/ruff check python tests benches examples packaging
	$(BIN)/mypy
	$(BIN)/lint-imports

rust-tests: tools
	cargo test --locked --workspace

# Damaged, cut and random files through the parsers; FUZZ_CASES=1000000 for a long run.
FUZZ_CASES ?= 20000
fuzz: tools
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --locked --release -p trajet-io --lib

python-tests: .venv/.made-built .venv/.made-test-tools
	$(BIN)/python -m pytest

# Zig links against the C library of 2014, so that the wheel runs wherever there is a later one.
wheel: .venv/.made-built
	$(BIN)/python -m pip install --quiet 'ziglang>=0.13'
	rm -rf dist
	$(BIN)/maturin build --release --locked --zig --compatibility manylinux2014 --out dist
	$(BIN)/python packaging/check_wheel.py dist/*.whl

bench: .venv/.made-built .venv/.made-bench-tools
	$(BIN)/python benches/trajectories.py
	cargo build --release --locked --manifest-path benches/molly/Cargo.toml
	$(BIN)/python benches/readers.py

# What must be there already, and what to do where it is not.
tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs) or your package manager, 1.89 or newer" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C linker is missing: apt-get install build-essential" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=python3.12 or the like" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "the venv module is missing: apt-get install python3-venv" >&2; exit 1; }

.venv/.made-venv: | tools
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.9,<2'
	@touch $@

# MDAnalysisTests holds the trajectory of the demonstration.
.venv/.made-python-packages: .venv/.made-venv pyproject.toml
	$(BIN)/python -m pip install --quiet 'MDAnalysisTests>=2.8'
	@touch $@

.venv/.made-built: .venv/.made-python-packages $(RUST_SOURCES) | tools
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	@touch $@

.venv/.made-test-tools: .venv/.made-built
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[test]'
	@touch $@

.venv/.made-bench-tools: .venv/.made-built
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable '.[bench]'
	@touch $@

clean:
	rm -rf .venv .make dist target demo-output benches/molly/target benches/data
