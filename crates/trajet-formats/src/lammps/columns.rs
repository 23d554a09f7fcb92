//! The columns of atoms, which `ITEM: ATOMS` names.

use serde::{Deserialize, Serialize};

use super::options::Positions;
use crate::Field;
use crate::text::{LineFault, words};

/// The kinds of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// As they are in the run.
    #[default]
    Wrapped,
    /// Fractions of the cell.
    Scaled,
    /// Unwrapped.
    Unwrapped,
    /// Unwrapped fractions.
    UnwrappedScaled,
}

impl Kind {
    fn columns(self) -> [&'static str; 3] {
        match self {
            Kind::Wrapped => ["x", "y", "z"],
            Kind::Scaled => ["xs", "ys", "zs"],
            Kind::Unwrapped => ["xu", "yu", "zu"],
            Kind::UnwrappedScaled => ["xsu", "ysu", "zsu"],
        }
    }

    /// Returns whether positions are fractions of the cell.
    pub(super) fn is_scaled(self) -> bool {
        matches!(self, Kind::Scaled | Kind::UnwrappedScaled)
    }
}

/// The positions that are read, which are the same in all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Read {
    /// The kind.
    pub(super) kind: Kind,
    /// Whether image flags are added.
    pub(super) adds_images: bool,
}

const IMAGES: [&str; 3] = ["ix", "iy", "iz"];
const VELOCITIES: [&str; 3] = ["vx", "vy", "vz"];
const FORCES: [&str; 3] = ["fx", "fy", "fz"];

/// The names of the columns of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Columns<'a> {
    names: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    /// Parses the names behind `ITEM: ATOMS`.
    pub(super) fn parse(names: &'a [u8]) -> Self {
        Columns { names: words(names).collect() }
    }

    /// Returns the number of columns.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the column of the numbers of atoms.
    ///
    /// # Errors
    /// [`LineFault`] if there is none, or several.
    pub(super) fn id(&self) -> Result<usize, LineFault> {
        self.place("id")?.ok_or_else(|| {
            let reason = "the atoms have no numbers (column id), without which it is not known which are the same in \
                          all frames";
            LineFault::new(0, reason)
        })
    }

    /// Returns the place of a column; `None` if there is none.
    fn place(&self, name: &str) -> Result<Option<usize>, LineFault> {
        let mut places = (0..).zip(&self.names).filter(|(_, found)| **found == name.as_bytes());
        match (places.next(), places.next()) {
            (_, Some(_)) => {
                Err(LineFault::new(0, format!("ITEM: ATOMS names the column {name} twice")))
            }
            (first, None) => Ok(first.map(|(place, _)| place)),
        }
    }

    /// Returns the places of three columns; `None` if there are none.
    fn places(&self, names: [&str; 3]) -> Result<Option<[usize; 3]>, LineFault> {
        let [x, y, z] = names.map(|name| self.place(name));
        match [x?, y?, z?] {
            [Some(x), Some(y), Some(z)] => Ok(Some([x, y, z])),
            [None, None, None] => Ok(None),
            _ => {
                let names = names.join(", ");
                Err(LineFault::new(0, format!("ITEM: ATOMS names only some of {names}")))
            }
        }
    }

    /// Chooses the positions to read.
    ///
    /// # Errors
    /// [`LineFault`] if there are none of the wanted kind.
    pub(super) fn choose(&self, wanted: Positions) -> Result<Read, LineFault> {
        let plain = |kind| Read { kind, adds_images: false };
        let with_images = |kind| Read { kind, adds_images: true };
        let wrapped = [Kind::Wrapped, Kind::Scaled];
        let unwrapped = [Kind::Unwrapped, Kind::UnwrappedScaled];
        let candidates: Vec<Read> = match wanted {
            Positions::Auto => wrapped.into_iter().chain(unwrapped).map(plain).collect(),
            Positions::Wrapped => wrapped.map(plain).to_vec(),
            Positions::Unwrapped => {
                unwrapped.map(plain).into_iter().chain(wrapped.map(with_images)).collect()
            }
        };
        for read in candidates {
            if self.of_positions(read)?.is_some() {
                return Ok(read);
            }
        }
        Err(LineFault::new(
            0,
            match wanted {
                Positions::Auto => {
                    "ITEM: ATOMS names no positions: x y z, xs ys zs, xu yu zu or xsu ysu zsu"
                }
                Positions::Wrapped => "ITEM: ATOMS names no wrapped positions: x y z or xs ys zs",
                Positions::Unwrapped => {
                    "ITEM: ATOMS names no unwrapped positions: xu yu zu, xsu ysu zsu, or image flags ix iy iz beside x y z or \
                 xs ys zs"
                }
            },
        ))
    }

    /// Returns the columns of positions, and of the image flags that are added; `None` if there are none.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn of_positions(&self, read: Read) -> Result<Option<Wanted>, LineFault> {
        let Some(first) = self.places(read.kind.columns())? else { return Ok(None) };
        let images = match read.adds_images {
            true => match self.places(IMAGES)? {
                None => return Ok(None),
                images => images,
            },
            false => None,
        };
        Ok(Some(self.wanted(first, images)))
    }

    /// Returns the columns of velocities or forces; `None` if there are none.
    ///
    /// # Errors
    /// [`LineFault`].
    pub(super) fn of_field(&self, field: Field) -> Result<Option<Wanted>, LineFault> {
        let places = match field {
            Field::Positions => None,
            Field::Velocities => self.places(VELOCITIES)?,
            Field::Forces => self.places(FORCES)?,
        };
        Ok(places.map(|places| self.wanted(places, None)))
    }

    fn wanted(&self, first: [usize; 3], images: Option<[usize; 3]>) -> Wanted {
        let images = images.unwrap_or_default().into_iter().take(3 * usize::from(images.is_some()));
        let mut slots: Vec<(usize, usize)> = first.into_iter().chain(images).zip(0..).collect();
        slots.sort_unstable();
        Wanted { slots, n_columns: self.len() }
    }
}

/// The columns from which a vector is read.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// Columns, which rise, and the slots of their numbers: three of the vector, three of image flags.
    pub(super) slots: Vec<(usize, usize)>,
    /// The number of all columns.
    pub(super) n_columns: usize,
}
