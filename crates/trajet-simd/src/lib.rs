//! Detection of vector instructions, and macros that compile one function for each instruction set.
//!
//! Kernels are written once, over short arrays that the compiler turns into vectors, and
//! [`multiversion!`] compiles them for every set. No set has a fused multiply-add or another order of
//! operations, so that all of them yield the same bits.
#![allow(unsafe_code)]

pub mod lanes;
#[cfg(target_arch = "x86_64")]
pub mod x86;

use std::sync::OnceLock;

/// Environment variable that selects a set instead of the best one: `scalar`, `avx2` or `avx512`. For tests.
pub const VARIABLE: &str = "TRAJET_INSTRUCTION_SET";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// A set of vector instructions that this processor has.
///
/// **Invariant:** there is no value of a set that the processor lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSet(Kind);

impl Default for InstructionSet {
    fn default() -> Self {
        InstructionSet::chosen()
    }
}

impl InstructionSet {
    /// The set of every processor: SSE2 on x86-64, NEON on AArch64.
    pub const SCALAR: InstructionSet = InstructionSet(Kind::Scalar);

    /// Returns the sets that this processor supports, the best one last.
    pub fn available() -> Vec<InstructionSet> {
        #[allow(unused_mut)]
        let mut sets = vec![InstructionSet::SCALAR];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 =
                has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe");
            if avx2 {
                sets.push(InstructionSet(Kind::Avx2));
            }
            if avx2
                && has!("avx512f")
                && has!("avx512bw")
                && has!("avx512cd")
                && has!("avx512dq")
                && has!("avx512vl")
            {
                sets.push(InstructionSet(Kind::Avx512));
            }
        }
        sets
    }

    /// Returns the set to use: the best one, or the one in [`VARIABLE`].
    ///
    /// # Panics
    /// If that one is unsupported or unknown: call [`InstructionSet::check`] first.
    pub fn chosen() -> InstructionSet {
        static CHOSEN: OnceLock<InstructionSet> = OnceLock::new();
        *CHOSEN.get_or_init(|| match choose() {
            Ok(set) => set,
            Err(message) => panic!("{message}"),
        })
    }

    /// Checks that [`InstructionSet::chosen`] will find a set.
    ///
    /// # Errors
    /// A message on the value of [`VARIABLE`].
    pub fn check() -> Result<(), String> {
        choose().map(drop)
    }

    /// Returns the name for reports: `scalar`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Kind::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
        }
    }

    /// Returns whether this is AVX2 or better; for [`multiversion!`].
    #[doc(hidden)]
    #[inline]
    pub fn is_avx2(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Kind::Avx2;
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Returns whether this is AVX-512; for [`multiversion!`].
    #[doc(hidden)]
    #[inline]
    pub fn is_avx512(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Kind::Avx512;
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }
}

fn choose() -> Result<InstructionSet, String> {
    let sets = InstructionSet::available();
    let names = || sets.iter().map(|set| set.name()).collect::<Vec<_>>().join(", ");
    match std::env::var(VARIABLE) {
        Err(_) => Ok(*sets.last().expect("there is always one")),
        Ok(name) => sets.iter().copied().find(|set| set.name() == name).ok_or_else(|| {
            format!(
                "{VARIABLE}={name}: this processor has {}: name one of these or unset it",
                names()
            )
        }),
    }
}

/// Defines a function that runs `$body`, an `#[inline(always)]` function of the same arguments, compiled for the
/// instruction set given by its first argument.
#[macro_export]
macro_rules! multiversion {
    ($(#[$about:meta])* $vis:vis fn $name:ident $(<$($life:lifetime),+>)? ($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $body:path) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name $(<$($life),+>)? (set: $crate::InstructionSet, $($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe")]
                #[allow(clippy::too_many_arguments)]
                fn avx2 $(<$($life),+>)? ($($arg: $type),*) $(-> $out)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn avx512 $(<$($life),+>)? ($($arg: $type),*) $(-> $out)? {
                    $body($($arg),*)
                }
                if set.is_avx512() {
                    // SAFETY: a value of a set exists only if the processor supports all of it.
                    return unsafe { avx512($($arg),*) };
                }
                if set.is_avx2() {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = set;
            $body($($arg),*)
        }
    };
}

/// Defines a function that runs `$body`, an `#[inline(always)]` function over [`lanes::Lanes`], on the vectors of the
/// instruction set given by its first argument, or `$scalar` if there are none.
#[macro_export]
macro_rules! on_lanes {
    ($(#[$about:meta])* $vis:vis fn $name:ident ($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $body:path, $scalar:path) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)]
        $vis fn $name (set: $crate::InstructionSet, $($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    // SAFETY: this function is compiled for AVX2 and called only if that is supported.
                    $body(unsafe { $crate::x86::Avx2::new() }, $($arg),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    // SAFETY: this function is compiled for AVX-512 and called only if that is supported.
                    $body(unsafe { $crate::x86::Avx512::new() }, $($arg),*)
                }
                if set.is_avx512() {
                    // SAFETY: a value of a set exists only if the processor supports all of it.
                    return unsafe { avx512($($arg),*) };
                }
                if set.is_avx2() {
                    // SAFETY: as above.
                    return unsafe { avx2($($arg),*) };
                }
            }
            let _ = set;
            $scalar($($arg),*)
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn sum_of(numbers: &[f64]) -> f64 {
        numbers.iter().sum()
    }

    multiversion! {
        /// Adds.
        fn sum(numbers: &[f64]) -> f64 = sum_of
    }

    #[test]
    fn every_set_yields_the_same_bits() {
        let numbers: Vec<f64> = (1..1000).map(|k| 1.0 / f64::from(k)).collect();
        for set in InstructionSet::available() {
            assert_eq!(sum(set, &numbers).to_bits(), sum_of(&numbers).to_bits(), "{set:?}");
        }
    }
}
