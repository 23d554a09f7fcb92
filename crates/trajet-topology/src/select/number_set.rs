//! Numbers that are equal, or equal but for a tolerance.

/// Relative difference of two numbers that are close.
const RELATIVE: f64 = 1e-5;
/// Absolute difference of two numbers that are close.
const ABSOLUTE: f64 = 1e-8;

/// Returns whether a number is close to a reference, as `numpy.isclose` defines it.
pub(super) fn is_close(number: f64, reference: f64) -> bool {
    number == reference
        || (number.is_finite()
            && reference.is_finite()
            && (number - reference).abs() <= ABSOLUTE + RELATIVE * reference.abs())
}

/// A set of numbers without NaN, which equals nothing.
pub(super) struct NumberSet(Vec<f64>);

impl NumberSet {
    /// Returns the set of these numbers.
    pub(super) fn new(numbers: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.filter(|number| !number.is_nan()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.dedup();
        NumberSet(sorted)
    }

    /// Returns whether a number is close to one of the set.
    pub(super) fn contain_close(&self, number: f64) -> bool {
        // The ends of the interval around each number of the set ascend with the number. So the last one whose interval
        // begins at or below `number` decides.
        let begins_below = |&reference: &f64| reference <= number || is_close(number, reference);
        let end = self.0.partition_point(begins_below);
        end > 0 && is_close(number, self.0[end - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_close_to_a_set_if_it_is_to_any_of_it(
            references in proptest::collection::vec(-3.0..3.0_f64, 0..6),
            shift in prop_oneof![-2e-5..2e-5_f64, -1.0..1.0_f64, Just(0.0)],
            choice in any::<proptest::sample::Index>(),
        ) {
            let number = match references.is_empty() {
                true => shift,
                false => references[choice.index(references.len())] * (1.0 + shift),
            };
            let set = NumberSet::new(references.iter().copied());
            let close = references.iter().any(|&reference| is_close(number, reference));
            prop_assert_eq!(set.contain_close(number), close);
        }
    }

    #[test]
    fn infinity_is_close_to_itself_only() {
        let set = NumberSet::new([f64::INFINITY, 1.0, f64::NAN].into_iter());
        assert!(set.contain_close(f64::INFINITY) && set.contain_close(1.000001));
        assert!(!set.contain_close(f64::NEG_INFINITY) && !set.contain_close(1e300));
        assert!(!set.contain_close(f64::NAN));
    }
}
