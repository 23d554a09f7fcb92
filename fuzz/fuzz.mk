# Included by the Makefile.

.PHONY: fuzz fuzz-again fuzz-corpus fuzz-tools

# Linking without optimisation across crates takes half of the time: results have the same bits.
fuzz fuzz-again fuzz-corpus: export CARGO_PROFILE_RELEASE_LTO := off
fuzz fuzz-again fuzz-corpus: export CARGO_PROFILE_RELEASE_DEBUG := 0

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
	@$(call need,$${CXX:-c++},apt-get install g++)
