//! Known and randomly changed inputs of each target, without measuring coverage.
//!
//! `MUTATION_SECONDS` is the time for the changed ones of each target, `FUZZ_TARGETS` names some targets, and
//! `FUZZ_SEED` repeats a run.

use std::env::var;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use trajet_fuzz::{Mutations, TARGETS, watch};

// One test: memory is counted for the whole process.
#[test]
fn known_and_changed_inputs_hold_the_laws() {
    let seed = var("FUZZ_SEED").map_or_else(
        |_| UNIX_EPOCH.elapsed().expect("a later time").as_nanos() as u64,
        |seed| seed.parse().expect("FUZZ_SEED is a number"),
    );
    let seconds = var("MUTATION_SECONDS").map_or(1.0, |text| text.parse().expect("a number"));
    let names = var("FUZZ_TARGETS").unwrap_or_default();
    let chosen: Vec<&str> = names.split_whitespace().collect();
    let artifacts = Path::new("artifacts");
    std::fs::create_dir_all(artifacts).expect("a folder can be made");
    println!("FUZZ_SEED={seed}; the input that fails stays in fuzz/artifacts");
    watch();
    for (name, target) in TARGETS {
        if chosen.is_empty() || chosen.contains(name) {
            let current = artifacts.join(format!("{name}-last"));
            let mutations = Mutations::new(*target, &Path::new("corpus").join(name), current, seed);
            let (known, changed) = mutations
                .and_then(|mutations| mutations.run(Duration::from_secs_f64(seconds)))
                .expect("inputs can be read and written");
            println!("{name}: {known} known inputs, {changed} changed ones");
        }
    }
}
