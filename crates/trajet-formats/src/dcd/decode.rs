//! Decodes the coordinates of a frame.

use trajet_simd::multiversion;

use super::head::Order;

multiversion! {
    /// Interleaves x, y and z of the selected atoms. Each of `axes` begins with atom `from`.
    pub fn interleave(
        order: Order,
        axes: [&[u8]; 3],
        selected: Option<&[u32]>,
        from: u32,
        out: &mut [[f32; 3]],
    ) = interleave_of
}

#[inline(always)]
fn interleave_of(
    order: Order,
    axes: [&[u8]; 3],
    selected: Option<&[u32]>,
    from: u32,
    out: &mut [[f32; 3]],
) {
    match order {
        Order::Little => gather(axes, selected, from, out, f32::from_le_bytes),
        Order::Big => gather(axes, selected, from, out, f32::from_be_bytes),
    }
}

#[inline(always)]
fn gather(
    axes: [&[u8]; 3],
    selected: Option<&[u32]>,
    from: u32,
    out: &mut [[f32; 3]],
    float: impl Fn([u8; 4]) -> f32,
) {
    let [x, y, z] = axes.map(|axis| axis.as_chunks::<4>().0);
    match selected {
        None => {
            let n = out.len();
            let (x, y, z) = (&x[..n], &y[..n], &z[..n]);
            for i in 0..n {
                out[i] = [float(x[i]), float(y[i]), float(z[i])];
            }
        }
        Some(list) => {
            for (position, &atom) in out.iter_mut().zip(list) {
                let i = (atom - from) as usize;
                *position = [float(x[i]), float(y[i]), float(z[i])];
            }
        }
    }
}
