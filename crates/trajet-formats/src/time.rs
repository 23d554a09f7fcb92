//! Times of frames: as text, in titles, and how well files state them.

use crate::text::{decimal, integer, words};

/// The precision with which a file stores times. It limits how well time steps can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePrecision {
    /// Single precision.
    Single,
    /// Double precision.
    Double,
    /// Multiples, in double precision, of a time step in single precision.
    SingleStep,
    /// Decimal digits.
    Text,
}

impl TimePrecision {
    /// Returns the name used by Python.
    pub fn name(self) -> &'static str {
        match self {
            TimePrecision::Single => "single",
            TimePrecision::Double | TimePrecision::SingleStep => "double",
            TimePrecision::Text => "text",
        }
    }
}

/// Time (ps) and step in the title of a frame, as GROMACS writes them: "Water t= 100.00000 step= 50000".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TitleTime {
    /// Time, ps.
    pub time: Option<f64>,
    /// Integration step.
    pub step: Option<i64>,
}

impl TitleTime {
    /// Parses a title.
    pub fn parse(title: &[u8]) -> TitleTime {
        TitleTime {
            time: word_behind(title, b"t=").and_then(decimal),
            step: word_behind(title, b"step=").and_then(integer),
        }
    }

    /// Returns time and step of frame `number` of a file whose frame 0 does or does not state a time. If it does, a
    /// frame without a time has an unknown one, NaN; else times are the numbers of the frames.
    pub fn of_frame(self, number: u64, first_has_time: bool) -> (f64, i64) {
        let time = if first_has_time { self.time.unwrap_or(f64::NAN) } else { number as f64 };
        (time, self.step.unwrap_or(number as i64))
    }
}

/// Returns the word behind the last occurrence of a label that is not the end of a longer word.
fn word_behind<'a>(title: &'a [u8], label: &[u8]) -> Option<&'a [u8]> {
    let is_label = |at: usize| at == 0 || !title[at - 1].is_ascii_alphanumeric();
    let mut places = title.windows(label.len()).enumerate().rev();
    let (at, _) = places.find(|&(at, window)| window == label && is_label(at))?;
    words(&title[at + label.len()..]).next()
}

/// Returns a time (ps) as text: the shortest form that single precision distinguishes if the number is one of
/// single precision, else ten digits. Zero has no sign.
pub fn text(time: f64) -> String {
    let single = time as f32;
    if time == 0.0 {
        return "0".to_owned();
    }
    if f64::from(single) == time {
        return single.to_string();
    }
    format!("{time:.9e}").parse::<f64>().unwrap_or(time).to_string()
}

/// Share of the time between two frames by which single precision may change it.
const MAX_CHANGED: f64 = 0.1;
/// Frames that are closer than this share of the mean time between frames are one frame, written twice.
const REPEATED: f64 = 1e-3;

/// Returns the first frame whose time since the frame before it is changed by more than a tenth in single precision;
/// `None` if single precision holds the times (ps).
pub fn first_blurred(times: &[f64]) -> Option<usize> {
    let (first, last) = (times.first()?, times.last()?);
    let least = REPEATED * (last - first).abs() / times.len() as f64;
    let is_blurred = |pair: &[f64]| {
        let between = pair[1] - pair[0];
        let stored = f64::from(pair[1] as f32) - f64::from(pair[0] as f32);
        between.abs() > least && (stored - between).abs() > MAX_CHANGED * between.abs()
    };
    times.windows(2).position(is_blurred).map(|k| k + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_holds_times_that_it_does_not_blur() {
        let times = |begin: f64, step: f64| -> Vec<f64> {
            (0..100).map(|k| begin + step * f64::from(k)).collect()
        };
        for (begin, step) in [(0.0, 0.1), (1e6, 1.0), (1e6, 0.999_999), (1e7, 10.3), (-5.0, 1e-3)] {
            assert_eq!(first_blurred(&times(begin, step)), None, "{begin} {step}");
        }
        assert_eq!(first_blurred(&times(2e7, 0.5)), Some(1));
        assert_eq!(first_blurred(&times(16_777_214.0, 1.0)), Some(3));
        assert_eq!(
            first_blurred(&[0.0, 1.0, 1.0 + 1e-12, 2.0]),
            None,
            "a frame that was written twice"
        );
        assert_eq!(first_blurred(&[f64::NAN; 3]), None);
        assert_eq!(first_blurred(&[1e8]), None);
        assert_eq!(first_blurred(&[]), None);
    }

    #[test]
    fn times_and_steps_stand_in_titles() {
        for (title, time, step) in [
            ("Water t=   1.50000 step= 750", Some(1.5), Some(750)),
            ("t=1e3", Some(1000.0), None),
            ("at t= 1 and t= -2.0 step=3", Some(-2.0), Some(3)),
            ("salt=5 first=3", None, None),
            ("t=", None, None),
            ("step= 2.5", None, None),
            ("", None, None),
        ] {
            let found = TitleTime::parse(title.as_bytes());
            assert_eq!(found, TitleTime { time, step }, "{title:?}");
        }
    }

    #[test]
    fn a_time_that_only_some_titles_state_is_unknown() {
        let stated = TitleTime { time: Some(2.5), step: Some(7) };
        assert_eq!(stated.of_frame(3, true), (2.5, 7));
        assert_eq!(stated.of_frame(3, false), (3.0, 7));
        let (time, step) = TitleTime::default().of_frame(3, true);
        assert!(time.is_nan() && step == 3);
    }

    #[test]
    fn times_are_shown_without_rounding_noise() {
        for (time, text) in [
            (-0.0, "0"),
            (f64::from(0.999_999_94_f32), "0.99999994"),
            (f64::from(55.999_996_f32), "55.999996"),
            (f64::from(0.1_f32), "0.1"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.3"),
            (1e6 + 0.001, "1000000.001"),
            (-2.5, "-2.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(super::text(time), text);
        }
    }
}
