//! Compares every operation with the scalar one on each lane, including edge cases.

use std::array::from_fn;
use std::panic::catch_unwind;

use super::*;
use crate::x86::Avx512;
use crate::{InstructionSet, on_lanes};

const INTEGERS: [i32; 22] = [
    0,
    1,
    2,
    3,
    7,
    8,
    31,
    32,
    33,
    255,
    256,
    0xffff,
    0x1_0000,
    // Halfway between two floats (the even one below, then above), and nearer to the upper one.
    (1 << 24) + 1,
    (1 << 24) + 3,
    (1 << 25) + 3,
    0x1234_5678,
    i32::MAX - 1,
    i32::MAX,
    i32::MIN,
    i32::MIN + 1,
    -1,
];

const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    10.0,
    1.0 / 3.0,
    12_582_912.0,
    16_777_215.0,
    f32::EPSILON,
    f32::MIN_POSITIVE,
    1e-45,
    f32::MAX,
    f32::MIN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

const WORDS: [u64; 15] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    (1 << 52) - 1,
    1 << 52,
    // Halfway between doubles.
    (1 << 53) + 1,
    0x0123_4567_89ab_cdef,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

const DOUBLES: [f64; 9] = [
    0.0,
    -0.0,
    1.0,
    -1.0 / 3.0,
    6_755_399_441_055_744.0,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Returns all pairs, sixteen at a time; the last group is filled up with the first pairs.
fn pairs<T: Copy>(values: &[T]) -> Vec<[[T; LANES]; 2]> {
    let n = values.len();
    let sixteen =
        |k| [from_fn(|lane| values[(k + lane) % n]), from_fn(|l| values[(k + l) / n % n])];
    (0..n * n).step_by(LANES).map(sixteen).collect()
}

/// Makes NaN comparable.
fn bits(value: f32) -> u32 {
    if value.is_nan() { u32::MAX } else { value.to_bits() }
}

fn wide_bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits() }
}

#[inline(always)]
fn stored<V: Lanes>(v: V, lanes: V::I) -> [i32; LANES] {
    let mut to = [0; LANES];
    v.store(lanes, &mut to);
    to
}

#[inline(always)]
fn stored_f<V: Lanes>(v: V, lanes: V::F) -> [f32; LANES] {
    let mut to = [0.0; LANES];
    v.store_f(lanes, &mut to);
    to
}

/// The scalar set has no lanes.
fn nothing() {}

#[inline(always)]
fn integers<V: Lanes>(v: V) {
    for [a, b] in pairs(&INTEGERS) {
        let (x, y) = (v.load(&a), v.load(&b));
        let check = |what: &str, got: V::I, plain: &dyn Fn(i32, i32) -> i32| {
            let expected: [i32; LANES] = from_fn(|k| plain(a[k], b[k]));
            assert_eq!(stored(v, got), expected, "{what} of {a:?} and {b:?}");
        };
        check("load", x, &|a, _| a);
        check("add", v.add(x, y), &i32::wrapping_add);
        check("sub", v.sub(x, y), &i32::wrapping_sub);
        check("mul", v.mul(x, y), &i32::wrapping_mul);
        check("and", v.and(x, y), &|a, b| a & b);
        check("or", v.or(x, y), &|a, b| a | b);
        check("shl", v.shl(x, y), &|a, by| a.checked_shl(by as u32).unwrap_or(0));
        check("shr", v.shr(x, y), &|a, by| (a as u32).checked_shr(by as u32).unwrap_or(0) as i32);
        check("sign", v.sign(x), &|a, _| if a < 0 { -1 } else { 0 });
        check("max_unsigned", v.max_unsigned(x, y), &|a, b| (a as u32).max(b as u32) as i32);
        for value in INTEGERS {
            let same = v.splat(value);
            check("splat", same, &|_, _| value);
            check("select", v.select(x, y, same), &|mask, b| (mask & b) | (!mask & value));
        }
    }
    for (lane, value) in (0..LANES).flat_map(|lane| INTEGERS.map(|value| (lane, value))) {
        let mut lanes = [i32::MAX; LANES];
        lanes[lane] = value;
        assert_eq!(v.any_negative(v.load(&lanes)), value < 0, "{value} in lane {lane}");
    }
}

