//! AVX2 and AVX-512.
//!
//! A value of [`Avx2`] or [`Avx512`] exists only where its instructions are available (see `new`), so that every method
//! may use them. Loads and stores are of whole arrays.
#![allow(clippy::undocumented_unsafe_blocks, reason = "promised by `Lanes` and `WideLanes`")]

use core::arch::x86_64::*;

use crate::lanes::{LANES, Lanes, WideLanes};

/// One register of 512 bits.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// Two registers of 256 bits.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

impl Avx512 {
    /// Vectors of AVX-512 (F, BW, DQ, VL).
    ///
    /// # Safety
    /// The processor supports them, and the caller is compiled for them.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Avx512(())
    }
}

impl Avx2 {
    /// Vectors of AVX2.
    ///
    /// # Safety
    /// The processor supports them, and the caller is compiled for them.
    #[inline(always)]
    pub unsafe fn new() -> Self {
        Avx2(())
    }
}

/// Reverses the bytes of each word of 64 or 32 bits, in every 16 bytes.
const REVERSE_64: [u8; 16] = [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8];
const REVERSE_32: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];

/// Returns the last offset from which eight bytes can be read.
#[inline(always)]
fn last_load(data: &[u8]) -> i32 {
    assert!(data.len() >= 8, "eight bytes are loaded at once");
    (data.len() - 8).min(i32::MAX as usize) as i32
}

#[inline(always)]
fn sixteen_bytes(bytes: [u8; 16]) -> __m128i {
    // SAFETY: both are sixteen plain bytes.
    unsafe { core::mem::transmute(bytes) }
}

/// An instruction for pairs of floats, taken as doubles.
macro_rules! pairs {
    ($f:ident, $to:ident, $back:ident, $a:ident, $b:ident) => {
        $back($f($to($a), $to($b)))
    };
}

/// Computes half of [`Lanes::columns`].
#[inline(always)]
fn eight_columns([a, b, c, d]: [__m256; 4]) -> [__m128; 8] {
    unsafe {
        let (ab, ab2) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd2) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        // Each holds the columns k and k + 4.
        let [p, q, r, s] = [
            pairs!(_mm256_unpacklo_pd, _mm256_castps_pd, _mm256_castpd_ps, ab, cd),
            pairs!(_mm256_unpackhi_pd, _mm256_castps_pd, _mm256_castpd_ps, ab, cd),
            pairs!(_mm256_unpacklo_pd, _mm256_castps_pd, _mm256_castpd_ps, ab2, cd2),
            pairs!(_mm256_unpackhi_pd, _mm256_castps_pd, _mm256_castpd_ps, ab2, cd2),
        ];
        [
            _mm256_castps256_ps128(p),
            _mm256_castps256_ps128(q),
            _mm256_castps256_ps128(r),
            _mm256_castps256_ps128(s),
            _mm256_extractf128_ps::<1>(p),
            _mm256_extractf128_ps::<1>(q),
            _mm256_extractf128_ps::<1>(r),
            _mm256_extractf128_ps::<1>(s),
        ]
    }
}

// SAFETY: see `Avx512::new`.
unsafe impl Lanes for Avx512 {
    type I = __m512i;
    type F = __m512;
    type W = [__m512i; 2];
    type Q = __m128;

