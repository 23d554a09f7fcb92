# make demo   trajet demo: a table, a plot, a CSV and a report of a simulation that comes with it
# make test   every gate and test
# CONTRIBUTING.md has a table of the others. All of them install what they need into .venv, or into a .venv-GROUP of its
# own, and work again when called again; what is missing and comes from elsewhere they name.

PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled to bytecode when they are imported, once: most of what pip installs never is.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := -m pip install --quiet --no-compile
PIP := $(BIN)/python $(INSTALL)
# Builds call the tools of the virtual environment by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Cargo would look for make's job server, which only recipes that call make are given.
export CARGO_MAKEFLAGS :=
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
# Whichever build of trajet is installed.
INSTALLED := $(or $(wildcard .venv/.made-tested),.venv/.made-built)
# $(call need,PROGRAM,how to install it)
need = command -v $(1) >/dev/null || { echo "$(1) is missing: $(2)" >&2; exit 1; }

TESTS := long gromacs valgrind openmpi slurm mdakits peers mpio torch moto browser
.PHONY: demo test gates rust-tests python-tests coverage $(addprefix test-,$(TESTS)) docs bench tools clean
.DELETE_ON_ERROR:
.SECONDARY:

demo: .venv/.made-built
	@$(BIN)/trajet demo demo-output

# Compilers and pip leave a core idle half of the time: two targets at once. The Python tests use both
# cores themselves, and come last, so that their closing line ends the output.
test:
	$(MAKE) --jobs=2 gates rust-tests
	$(MAKE) python-tests

gates: .venv/.made-tested
	cargo fmt --check
# Nothing is linked, so that libFuzzer itself need not be compiled.
	CUSTOM_LIBFUZZER_PATH=/not/linked/libfuzzer.a cargo clippy --locked --profile gate --workspace --all-targets \
		--features trajet-fuzz/libfuzzer --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --profile gate --workspace --no-deps --quiet
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python packaging/import_cycles.py
	$(BIN)/python packaging/option_names.py
	$(BIN)/python packaging/record_types.py --check
	$(BIN)/python packaging/signatures.py --check
	$(BIN)/python packaging/counts.py
	@for name in $(TESTS); do grep -q "{target: test-$$name[,}]" .github/workflows/nightly.yml || \
		{ echo "nightly.yml does not run test-$$name" >&2; exit 1; }; done

# The bindings are tested from Python. There are no examples in the documentation to run, which tests/docs checks.
# trajet-fuzz puts the corpus of each fuzz target and random changes of it through the parsers.
TESTED := --locked --profile gate --workspace --exclude trajet-py
rust-tests: tools
	PROPTEST_CASES=128 cargo test $(TESTED) --tests

# Processes that run test files at the same time: more than cores, as many tests wait for other processes.
# tests/conftest.py gives the order of the files.
TEST_PROCESSES ?= 4
PYTEST := $(BIN)/python -m pytest
PYTEST_PARALLEL := $(PYTEST) -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
python-tests: .venv/.made-tested
	$(PYTEST_PARALLEL)

# The lines that tests of each language run, coverage/rust.lcov and coverage/python.xml.
coverage: .venv/.made-tested .venv/.made-coverage-tools
	@$(call need,cargo-llvm-cov,cargo install cargo-llvm-cov)
	mkdir -p coverage
	cargo llvm-cov $(TESTED) --tests --lcov --output-path coverage/rust.lcov
	$(PYTEST_PARALLEL) --cov=trajet --cov-report=term --cov-report=xml:coverage/python.xml

include fuzz/fuzz.mk packaging/release.mk

# An error at every file operation, 25 kills where the gate has a few, 100 signals of each kind, minutes of
# fuzzing for each target, many examples of property tests, wide matrices of pools, formats and the benches, and
# published files: TRAJET_CHEMFILES_DATA, TRAJET_GROMACS_SOURCE and TRAJET_USER_GUIDE name their folders.
test-long: .venv/.made-tested
	PROPTEST_CASES=10000 cargo test $(TESTED)
	PROPTEST_CASES=100000 cargo test --locked --profile gate -p trajet-formats -p trajet-files --lib
	$(MAKE) --jobs=2 fuzz FUZZ_SECONDS=600 FUZZ_LEVEL=3
	$(PYTEST) tests/external/with_published_files.py tests/external/with_user_guide.py
	$(PYTEST_PARALLEL) -k "kill or killed or kills" --kills 25
	$(PYTEST) tests/cli/test_signals.py --kills 100
	$(PYTEST_PARALLEL) -m long
	TRAJET_TEST_LONG=1 $(PYTEST_PARALLEL) -m "hypothesis and not long"
	TRAJET_TEST_LONG=1 $(PYTEST_PARALLEL) tests/analyses

test-gromacs: .venv/.made-tested
	@$(call need,gmx,apt-get install gromacs)
	$(PYTEST) tests/external/with_gromacs.py

# Hosts end badly for every byte that is lost, or read before it was written.
test-valgrind: tools
	@$(call need,valgrind,apt-get install valgrind)
	TRAJET_HOST_UNDER="valgrind --quiet --leak-check=full --error-exitcode=9" \
		cargo test --locked -p trajet-molfile --test hosts

# Open MPI runs as root and on few cores too.
test-openmpi: .venv/.made-tested .venv-openmpi/.made
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_osc=^ucx \
		MPI4PY_LIBMPI="$$(echo "$(CURDIR)"/.venv-openmpi/lib/libmpi.so.*)" \
		TRAJET_MPIEXEC="$(CURDIR)/.venv-openmpi/bin/mpiexec --oversubscribe" \
		$(PYTEST) tests/pools/test_mpi.py tests/pools/test_ranks.py

