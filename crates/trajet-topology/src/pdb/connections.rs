//! The bonds of CONECT records.

use trajet_formats::{Code, Message};

use super::numbers::{SERIAL, Serials, hybrid_36};
use crate::error::reserve;
use crate::text::{Lines, integer};
use crate::{Bonds, Topology, TopologyError};

/// The columns of a serial number.
const WIDTH: usize = 5;
/// The columns of an atom and four partners.
const COLUMNS: usize = 5 * WIDTH;

/// The bonds of CONECT records, as serial numbers.
#[derive(Default)]
pub(super) struct Connections {
    pairs: Vec<[i64; 2]>,
    malformed: Option<u64>,
    /// The line in which numbers first fill their columns, so that nothing separates them.
    joined: Option<u64>,
}

impl Connections {
    /// Adds the bonds of a record.
    pub(super) fn add(&mut self, line: &[u8], lines: &Lines<'_>) -> Result<(), TopologyError> {
        let fields = line[SERIAL.start..].trim_ascii_end();
        let is_digit = |at: usize| fields.get(at).is_some_and(u8::is_ascii_digit);
        if (1..=5).any(|n| is_digit(WIDTH * n - 1) && is_digit(WIDTH * n)) {
            self.joined.get_or_insert(lines.number());
        }
        // A number goes on behind the last of four partners.
        if is_digit(COLUMNS - 1) && is_digit(COLUMNS) {
            self.malformed.get_or_insert(lines.number());
            return Ok(());
        }
        // Beyond four partners stand hydrogen bonds of old versions of the format.
        let fields = &fields[..fields.len().min(COLUMNS)];
        let mut serials = fields.chunks(WIDTH).map(|field| {
            integer(field).or_else(|| hybrid_36(field, 5)).filter(|_| field.len() == WIDTH)
        });
        let Some(first) = serials.next() else { return Ok(()) };
        for partner in serials {
            let (Some(first), Some(partner)) = (first, partner) else {
                self.malformed.get_or_insert(lines.number());
                return Ok(());
            };
            reserve(&mut self.pairs, 1, "bonds")?;
            self.pairs.push([first, partner]);
        }
        Ok(())
    }

    /// Returns the bonds between atoms with these serial numbers; `None` if there are none, or, with a warning, if
    /// they are not certain.
    pub(super) fn bonds(
        self,
        serials: &Serials,
        topology: &mut Topology,
    ) -> Result<(), TopologyError> {
        let Topology { bonds, messages, .. } = topology;
        *bonds = self.pairs_of(serials, messages)?;
        Ok(())
    }

    fn pairs_of(
        self,
        serials: &Serials,
        messages: &mut Vec<Message>,
    ) -> Result<Option<Bonds>, TopologyError> {
        if let Some(line) = self.malformed {
            let text = format!("line {line}: the CONECT record is malformed; no bonds are read");
            messages.push(Code::BondsNotRead.message(text));
            return Ok(None);
        }
        if self.pairs.is_empty() {
            return Ok(None);
        }
        let reason = match self.joined {
            _ if serials.unreadable.is_some() => Some("serial numbers are missing".to_owned()),
            _ if serials.is_hexadecimal => Some("serial numbers are hexadecimal".to_owned()),
            Some(line) if serials.is_wide => {
                Some(format!("numbers beyond 99999 are not separated on line {line}"))
            }
            _ => None,
        };
        if let Some(reason) = reason {
            let text = format!("CONECT records are not read, as {reason}: no bonds are known");
            messages.push(Code::BondsNotRead.message(text));
            return Ok(None);
        }
        let index = SerialIndex::new(&serials.serials)?;
        let mut bonds = Vec::new();
        reserve(&mut bonds, self.pairs.len(), "bonds")?;
        let mut unknown = None;
        for pair in self.pairs {
            match pair.map(|serial| index.find(serial)) {
                [Found::One(a), Found::One(b)] => bonds.push([a, b]),
                [a, b] => {
                    for (found, serial) in [a, b].into_iter().zip(pair) {
                        match found {
                            Found::Several => {
                                messages.push(Code::BondsNotRead.message(format!(
                                    "no bonds are read: CONECT names atom {serial}, which several \
                                     atoms are"
                                )));
                                return Ok(None);
                            }
                            Found::None => unknown = unknown.or(Some(serial)),
                            Found::One(_) => {}
                        }
                    }
                }
            }
        }
        if let Some(serial) = unknown {
            let text = format!("bonds of CONECT records to no atom, as {serial}, are left out");
            messages.push(Code::BondsLeftOut.message(text));
        }
        Ok(Some(Bonds::new(bonds)))
    }
}

/// The atoms that have a given serial number: none, one, or several.
enum Found {
    None,
    One(u32),
    Several,
}

/// Atoms in the order of their serial numbers.
struct SerialIndex {
    sorted: Vec<(i64, u32)>,
}

impl SerialIndex {
    fn new(serials: &[i64]) -> Result<Self, TopologyError> {
        let mut sorted = Vec::new();
        reserve(&mut sorted, serials.len(), "atoms")?;
        sorted.extend(serials.iter().zip(0..).map(|(&serial, atom)| (serial, atom)));
        sorted.sort_unstable();
        Ok(SerialIndex { sorted })
    }

    fn find(&self, serial: i64) -> Found {
        let at = self.sorted.partition_point(|&(other, _)| other < serial);
        let mut found = self.sorted[at..].iter().take_while(|&&(other, _)| other == serial);
        match (found.next(), found.next()) {
            (None, _) => Found::None,
            (Some(&(_, atom)), None) => Found::One(atom),
            _ => Found::Several,
        }
    }
}