    #[inline(always)]
    fn splat(self, value: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(value) }
    }
    #[inline(always)]
    fn splat_f(self, value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    fn load(self, from: &[i32; LANES]) -> __m512i {
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
    #[inline(always)]
    fn store(self, lanes: __m512i, to: &mut [i32; LANES]) {
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), lanes) }
    }
    #[inline(always)]
    fn store_f(self, lanes: __m512, to: &mut [f32; LANES]) {
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), lanes) }
    }
    #[inline(always)]
    fn load_f(self, from: &[f32; LANES]) -> __m512 {
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }
    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_add_epi32(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi32(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_mullo_epi32(a, b) }
    }
    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(a, b) }
    }
    #[inline(always)]
    fn or(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_or_si512(a, b) }
    }
    #[inline(always)]
    fn select(self, mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_ternarylogic_epi32::<0xca>(mask, a, b) }
    }
    #[inline(always)]
    fn shl(self, a: __m512i, by: __m512i) -> __m512i {
        unsafe { _mm512_sllv_epi32(a, by) }
    }
    #[inline(always)]
    fn shr(self, a: __m512i, by: __m512i) -> __m512i {
        unsafe { _mm512_srlv_epi32(a, by) }
    }
    #[inline(always)]
    fn sign(self, a: __m512i) -> __m512i {
        unsafe { _mm512_srai_epi32::<31>(a) }
    }
    #[inline(always)]
    fn max_unsigned(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_max_epu32(a, b) }
    }
    #[inline(always)]
    fn float(self, a: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(a) }
    }
    #[inline(always)]
    fn bits(self, a: __m512) -> __m512i {
        unsafe { _mm512_castps_si512(a) }
    }
    #[inline(always)]
    fn of_bits(self, a: __m512i) -> __m512 {
        unsafe { _mm512_castsi512_ps(a) }
    }
    #[inline(always)]
    fn mul_f(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }
    #[inline(always)]
    fn add_f(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }
    #[inline(always)]
    fn div_f(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }
    #[inline(always)]
    fn greater_f(self, a: __m512, b: __m512) -> u16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) }
    }
    #[inline(always)]
    fn any_negative(self, a: __m512i) -> bool {
        unsafe { _mm512_movepi32_mask(a) != 0 }
    }
    #[inline(always)]
    fn stream(self, data: &[u8], at: __m512i) -> [__m512i; 2] {
        let last = self.splat(last_load(data));
        // SAFETY: no offset is past the last one from which eight bytes can be read.
        unsafe {
            let bytes = _mm512_min_epu32(_mm512_srli_epi32::<3>(at), last);
            let shift = _mm512_and_si512(at, _mm512_set1_epi32(7));
            let base = data.as_ptr().cast();
            let low = _mm512_i32gather_epi64::<1>(_mm512_castsi512_si256(bytes), base);
            let high = _mm512_i32gather_epi64::<1>(_mm512_extracti64x4_epi64::<1>(bytes), base);
            let [low, high] = self.reversed([low, high]);
            let low_shift = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(shift));
            let high_shift = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(shift));
            [_mm512_sllv_epi64(low, low_shift), _mm512_sllv_epi64(high, high_shift)]
        }
    }
    #[inline(always)]
    fn upper_reversed(self, a: [__m512i; 2]) -> __m512i {
        unsafe {
            let upper = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
            let words = _mm512_permutex2var_epi32(a[0], upper, a[1]);
            _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(sixteen_bytes(REVERSE_32)))
        }
    }
    #[inline(always)]
    fn columns(self, [a, b, c, d]: [__m512; 4]) -> [__m128; LANES] {
        unsafe {
            let (ab, ab2) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let (cd, cd2) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            // Each holds the columns k, k + 4, k + 8, k + 12.
            let [p, q, r, s] = [
                pairs!(_mm512_unpacklo_pd, _mm512_castps_pd, _mm512_castpd_ps, ab, cd),
                pairs!(_mm512_unpackhi_pd, _mm512_castps_pd, _mm512_castpd_ps, ab, cd),
                pairs!(_mm512_unpacklo_pd, _mm512_castps_pd, _mm512_castpd_ps, ab2, cd2),
                pairs!(_mm512_unpackhi_pd, _mm512_castps_pd, _mm512_castpd_ps, ab2, cd2),
            ];
            [
                _mm512_castps512_ps128(p),
                _mm512_castps512_ps128(q),
                _mm512_castps512_ps128(r),
                _mm512_castps512_ps128(s),
                _mm512_extractf32x4_ps::<1>(p),
                _mm512_extractf32x4_ps::<1>(q),
                _mm512_extractf32x4_ps::<1>(r),
                _mm512_extractf32x4_ps::<1>(s),
                _mm512_extractf32x4_ps::<2>(p),
                _mm512_extractf32x4_ps::<2>(q),
                _mm512_extractf32x4_ps::<2>(r),
                _mm512_extractf32x4_ps::<2>(s),
                _mm512_extractf32x4_ps::<3>(p),
                _mm512_extractf32x4_ps::<3>(q),
                _mm512_extractf32x4_ps::<3>(r),
                _mm512_extractf32x4_ps::<3>(s),
            ]
        }
    }
    #[inline(always)]
    fn store_q(self, four: __m128, to: &mut [f32; 4]) {
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), four) }
    }
}

// SAFETY: see `Avx512::new`.
unsafe impl WideLanes for Avx512 {
    type D = [__m512d; 2];