test-slurm: .venv/.made-tested .venv/.made-slurm-tools
	@$(call need,slurmctld,apt-get install slurm-wlm)
	tests/external/slurm_here.sh $(PYTEST) tests/external/with_slurm.py

# The h5py that knows MPI uses the MPICH of Debian.
FIRST_mpio := PYTHON=$(PYTHON) sh packaging/parallel_h5py.sh .venv-mpio
test-mpio: .venv-mpio/.made-built
	TRAJET_MPIEXEC=mpiexec.mpich .venv-mpio/bin/python -m pytest tests/mpio

# Tests whose environment has not all that tests/conftest.py imports.
ALONE := -m pytest -s -c /dev/null --rootdir . --noconftest
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu installs a smaller PyTorch, without CUDA. The package of the
# test files would bring MDAnalysis.
test-torch: .venv-torch/.made-built
	.venv-torch/bin/python $(INSTALL) --no-deps --group test-files
	.venv-torch/bin/python $(ALONE) tests/with_torch

test-moto: .venv/.made-tested .venv-moto/.made
	TRAJET_MOTO=.venv-moto/bin/python $(BIN)/python $(ALONE) tests/external/with_moto.py

test-mdakits: .venv-kits/.made-built
	.venv-kits/bin/python $(ALONE) tests/external/with_mdakits.py

test-peers: .venv-peers/.made-built
	PYTHONPATH=tests .venv-peers/bin/python $(ALONE) tests/external/with_prolif.py tests/external/with_prolif_bits.py \
		tests/external/with_prolif_poses.py tests/external/with_pymbar.py tests/external/with_text_readers.py \
		tests/external/with_transport_kits.py

# The gate runs these tests too where Chromium and Playwright are installed.
test-browser: .venv/.made-tested .venv/.made-browser-tools viewer
	@command -v chromium >/dev/null || apt-get install --yes --no-install-recommends chromium
	$(PYTEST) tests/view

# Sources are pages of the whole repository, see docs/conf.py; those that the build makes are in docs/generated.
docs: $(INSTALLED) .venv/.made-docs-tools
	$(BIN)/python -m sphinx -W --keep-going --quiet -c docs -d docs/generated/doctrees . site
	@echo site/index.html

# trajet beside its peers and its limits, in one run; QUICK=1: short files, no record.
bench: .venv/.made-built .venv/.made-bench-tools
	$(BIN)/python benches/trajectories.py
	-cargo build --release --locked --manifest-path benches/molly/Cargo.toml
	$(BIN)/python benches/compare.py $(if $(QUICK),--quick)
	$(BIN)/python benches/stages.py $(if $(QUICK),--quick)
	$(BIN)/python benches/compare.py --copies $(if $(QUICK),--quick)

# What must be there already.
tools:
	@$(call need,cargo,install Rust 1.89 or newer with rustup (https://rustup.rs) or your package manager)
	@$(call need,cc,apt-get install build-essential; or gcc or clang by another package manager)
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer with venv is missing: apt-get install python3-venv, or PYTHON=python3.12 or the like" >&2; exit 1; }

# An environment with a group of packages in pyproject.toml, which says why it is apart. Older versions of pip know no
# groups. FIRST_GROUP is what comes before.
.venv-%/.made: pyproject.toml | tools
	$(PYTHON) -m venv --upgrade-deps $(@D)
	$(FIRST_$*)
	$(@D)/bin/python $(INSTALL) --group $*
	@touch $@

# trajet in such an environment.
.venv-%/.made-built: .venv-%/.made .venv/.made-built
	$(@D)/bin/python $(INSTALL) --no-build-isolation --editable .
	@touch $@

.venv/.made-venv: | tools
	$(PYTHON) -m venv --upgrade-deps .venv
	$(PIP) --group build
	@touch $@

# The plug-in is no part of the native module, which VMD could not load without Python. Both are built in one profile,
# that of releases or that of the tests (Cargo.toml); the markers .made-built and .made-tested tell which is installed.
MOLFILE := python/trajet/molfile/trajet_molfile.so
MOLFILE_BUILD := rustc --quiet --locked -p trajet-molfile --lib --crate-type cdylib
IS_MACOS := $(filter Darwin,$(shell uname -s))
# VMD loads files that end in .so on macOS too.
install_molfile = mkdir -p $(dir $(MOLFILE)) && \
	install "$${CARGO_TARGET_DIR:-target}/$(1)/libtrajet_molfile.$(if $(IS_MACOS),dylib,so)" $(MOLFILE)
build_molfile = cargo $(MOLFILE_BUILD) --profile $(1) -- -C strip=symbols && $(call install_molfile,$(1))

.venv/.made-built: .venv/.made-venv pyproject.toml $(RUST_SOURCES) | tools
	@echo "building the native module: some minutes, the first time"
	$(call build_molfile,release)
	$(PIP) --no-build-isolation --editable .
	@rm -f .venv/.made-tested; touch $@

.venv/.made-tested: .venv/.made-venv pyproject.toml $(RUST_SOURCES) | tools
	$(call build_molfile,gate)
	TRAJET_TEST_BUILD=1 MATURIN_PEP517_ARGS="--profile gate" $(PIP) --no-build-isolation --editable '.[all]'
	$(PIP) --group test
	@rm -f .venv/.made-built; touch $@

# A group in .venv. Those that name trajet come after it.
.venv/.made-bench-tools .venv/.made-docs-tools .venv/.made-aarch64-tools: | $(INSTALLED)
.venv/.made-%-tools: pyproject.toml | .venv/.made-venv
	$(PIP) --group $*
	@touch $@

clean:
	rm -rf .venv .venv-* dist target site docs/generated coverage demo-output benches/molly/target benches/data
	rm -rf fuzz/target fuzz/found fuzz/artifacts python/trajet/molfile $(VIEWER) $(LICENCES)
