//! The target that the environment variable `FUZZ_TARGET` names, for libFuzzer.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use trajet_fuzz::{Target, target, write_seeds};

static TARGET: LazyLock<Target> =
    LazyLock::new(|| target(&std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target")));

fuzz_target!(
    init: write_seeds(*TARGET),
    |input: &[u8]| -> Corpus {
        if (TARGET.check)(input) { Corpus::Keep } else { Corpus::Reject }
    }
);
