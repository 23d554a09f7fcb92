//! Numbers of values in ascending order, which are the same for equal values.

/// Stands for values that equal nothing, not even themselves.
pub(super) const NONE: u32 = u32::MAX;

/// Returns for each value the number of those that are less, each counted once; [`NONE`] for values that equal
/// nothing.
pub(super) fn ranks<T: Copy + PartialOrd>(values: &[T]) -> Vec<u32> {
    let is_equal_to_itself = |value: &T| value.partial_cmp(value).is_some();
    let mut sorted: Vec<T> = values.iter().copied().filter(is_equal_to_itself).collect();
    sorted.sort_unstable_by(|a, b| a.partial_cmp(b).expect("neither is NaN"));
    sorted.dedup_by(|a, b| a == b);
    let rank = |value: &T| match is_equal_to_itself(value) {
        true => sorted.partition_point(|other| other < value) as u32,
        false => NONE,
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_are_the_same_for_equal_values_only(
            numbers in proptest::collection::vec(
                prop_oneof![Just(f64::NAN), Just(0.0), Just(-0.0), Just(f64::INFINITY), -2.0..2.0_f64],
                0..30,
            )
        ) {
            let found = ranks(&numbers);
            for (a, one) in numbers.iter().zip(&found) {
                prop_assert_eq!(*one == NONE, a.is_nan());
                for (b, other) in numbers.iter().zip(&found) {
                    prop_assert_eq!(a == b, one == other && *one != NONE);
                }
            }
        }
    }
}
