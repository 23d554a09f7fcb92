//! The input is a whole file, of GRO or of no known format.
#![no_main]

use trajet_fuzz::Format;

libfuzzer_sys::fuzz_target!(|input: &[u8]| -> libfuzzer_sys::Corpus {
    trajet_fuzz::trajectory(Format::Gro, input)
});
