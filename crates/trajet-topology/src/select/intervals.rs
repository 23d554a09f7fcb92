//! Sets of numbers given as ranges.

use std::cmp::Ordering;

/// Closed intervals, sorted and disjoint.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Intervals<T> {
    sorted: Vec<(T, T)>,
}

impl<T: Ord> Intervals<T> {
    /// Returns the union of closed intervals `(first, last)`; those with `last < first` are empty.
    pub(super) fn new(mut intervals: Vec<(T, T)>) -> Self {
        intervals.retain(|(first, last)| first <= last);
        intervals.sort_unstable();
        let mut sorted: Vec<(T, T)> = Vec::new();
        for (first, last) in intervals {
            match sorted.last_mut() {
                Some((_, end)) if first <= *end => {
                    if *end < last {
                        *end = last;
                    }
                }
                _ => sorted.push((first, last)),
            }
        }
        Intervals { sorted }
    }

    /// Returns whether a value is in an interval, given how bounds compare with it.
    pub(super) fn contain_by(&self, compare: impl Fn(&T) -> Ordering) -> bool {
        let next = self.sorted.partition_point(|(first, _)| compare(first).is_le());
        next > 0 && compare(&self.sorted[next - 1].1).is_ge()
    }
}

impl Intervals<i64> {
    /// Returns whether a number is in an interval.
    pub(super) fn contain(&self, number: i64) -> bool {
        self.contain_by(|bound| bound.cmp(&number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_contained_if_any_interval_holds_it(
            intervals in proptest::collection::vec((-20..20_i64, -20..20_i64), 0..8),
            number in -25..25_i64,
        ) {
            let expected = intervals.iter().any(|&(first, last)| first <= number && number <= last);
            prop_assert_eq!(Intervals::new(intervals).contain(number), expected);
        }
    }
}
