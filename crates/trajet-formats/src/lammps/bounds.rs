//! The box of a snapshot, in its three forms.

use crate::text::{LineFault, decimal, quoted, words};

/// The forms of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `lo hi` of each direction.
    Orthogonal,
    /// `lo hi tilt`: lo and hi are those of the bounding box.
    Tilted,
    /// A cell vector in any direction, and a coordinate of the origin.
    General,
}

impl Form {
    /// Returns how many numbers a line has.
    fn n_numbers(self) -> usize {
        match self {
            Form::Orthogonal => 2,
            Form::Tilted => 3,
            Form::General => 4,
        }
    }
}

/// What `ITEM: BOX BOUNDS` says of the lines behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    form: Form,
    /// Whether each direction is periodic; `None` if the file does not say so.
    periodic: Option<[bool; 3]>,
}

impl Declared {
    /// Parses the words behind `ITEM: BOX BOUNDS`.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn parse(text: &[u8]) -> Result<Declared, LineFault> {
        let words: Vec<&[u8]> = words(text).take(8).collect();
        let (form, flags) = match &words[..] {
            [b"xy", b"xz", b"yz", flags @ ..] => (Form::Tilted, flags),
            [b"abc", b"origin", flags @ ..] => (Form::General, flags),
            flags => (Form::Orthogonal, flags),
        };
        let is_flag = |flag: &&[u8]| {
            matches!(flag, [low, high] if b"pfsm".contains(low) && b"pfsm".contains(high)
                && (*low == b'p') == (*high == b'p'))
        };
        let periodic = match flags {
            [] => None,
            [x, y, z] if flags.iter().all(is_flag) => Some([x, y, z].map(|flag| *flag == b"pp")),
            _ => {
                let reason = format!(
                    "expected the boundaries of three directions, such as pp pp ff, found {}",
                    quoted(text)
                );
                return Err(LineFault::new(0, reason));
            }
        };
        Ok(Declared { form, periodic })
    }

    /// Parses a line of the box.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn row(self, line: &[u8]) -> Result<[f64; 4], LineFault> {
        let n = self.form.n_numbers();
        let mut row = [0.0; 4];
        let mut found = 0;
        for word in words(line) {
            match (row[..n].get_mut(found), decimal(word)) {
                (Some(slot), Some(number)) => *slot = number,
                _ => found = n,
            }
            found += 1;
        }
        if found != n {
            let reason = format!("expected {n} numbers of the box, found {}", quoted(line));
            return Err(LineFault::new(0, reason));
        }
        Ok(row)
    }

    /// Returns the box with these lines.
    ///
    /// # Errors
    /// [`LineFault`] if a periodic direction has no extent, or one extends backwards.
    pub(super) fn bounds(self, rows: &[[f64; 4]; 3]) -> Result<Bounds, LineFault> {
        let periodic = self.periodic.unwrap_or([true; 3]);
        let (vectors, origin) = match self.form {
            Form::General => {
                let [a, b, c] = rows.map(|[x, y, z, _]| [x, y, z]);
                (concat(a, b, c), rows.map(|[.., origin]| origin))
            }
            form => {
                let tilt =
                    rows.map(|[_, _, tilt, _]| if form == Form::Tilted { tilt } else { 0.0 });
                let [xy, xz, yz] = tilt;
                let low = [0.0_f64.min(xy).min(xz).min(xy + xz), 0.0_f64.min(yz), 0.0];
                let high = [0.0_f64.max(xy).max(xz).max(xy + xz), 0.0_f64.max(yz), 0.0];
                let origin = [0, 1, 2].map(|k| rows[k][0] - low[k]);
                let [x, y, z] = [0, 1, 2].map(|k| rows[k][1] - high[k] - origin[k]);
                (concat([x, 0.0, 0.0], [xy, y, 0.0], [xz, yz, z]), origin)
            }
        };
        let bounds = Bounds { vectors, origin, periodic: self.periodic };
        let extents = match self.form {
            Form::General => [bounds.volume().abs(); 3],
            _ => [vectors[0], vectors[4], vectors[8]],
        };
        let is_sound = |k: usize| extents[k] > 0.0 || (extents[k] == 0.0 && !periodic[k]);
        match (0..3).all(is_sound) && vectors.iter().all(|x| x.is_finite()) {
            true => Ok(bounds),
            false => Err(LineFault::new(0, "the lines of the box give it no volume")),
        }
    }
}