#[inline(always)]
fn floats<V: Lanes>(v: V) {
    for [a, b] in pairs(&FLOATS) {
        let (x, y) = (v.load_f(&a), v.load_f(&b));
        let check = |what: &str, got: V::F, plain: &dyn Fn(f32, f32) -> f32| {
            let expected: [u32; LANES] = from_fn(|k| bits(plain(a[k], b[k])));
            assert_eq!(stored_f(v, got).map(bits), expected, "{what} of {a:?} and {b:?}");
        };
        check("load", x, &|a, _| a);
        check("mul", v.mul_f(x, y), &|a, b| a * b);
        check("add", v.add_f(x, y), &|a, b| a + b);
        check("div", v.div_f(x, y), &|a, b| a / b);
        assert_eq!(stored(v, v.bits(x)), a.map(|a| a.to_bits() as i32));
        let greater = (0..LANES).fold(0, |bits, k| bits | u16::from(a[k] > b[k]) << k);
        assert_eq!(v.greater_f(x, y), greater, "{a:?} > {b:?}");
        for value in FLOATS {
            check("splat", v.splat_f(value), &|_, _| value);
        }
    }
    for [a, _] in pairs(&INTEGERS) {
        let x = v.load(&a);
        assert_eq!(stored_f(v, v.float(x)), a.map(|a| a as f32), "{a:?} as floats");
        assert_eq!(stored_f(v, v.of_bits(x)).map(|f| f.to_bits() as i32), a, "bits {a:?}");
    }
}

#[inline(always)]
fn streams<V: Lanes>(v: V) {
    for n in [8, 9, 15, 16, 40] {
        // Bytes around the data must not matter.
        let around: Vec<u8> = (0..n + 32).map(|k| (k * 37 + 11) as u8).collect();
        let data = &around[16..16 + n];
        let upper = |at: i32| {
            let byte = (at as u32 as usize / 8).min(n - 8);
            let word = u64::from_be_bytes(data[byte..byte + 8].try_into().unwrap()) << (at & 7);
            ((word >> 32) as u32).swap_bytes() as i32
        };
        let behind = [i32::MAX, i32::MIN, -64, -1];
        let places: Vec<i32> = (0..8 * n as i32 + 70).chain(behind).collect();
        for k in 0..places.len() {
            let at = from_fn(|lane| places[(k + 29 * lane) % places.len()]);
            let got = stored(v, v.upper_reversed(v.stream(data, v.load(&at))));
            assert_eq!(got, at.map(upper), "{n} bytes from bits {at:?}");
        }
    }
}

#[inline(always)]
fn too_little<V: Lanes>(v: V) {
    v.stream(&[0; 7], v.splat(0));
}

#[inline(always)]
fn columns<V: Lanes>(v: V) {
    let rows: [[f32; LANES]; 4] = from_fn(|row| from_fn(|lane| (100 * row + lane) as f32));
    let columns = v.columns(rows.map(|row| v.load_f(&row)));
    for (lane, column) in columns.into_iter().enumerate() {
        let mut four = [0.0; 4];
        v.store_q(column, &mut four);
        assert_eq!(four, rows.map(|row| row[lane]), "lane {lane}");
    }
}

/// Loads words by value, by way of the stream.
#[inline(always)]
fn words<V: WideLanes>(v: V, values: [u64; LANES]) -> V::W {
    let places = from_fn(|lane| 64 * lane as i32);
    v.stream(values.map(u64::to_be_bytes).as_flattened(), v.load(&places))
}

#[inline(always)]
fn stored_w<V: WideLanes>(v: V, words: V::W) -> [u64; LANES] {
    let [lower, upper] = [words, v.shr_w(words, 32)].map(|half| stored(v, v.lower(half)));
    from_fn(|k| u64::from(upper[k] as u32) << 32 | u64::from(lower[k] as u32))
}

