# Included by the Makefile: what PyPI gets.

.PHONY: viewer wheel wheels wheel-aarch64 cross-tools sdist validate

# Programs of others that draw the page of `trajet view`, with npm. Fetched, ignored by git and contained in wheels, as
# the plug-in for VMD is built.
VIEWER := python/trajet/viewer/vendor
viewer: $(VIEWER)/uPlot-LICENSE
# The last file that is fetched.
$(VIEWER)/uPlot-LICENSE: packaging/fetch_viewer.py | tools
	$(PYTHON) packaging/fetch_viewer.py

# Of the crates that are linked into wheels; ignored by git, too.
LICENCES := python/trajet/LICENSES-OF-CRATES.txt
$(LICENCES): Cargo.lock packaging/crate_licences.py | tools
	$(PYTHON) packaging/crate_licences.py $@

# $(call build_wheel,PROCESSOR,variables): Zig links against the C library of 2014, so that a wheel runs wherever there
# is a later one.
define build_wheel
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

# For this machine's system and processor, tried in an environment without Rust.
MACHINE := $(shell uname -m)
wheel: .venv/.made-built .venv/.made-wheel-tools viewer $(LICENCES)
	$(call $(if $(IS_MACOS),build_macos_wheel,build_wheel),$(MACHINE))
	$(BIN)/python packaging/check_wheel.py dist/*_$(MACHINE).whl

# For x86-64 and aarch64. Missing tools are reported before the first wheel is built.
wheels: cross-tools
	$(MAKE) wheel
	$(MAKE) wheel-aarch64

# With Debian's Rust, which has a standard library for other processors; tried under qemu. The plug-in of this machine is
# put back.
wheel-aarch64: cross-tools .venv/.made-built .venv/.made-wheel-tools .venv/.made-aarch64-tools viewer $(LICENCES)
	$(call build_wheel,aarch64,RUSTC=/usr/bin/rustc)
	$(call build_molfile,release)
	$(BIN)/python packaging/check_aarch64.py dist/*_aarch64.whl

CROSS := dpkg --add-architecture arm64 && apt-get update && apt-get install rustc-web libstd-rust-web-dev:arm64 qemu-user
cross-tools:
	@test "$(MACHINE)" = x86_64 || { echo "the wheel for aarch64 is cross-compiled on x86-64; make wheel builds one for this machine, $(MACHINE)" >&2; exit 1; }
	@$(call need,qemu-aarch64,$(CROSS))
	@test -e /usr/lib/rustlib/aarch64-unknown-linux-gnu || { echo "Rust for aarch64 is missing: $(CROSS)" >&2; exit 1; }

# Nothing but the archive, Rust and pip's own environment: what pip does where there is no wheel.
sdist: .venv/.made-venv
	rm -f dist/*.tar.gz
	$(BIN)/maturin sdist --out dist
	$(PYTHON) packaging/check_sdist.py dist/*.tar.gz

# Metadata, citation and workflows; before a release.
VALIDATORS := .venv-validators/bin
validate: .venv-validators/.made .venv-cffconvert/.made .venv/.made-venv
	@$(call need,go,apt-get install golang or https://go.dev/dl)
	GOBIN="$(CURDIR)/$(VALIDATORS)" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	$(VALIDATORS)/validate-pyproject pyproject.toml
	.venv-cffconvert/bin/cffconvert --validate --infile CITATION.cff
	PATH="$(CURDIR)/$(VALIDATORS):$$PATH" actionlint
	$(BIN)/maturin sdist --out .venv-validators/dist
	$(VALIDATORS)/twine check --strict .venv-validators/dist/*.tar.gz $(wildcard dist/*.whl)