fn concat([ax, ay, az]: [f64; 3], [bx, by, bz]: [f64; 3], [cx, cy, cz]: [f64; 3]) -> [f64; 9] {
    [ax, ay, az, bx, by, bz, cx, cy, cz]
}

/// The box of a snapshot, in units of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// The vectors of the cell, row by row.
    pub(super) vectors: [f64; 9],
    /// The corner at which the cell begins.
    pub(super) origin: [f64; 3],
    /// Whether each direction is periodic; `None` if the file does not say so.
    pub(super) periodic: Option<[bool; 3]>,
}

impl Bounds {
    /// Returns the sum of cell vectors, each as often as `times` says.
    #[inline]
    pub(super) fn along(&self, times: [f64; 3]) -> [f64; 3] {
        let v = &self.vectors;
        [0, 1, 2].map(|k| times[0] * v[k] + times[1] * v[3 + k] + times[2] * v[6 + k])
    }

    fn volume(&self) -> f64 {
        let [ax, ay, az, bx, by, bz, cx, cy, cz] = self.vectors;
        ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(declared: &str, lines: [&str; 3]) -> Result<Bounds, LineFault> {
        let declared = Declared::parse(declared.as_bytes())?;
        let mut rows = [[0.0; 4]; 3];
        for (row, line) in rows.iter_mut().zip(lines) {
            *row = declared.row(line.as_bytes())?;
        }
        declared.bounds(&rows)
    }

    #[test]
    fn boxes_have_three_forms() {
        let all = Some([true; 3]);
        let origin = [10.0, 20.0, 30.0];
        let vectors = [40.0, 0.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0, 60.0];
        let lines = ["10 50", "20 70", "30 90"];
        assert_eq!(bounds("pp pp pp", lines), Ok(Bounds { vectors, origin, periodic: all }));
        assert_eq!(bounds("", lines), Ok(Bounds { vectors, origin, periodic: None }));
        let periodic = Some([true, false, false]);
        assert_eq!(bounds("pp fs mm", lines), Ok(Bounds { vectors, origin, periodic }));
        let tilted = bounds("xy xz yz pp pp pp", ["3 55 5", "16 70 -7", "30 90 -4"]);
        let vectors = [40.0, 0.0, 0.0, 5.0, 50.0, 0.0, -7.0, -4.0, 60.0];
        assert_eq!(tilted, Ok(Bounds { vectors, origin, periodic: all }));
        let general = bounds("abc origin pp pp pp", ["0 0 4 10", "5 0 1 20", "0 6 0 30"]);
        let vectors = [0.0, 0.0, 4.0, 5.0, 0.0, 1.0, 0.0, 6.0, 0.0];
        assert_eq!(general, Ok(Bounds { vectors, origin, periodic: all }));
    }

    #[test]
    fn boxes_without_volume_and_other_lines_are_refused() {
        for (declared, lines) in [
            ("pp pp pp", ["0 1", "0 1", "1 1"]),
            ("pp pp ff", ["0 1", "0 1", "1 0"]),
            ("pp pp pp", ["0 1", "0 1", "0 nan"]),
            ("pp pp pp", ["0 1", "0 1", "0"]),
            ("pp pp pp", ["0 1", "0 1 0", "0 1"]),
            ("xy xz yz pp pp pp", ["0 1 2", "0 1 0", "0 1 0"]),
            ("abc origin pp pp pp", ["1 0 0 0", "0 1 0 0", "1 1 0 0"]),
            ("pp pp", ["0 1", "0 1", "0 1"]),
            ("pp pp pq", ["0 1", "0 1", "0 1"]),
            ("pp pp pf", ["0 1", "0 1", "0 1"]),
        ] {
            assert!(bounds(declared, lines).is_err(), "{declared} {lines:?}");
        }
        assert!(bounds("pp pp ff", ["0 1", "0 1", "1 1"]).is_ok());
    }
}