#[inline(always)]
fn wide_integers<V: WideLanes>(v: V) {
    for [a, b] in pairs(&WORDS) {
        let (x, y) = (words(v, a), words(v, b));
        let check = |what: &str, got: V::W, plain: &dyn Fn(u64, u64) -> u64| {
            let expected: [u64; LANES] = from_fn(|k| plain(a[k], b[k]));
            assert_eq!(stored_w(v, got), expected, "{what} of {a:x?} and {b:x?}");
        };
        assert_eq!(stored(v, v.lower(x)), a.map(|a| a as i32), "lower halves of {a:x?}");
        check("stream", x, &|a, _| a);
        check("reversed", v.reversed(x), &|a, _| a.swap_bytes());
        check("or", v.or_w(x, y), &|a, b| a | b);
        for by in (0..=66).chain([256, 1 << 31, u32::MAX]) {
            check("shl", v.shl_w(x, by), &|a, _| a.checked_shl(by).unwrap_or(0));
            check("shr", v.shr_w(x, by), &|a, _| a.checked_shr(by).unwrap_or(0));
        }
        for mask in WORDS {
            check("and", v.and_w(x, mask), &|a, _| a & mask);
        }
    }
}

#[inline(always)]
fn wide_floats<V: WideLanes>(v: V) {
    for [a, b] in pairs(&WORDS) {
        let (x, y) = (v.double_w(words(v, a)), v.double_w(words(v, b)));
        let check = |what: &str, got: V::D, plain: &dyn Fn(f64, f64) -> f64| {
            let expected: [u64; LANES] = from_fn(|k| wide_bits(plain(a[k] as f64, b[k] as f64)));
            let got = stored_w(v, v.bits_d(got)).map(|bits| wide_bits(f64::from_bits(bits)));
            assert_eq!(got, expected, "{what} of {a:x?} and {b:x?}");
        };
        check("double", x, &|a, _| a);
        check("sum", v.sum_d(x, y), &|a, b| a + b);
        for by in DOUBLES {
            check("mul", v.mul_d(x, by), &|a, _| a * by);
            check("add", v.add_d(x, by), &|a, _| a + by);
            check("sum", v.sum_d(x, v.mul_d(y, by)), &|a, b| a + b * by);
        }
    }
    for [a, _] in pairs(&INTEGERS) {
        let doubles = stored_w(v, v.bits_d(v.double(v.load(&a))));
        assert_eq!(doubles.map(f64::from_bits), a.map(f64::from), "{a:?} as doubles");
    }
}

on_lanes! { fn check_integers() = integers, nothing }
on_lanes! { fn check_floats() = floats, nothing }
on_lanes! { fn check_streams() = streams, nothing }
on_lanes! { fn check_columns() = columns, nothing }
on_lanes! { fn stream_too_little() = too_little, nothing }

#[test]
fn integer_operations_equal_scalar_ones() {
    InstructionSet::available().into_iter().for_each(check_integers);
}

#[test]
fn float_operations_equal_scalar_ones() {
    InstructionSet::available().into_iter().for_each(check_floats);
}

#[test]
fn a_stream_has_the_bits_at_each_offset() {
    InstructionSet::available().into_iter().for_each(check_streams);
}

#[test]
fn a_stream_of_less_than_eight_bytes_is_refused() {
    for set in InstructionSet::available() {
        let refused = catch_unwind(|| stream_too_little(set)).is_err();
        assert_eq!(refused, set != InstructionSet::SCALAR, "{set:?}");
    }
}

#[test]
fn columns_are_transposed_rows() {
    InstructionSet::available().into_iter().for_each(check_columns);
}

#[test]
fn wide_operations_equal_scalar_ones() {
    #[target_feature(
        enable = "avx2,bmi1,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )]
    fn check() {
        // SAFETY: this function is compiled for AVX-512 and called where it is.
        let v = unsafe { Avx512::new() };
        wide_integers(v);
        wide_floats(v);
    }
    if InstructionSet::available().into_iter().any(InstructionSet::is_avx512) {
        // SAFETY: the processor supports it.
        unsafe { check() };
    }
}
