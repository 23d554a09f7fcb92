//! Times as text.

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

#[cfg(test)]
mod tests {
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