    #[inline(always)]
    fn reversed(self, a: [__m512i; 2]) -> [__m512i; 2] {
        unsafe {
            let reverse = _mm512_broadcast_i32x4(sixteen_bytes(REVERSE_64));
            [_mm512_shuffle_epi8(a[0], reverse), _mm512_shuffle_epi8(a[1], reverse)]
        }
    }
    #[inline(always)]
    fn shl_w(self, a: [__m512i; 2], by: u32) -> [__m512i; 2] {
        unsafe {
            let by = _mm_cvtsi32_si128(by as i32);
            [_mm512_sll_epi64(a[0], by), _mm512_sll_epi64(a[1], by)]
        }
    }
    #[inline(always)]
    fn shr_w(self, a: [__m512i; 2], by: u32) -> [__m512i; 2] {
        unsafe {
            let by = _mm_cvtsi32_si128(by as i32);
            [_mm512_srl_epi64(a[0], by), _mm512_srl_epi64(a[1], by)]
        }
    }
    #[inline(always)]
    fn and_w(self, a: [__m512i; 2], mask: u64) -> [__m512i; 2] {
        unsafe {
            let mask = _mm512_set1_epi64(mask as i64);
            [_mm512_and_si512(a[0], mask), _mm512_and_si512(a[1], mask)]
        }
    }
    #[inline(always)]
    fn or_w(self, a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] {
        unsafe { [_mm512_or_si512(a[0], b[0]), _mm512_or_si512(a[1], b[1])] }
    }
    #[inline(always)]
    fn lower(self, a: [__m512i; 2]) -> __m512i {
        unsafe {
            let lower = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            _mm512_permutex2var_epi32(a[0], lower, a[1])
        }
    }
    #[inline(always)]
    fn double_w(self, a: [__m512i; 2]) -> [__m512d; 2] {
        unsafe { [_mm512_cvtepu64_pd(a[0]), _mm512_cvtepu64_pd(a[1])] }
    }
    #[inline(always)]
    fn double(self, a: __m512i) -> [__m512d; 2] {
        unsafe {
            [
                _mm512_cvtepi32_pd(_mm512_castsi512_si256(a)),
                _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64::<1>(a)),
            ]
        }
    }
    #[inline(always)]
    fn bits_d(self, a: [__m512d; 2]) -> [__m512i; 2] {
        unsafe { [_mm512_castpd_si512(a[0]), _mm512_castpd_si512(a[1])] }
    }
    #[inline(always)]
    fn mul_d(self, a: [__m512d; 2], b: f64) -> [__m512d; 2] {
        unsafe {
            let b = _mm512_set1_pd(b);
            [_mm512_mul_pd(a[0], b), _mm512_mul_pd(a[1], b)]
        }
    }
    #[inline(always)]
    fn add_d(self, a: [__m512d; 2], b: f64) -> [__m512d; 2] {
        unsafe {
            let b = _mm512_set1_pd(b);
            [_mm512_add_pd(a[0], b), _mm512_add_pd(a[1], b)]
        }
    }
    #[inline(always)]
    fn sum_d(self, a: [__m512d; 2], b: [__m512d; 2]) -> [__m512d; 2] {
        unsafe { [_mm512_add_pd(a[0], b[0]), _mm512_add_pd(a[1], b[1])] }
    }
}

/// Loads four words of the stream, from offsets up to `last`.
#[inline(always)]
fn four_words(data: &[u8], at: __m128i, last: i32) -> __m256i {
    // SAFETY: no offset is past the last one from which eight bytes can be read.
    unsafe {
        let bytes = _mm_min_epu32(_mm_srli_epi32::<3>(at), _mm_set1_epi32(last));
        let shift = _mm256_cvtepu32_epi64(_mm_and_si128(at, _mm_set1_epi32(7)));
        let words = _mm256_i32gather_epi64::<1>(data.as_ptr().cast(), bytes);
        let reverse = _mm256_broadcastsi128_si256(sixteen_bytes(REVERSE_64));
        _mm256_sllv_epi64(_mm256_shuffle_epi8(words, reverse), shift)
    }
}

/// Returns the upper halves of eight words, in order.
#[inline(always)]
fn upper_halves(low: __m256i, high: __m256i) -> __m256i {
    unsafe {
        let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        let mixed = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed)
    }
}

type Two = [__m256i; 2];
type TwoF = [__m256; 2];

/// Both halves of a result of two registers.
macro_rules! both {
    ($f:ident($($arg:ident),+)) => {
        unsafe { [$f($($arg[0]),+), $f($($arg[1]),+)] }
    };
}

// SAFETY: see `Avx2::new`.
unsafe impl Lanes for Avx2 {
    type I = Two;
    type F = TwoF;
    type W = [__m256i; 4];
    type Q = __m128;

