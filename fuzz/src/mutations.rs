//! Random changes of known inputs, without measuring coverage.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::seeds::Drawn;
use crate::targets::Target;

/// Most bytes of an input, as for libFuzzer in fuzz.mk.
const MAX_LEN: usize = 4096;
/// Fewest changed inputs, also on a busy machine.
const LEAST: usize = 100;
/// Seconds that a case may last.
const TIMEOUT: u64 = 10;
/// Bytes at the limits of signed and unsigned numbers, and those that text formats give a meaning.
const SPECIAL: [u8; 16] = *b"\x00\x01\x7f\x80\xff\xfe \n\t.-+0\"'#";

/// Number of cases that have begun; the watch ends the process if it stays the same for too long.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Random changes of the inputs of one target.
#[derive(Debug)]
pub struct Mutations {
    target: Target,
    inputs: Vec<Vec<u8>>,
    current: PathBuf,
    drawn: Drawn,
}

impl Mutations {
    /// Reads the corpus of a target and adds its seeds. The current input is kept in the file `current`, which a
    /// process that dies leaves behind.
    ///
    /// # Errors
    /// If a folder or file cannot be read.
    pub fn new(target: Target, corpus: &Path, current: PathBuf, seed: u64) -> io::Result<Self> {
        let mut inputs = (target.seeds)();
        if corpus.is_dir() {
            let mut paths: Vec<_> =
                fs::read_dir(corpus)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
            paths.sort();
            for path in paths {
                inputs.push(fs::read(path)?);
            }
        }
        // Xorshift stays at zero.
        Ok(Mutations { target, inputs, current, drawn: Drawn(seed.max(1)) })
    }

    /// Checks all known inputs, and then changed ones for some time; returns the numbers of both.
    ///
    /// # Errors
    /// If the current input cannot be kept.
    ///
    /// # Panics
    /// If a law is broken.
    pub fn run(mut self, time: Duration) -> io::Result<(usize, usize)> {
        for input in &self.inputs {
            self.check(input)?;
        }
        let (begin, mut n_changed) = (Instant::now(), 0);
        while n_changed < LEAST || begin.elapsed() < time {
            let input = self.changed();
            self.check(&input)?;
            n_changed += 1;
        }
        fs::remove_file(&self.current)?;
        Ok((self.inputs.len(), n_changed))
    }

    fn check(&self, input: &[u8]) -> io::Result<()> {
        fs::File::create(&self.current)?.write_all(input)?;
        BEGUN.fetch_add(1, Ordering::Relaxed);
        (self.target.check)(input);
        Ok(())
    }

    /// Returns a known input with one to four changes.
    fn changed(&mut self) -> Vec<u8> {
        let mut input = self.known().to_vec();
        for _ in 0..=self.drawn.below(4) {
            self.change(&mut input);
        }
        input.truncate(MAX_LEN);
        input
    }

    fn known(&mut self) -> &[u8] {
        &self.inputs[self.drawn.below(self.inputs.len() as u32) as usize]
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.drawn.below(input.len() as u32 + 1) as usize;
        let here = at..input.len().min(at + 1 + self.drawn.below(16) as usize);
        match self.drawn.below(9) {
            0 if !here.is_empty() => input[at] ^= 1 << self.drawn.below(8),
            1 if !here.is_empty() => input[at] = self.drawn.next() as u8,
            2 if !here.is_empty() => {
                input[at] = SPECIAL[self.drawn.below(SPECIAL.len() as u32) as usize];
            }
            // A number of four bytes: small, negative or any, in either order.
            3 if here.len() >= 4 => {
                let any = self.drawn.next();
                let number = [any % 32, 0u32.wrapping_sub(any % 32), any, 1 << (any % 32)];
                let number = number[self.drawn.below(4) as usize];
                let big = self.drawn.below(2) == 0;
                let bytes = if big { number.to_be_bytes() } else { number.to_le_bytes() };
                input[at..at + 4].copy_from_slice(&bytes);
            }
            4 => drop(input.drain(here)),
            5 => {
                let again = input[here].to_vec();
                let to = self.drawn.below(input.len() as u32 + 1) as usize;
                drop(input.splice(to..to, again));
            }
            6 => {
                let n = 1 + self.drawn.below(16);
                let bytes: Vec<u8> = (0..n).map(|_| self.drawn.next() as u8).collect();
                drop(input.splice(at..at, bytes));
            }
            7 => input.truncate(at),
            // The end of another input.
            _ => {
                let share = self.drawn.next();
                let other = self.known();
                let from = share as usize % (other.len() + 1);
                let end = other[from..].to_vec();
                input.truncate(at);
                input.extend(end);
            }
        }
    }
}

/// Ends the process when a case lasts too long. Called once, for all targets.
pub fn watch() {
    std::thread::spawn(|| {
        let mut before = 0;
        loop {
            std::thread::sleep(Duration::from_secs(TIMEOUT));
            let now = BEGUN.load(Ordering::Relaxed);
            if now == before {
                eprintln!("an input has taken more than {TIMEOUT} s");
                std::process::abort();
            }
            before = now;
        }
    });
}
