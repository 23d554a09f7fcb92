//! The cell of a frame.

use trajet_formats::FrameInfo;
use trajet_kernels::cell::Cell;

/// Returns the cell of a frame.
///
/// # Errors
/// A text that says that there is none, or that it has no volume.
pub(crate) fn cell_of(info: &FrameInfo) -> Result<Cell, String> {
    let numbers = info.cell;
    if numbers.iter().all(|number| number.is_nan()) {
        return Err("has no unit cell, which periodic boundaries need: leave this frame out, or ask for no \
                    change that needs a cell"
            .to_owned());
    }
    let cell = match info.turned {
        None => Cell::new(numbers),
        Some(vectors) => {
            let rows = vectors.as_chunks::<3>().0;
            Cell::of_vectors([rows[0], rows[1], rows[2]])
        }
    };
    cell.ok_or_else(|| {
        let numbers = numbers.map(|number| number.to_string()).join(", ");
        format!("its unit cell ({numbers}) has no volume: leave this frame out")
    })
}
