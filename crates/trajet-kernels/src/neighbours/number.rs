//! Numbers of coordinates.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

/// A number of a coordinate: `f64`, or `f32` for coordinates that only screen pairs.
pub trait Number:
    Copy + Debug + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Zero.
    const ZERO: Self;
    /// Infinity.
    const INFINITY: Self;
    /// Whether these coordinates only screen pairs.
    const IS_SCREENED: bool;

    /// Rounds a number.
    fn of(number: f64) -> Self;
}

macro_rules! number {
    ($type:ty, $screened:literal) => {
        impl Number for $type {
            const ZERO: $type = 0.0;
            const INFINITY: $type = <$type>::INFINITY;
            const IS_SCREENED: bool = $screened;

            #[inline(always)]
            fn of(number: f64) -> $type {
                number as $type
            }
        }
    };
}

number!(f32, true);
number!(f64, false);