    #[inline(always)]
    fn splat(self, value: i32) -> Two {
        unsafe { [_mm256_set1_epi32(value); 2] }
    }
    #[inline(always)]
    fn splat_f(self, value: f32) -> TwoF {
        unsafe { [_mm256_set1_ps(value); 2] }
    }
    #[inline(always)]
    fn load(self, from: &[i32; LANES]) -> Two {
        let from = from.as_ptr().cast();
        unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] }
    }
    #[inline(always)]
    fn store(self, lanes: Two, to: &mut [i32; LANES]) {
        let to = to.as_mut_ptr().cast();
        unsafe {
            _mm256_storeu_si256(to, lanes[0]);
            _mm256_storeu_si256(to.add(1), lanes[1]);
        }
    }
    #[inline(always)]
    fn store_f(self, lanes: TwoF, to: &mut [f32; LANES]) {
        unsafe {
            _mm256_storeu_ps(to.as_mut_ptr(), lanes[0]);
            _mm256_storeu_ps(to.as_mut_ptr().add(8), lanes[1]);
        }
    }
    #[inline(always)]
    fn load_f(self, from: &[f32; LANES]) -> TwoF {
        unsafe { [_mm256_loadu_ps(from.as_ptr()), _mm256_loadu_ps(from.as_ptr().add(8))] }
    }
    #[inline(always)]
    fn add(self, a: Two, b: Two) -> Two {
        both!(_mm256_add_epi32(a, b))
    }
    #[inline(always)]
    fn sub(self, a: Two, b: Two) -> Two {
        both!(_mm256_sub_epi32(a, b))
    }
    #[inline(always)]
    fn mul(self, a: Two, b: Two) -> Two {
        both!(_mm256_mullo_epi32(a, b))
    }
    #[inline(always)]
    fn and(self, a: Two, b: Two) -> Two {
        both!(_mm256_and_si256(a, b))
    }
    #[inline(always)]
    fn or(self, a: Two, b: Two) -> Two {
        both!(_mm256_or_si256(a, b))
    }
    #[inline(always)]
    fn select(self, mask: Two, a: Two, b: Two) -> Two {
        let (a, b) = (both!(_mm256_and_si256(mask, a)), both!(_mm256_andnot_si256(mask, b)));
        both!(_mm256_or_si256(a, b))
    }
    #[inline(always)]
    fn shl(self, a: Two, by: Two) -> Two {
        both!(_mm256_sllv_epi32(a, by))
    }
    #[inline(always)]
    fn shr(self, a: Two, by: Two) -> Two {
        both!(_mm256_srlv_epi32(a, by))
    }
    #[inline(always)]
    fn sign(self, a: Two) -> Two {
        unsafe { [_mm256_srai_epi32::<31>(a[0]), _mm256_srai_epi32::<31>(a[1])] }
    }
    #[inline(always)]
    fn max_unsigned(self, a: Two, b: Two) -> Two {
        both!(_mm256_max_epu32(a, b))
    }
    #[inline(always)]
    fn float(self, a: Two) -> TwoF {
        both!(_mm256_cvtepi32_ps(a))
    }
    #[inline(always)]
    fn bits(self, a: TwoF) -> Two {
        both!(_mm256_castps_si256(a))
    }
    #[inline(always)]
    fn of_bits(self, a: Two) -> TwoF {
        both!(_mm256_castsi256_ps(a))
    }
    #[inline(always)]
    fn mul_f(self, a: TwoF, b: TwoF) -> TwoF {
        both!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    fn add_f(self, a: TwoF, b: TwoF) -> TwoF {
        both!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    fn div_f(self, a: TwoF, b: TwoF) -> TwoF {
        both!(_mm256_div_ps(a, b))
    }
    #[inline(always)]
    fn greater_f(self, a: TwoF, b: TwoF) -> u16 {
        unsafe {
            let [low, high] =
                [0, 1].map(|k| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a[k], b[k])));
            (low | high << 8) as u16
        }
    }
    #[inline(always)]
    fn any_negative(self, a: Two) -> bool {
        unsafe {
            let any = _mm256_or_si256(a[0], a[1]);
            _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0
        }
    }
    #[inline(always)]
    fn stream(self, data: &[u8], at: Two) -> [__m256i; 4] {
        let last = last_load(data);
        unsafe {
            [
                four_words(data, _mm256_castsi256_si128(at[0]), last),
                four_words(data, _mm256_extracti128_si256::<1>(at[0]), last),
                four_words(data, _mm256_castsi256_si128(at[1]), last),
                four_words(data, _mm256_extracti128_si256::<1>(at[1]), last),
            ]
        }
    }
    #[inline(always)]
    fn upper_reversed(self, a: [__m256i; 4]) -> Two {
        unsafe {
            let reverse = _mm256_broadcastsi128_si256(sixteen_bytes(REVERSE_32));
            [
                _mm256_shuffle_epi8(upper_halves(a[0], a[1]), reverse),
                _mm256_shuffle_epi8(upper_halves(a[2], a[3]), reverse),
            ]
        }
    }
    #[inline(always)]
    fn columns(self, [a, b, c, d]: [TwoF; 4]) -> [__m128; LANES] {
        let [p, q] =
            [eight_columns([a[0], b[0], c[0], d[0]]), eight_columns([a[1], b[1], c[1], d[1]])];
        unsafe { core::mem::transmute::<[[__m128; 8]; 2], [__m128; LANES]>([p, q]) }
    }
    #[inline(always)]
    fn store_q(self, four: __m128, to: &mut [f32; 4]) {
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), four) }
    }
}
