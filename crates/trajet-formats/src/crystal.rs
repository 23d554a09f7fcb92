//! Unit cells of crystals, which are no boxes of simulations.
//!
//! The neighbours of a molecule in a crystal are those of its symmetry operations. Translations by the cell alone, which
//! are all that a box has, would take some of them for contacts of the molecule. Programs for simulations write the space
//! group P 1, or none.

use crate::{Code, Message};

/// The letters with which symbols of space groups begin, the centrings of lattices.
const CENTRINGS: &[u8] = b"ABCFHIPR";

/// Returns the space group of a crystal, given its Hermann-Mauguin symbol as a file states it; `None` for P 1, for
/// blanks, and for texts that are no such symbol.
pub fn space_group(text: &[u8]) -> Option<String> {
    let text = text.trim_ascii();
    let symbol: Vec<u8> = text
        .iter()
        .filter(|byte| !matches!(byte, b' ' | b'\t' | b'_'))
        .map(u8::to_ascii_uppercase)
        .collect();
    let is_symbol = symbol.len() > 1 && CENTRINGS.contains(&symbol[0]);
    let is_box = matches!(&symbol[..], b"P1" | b"P111");
    (is_symbol && !is_box).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Returns the message on a unit cell in `place` that is that of a crystal.
pub fn message(place: &str, space_group: &str) -> Message {
    Code::CrystalCell.message(format!(
        "{place} is the unit cell of a crystal ({space_group}), not the box of a simulation: no periodic images are taken"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crystals_have_another_group_than_p1() {
        for text in ["", " ", "P 1", "P1", "p 1", "P  1        ", "P 1 1 1", "?", "1", "P", "."] {
            assert_eq!(space_group(text.as_bytes()), None, "{text}");
        }
        for text in ["P 21 21 21", "P21", "P -1", "C 1 2 1", "H 3 2", "I 41 3 2", "p 61", "A 1"] {
            assert_eq!(space_group(format!(" {text} ").as_bytes()).as_deref(), Some(text));
        }
    }
}
