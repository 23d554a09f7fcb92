//! Elements of particles, and which particles are no atoms: virtual sites, extra points, lone pairs, Drude particles
//! and shells.
//!
//! An element is that of the file, or else follows from mass and name together:
//!
//! 1. A particle that the file calls a virtual site, a shell or a Drude particle is no atom. Neither is one of mass 0,
//!    or one of at most 0.4 u that is bonded to a heavy atom (Drude particles: G. Lamoureux and B. Roux, J. Chem. Phys.
//!    119, 3025 (2003), doi:10.1063/1.1589749). Those whose element the file states are atoms anyway, such as hydrogens
//!    that GROMACS constructs as virtual sites. If all masses of a file are 0, it states none.
//! 2. An atomic number that is that of no element means no element, whatever the name.
//! 3. A stated mass that is that of H, D, T, C, N, O, F or S means this element, unless masses were moved to hydrogens.
//! 4. A name means an element only if the stated mass may be that of it: bead `C1` of 72 u is no carbon.
//! 5. Without masses, names such as `EPW`, `LP1` and `MW` are those of sites, whose mass and radius are unknown.

use std::collections::HashMap;

use crate::error::reserve;
use crate::guess::{
    NotGuessed, heavy_element_of_name, is_site_name, other_type_of_name, type_of_name,
};
use crate::{Column, Particle, Topology, elements};

/// The heaviest Drude particle, u.
const HEAVIEST_DRUDE: f64 = 0.4;
/// The lightest atom that is no hydrogen, u; masses of hydrogens may be four times their own.
const LIGHTEST_HEAVY: f64 = 4.2;
/// The heaviest hydrogen, u, to which mass was moved.
pub const HEAVIEST_HYDROGEN: f64 = 4.1;
/// The most mass that is moved from an atom to three hydrogens, u.
const MAX_MOVED: f64 = 9.2;
/// The mass of four hydrogens, u, which a united carbon atom has.
const UNITED: f64 = 4.1;
/// The largest difference of a mass from that of its element, u: isotopes, and hydrogens of united atoms.
const SLACK: f64 = 2.1;
/// The largest difference of a mass that tells the element, u. Masses of united atoms (CH2: 14.027) differ by more, those
/// of force fields by less.
const TOLERANCE: f64 = 0.012;
/// Masses (u) that tell the element.
const TELLING: [(&str, f64); 8] = [
    ("H", 1.008),
    ("D", 2.014),
    ("T", 3.016),
    ("C", 12.011),
    ("N", 14.007),
    ("O", 15.999),
    ("F", 18.998),
    ("S", 32.065),
];
/// Elements that have bonds to hydrogen, to which mass may be moved.
const WITH_HYDROGENS: [&str; 7] = ["B", "C", "N", "O", "Si", "P", "S"];
/// The type of Drude particles in CHARMM's force fields.
const DRUDE_TYPE: &str = "DRUD";

impl Topology {
    /// Returns the masses that the file states; `None` if it states none.
    pub fn stated_masses(&self) -> Option<&[f64]> {
        let masses = self.atoms.masses.as_deref().filter(|_| !self.guessed.masses)?;
        // Some programs write zeros for unknown masses.
        masses.iter().any(|&mass| mass != 0.0).then_some(masses)
    }

    /// Returns which particles are no atoms by what the file states; see the module. Empty if all are atoms.
    ///
    /// # Errors
    /// [`NotGuessed::Memory`].
    pub fn sites(&self) -> Result<Vec<bool>, NotGuessed> {
        let drude = self.drude_type();
        let masses = self.stated_masses();
        let light = masses.is_some_and(|masses| masses.iter().any(|&mass| mass <= HEAVIEST_DRUDE));
        if self.atoms.particles.is_none() && drude.is_none() && !light {
            return Ok(Vec::new());
        }
        let n = self.n_atoms();
        let mut sites = Vec::new();
        reserve(&mut sites, n, "sites")?;
        sites.resize(n, false);
        if let Some(particles) = &self.atoms.particles {
            let of_particles = sites.iter_mut().zip(particles);
            of_particles.for_each(|(site, &particle)| *site = particle == Particle::Site);
        }
        if let Some((types, code)) = drude {
            sites
                .iter_mut()
                .zip(types.codes())
                .for_each(|(site, &of_atom)| *site |= of_atom == code);
        }
        if let Some(masses) = masses {
            sites.iter_mut().zip(masses).for_each(|(site, &mass)| *site |= mass == 0.0);
            let is_light = |atom: u32| (0.0..=HEAVIEST_DRUDE).contains(&masses[atom as usize]);
            for &[a, b] in self.bonds.iter().flat_map(|bonds| bonds.pairs()) {
                for (light, heavy) in [(a, b), (b, a)] {
                    if is_light(light) && masses[heavy as usize] >= LIGHTEST_HEAVY {
                        sites[light as usize] = true;
                    }
                }
            }
        }
        if let Some(elements) = self.atoms.elements.as_ref().filter(|_| !self.guessed.elements) {
            let is_stated: Vec<bool> =
                elements.values().iter().map(|symbol| !symbol.is_empty()).collect();
            let of_atoms = sites.iter_mut().zip(elements.codes());
            of_atoms.for_each(|(site, &code)| *site &= !is_stated[code as usize]);
        }
        if !sites.contains(&true) {
            sites.clear();
        }
        Ok(sites)
    }

    /// Returns the column of types and the code of Drude particles in it, if there are any.
    fn drude_type(&self) -> Option<(&Column, u32)> {
        let types = self.atoms.types.as_ref().filter(|_| !self.guessed.types)?;
        let code = types.values().iter().position(|kind| **kind == *DRUDE_TYPE)?;
        Some((types, code as u32))
    }

    /// Returns the elements of the file, and those that follow from mass and name for atoms without; empty where
    /// neither tells it, and for particles that are no atoms. `column` names what is guessed from them, for messages.
    ///
    /// # Errors
    /// [`NotGuessed::CoarseGrained`], [`NotGuessed::Nameless`], [`NotGuessed::Memory`].
    pub fn known_elements(&self, column: &'static str) -> Result<Column, NotGuessed> {
        let read = self.atoms.elements.as_ref();
        if let Some(read) = read.filter(|read| read.values().iter().all(|text| !text.is_empty())) {
            return Ok(read.clone());
        }
        let sites = self.sites()?;
        let is_site = |atom: usize| sites.get(atom).copied().unwrap_or(false);
        let is_known = |atom: usize| read.is_some_and(|read| !read.get(atom).is_empty());
        if let Some(read) = read
            && (0..self.n_atoms()).all(|atom| is_known(atom) || is_site(atom))
        {
            return Ok(read.clone());
        }
        if self.is_nameless() {
            return Err(NotGuessed::Nameless { column });
        }
        if let Some(bead) = self.bead_of_coarse_grained_model() {
            return Err(NotGuessed::CoarseGrained { column, bead });
        }
        Ok(self.elements_by_name(&is_site, &is_known))
    }

    /// Returns the elements as [`Topology::known_elements`] does, whatever the names are.
    pub(crate) fn elements_by_name(
        &self,
        is_site: &dyn Fn(usize) -> bool,
        is_known: &dyn Fn(usize) -> bool,
    ) -> Column {
        let mut rules = MassRules::of(self.stated_masses());
        let names = &self.atoms.names;
        let by_name: Vec<&'static str> = names.values().iter().map(|name| symbol(name)).collect();
        // Symbols of names that mean an ion only where the residue is that ion.
        let in_molecules: Vec<Option<&'static str>> =
            names.values().iter().map(|name| symbol_in_molecules(name)).collect();
        let mut sure = self.ions().unwrap_or_default();
        sure.extend(self.decided_elements());
        sure.sort_unstable();
        sure.dedup_by_key(|&mut (atom, _)| atom);
        let mut sure = sure.into_iter().peekable();
        let has_mass = rules.masses.is_some();
        let has_no_number = |atom: usize| {
            let particle = self.atoms.particles.as_ref().map(|particles| particles[atom]);
            particle == Some(Particle::NoElement)
        };
        (0..self.n_atoms())
            .map(|atom| {
                let ion = sure.next_if(|&(ion, _)| ion == atom).map(|(_, symbol)| symbol);
                match &self.atoms.elements {
                    Some(read) if is_known(atom) => read.get(atom),
                    _ if is_site(atom) || has_no_number(atom) => "",
                    _ => {
                        let code = names.codes()[atom] as usize;
                        let by_residue = || match in_molecules[code] {
                            // A mass tells elements apart.
                            Some(symbol)
                                if !(has_mass && symbol.is_empty()
                                    || self.is_ion_of_residue(atom)) =>
                            {
                                symbol
                            }
                            _ => by_name[code],
                        };
                        let named = ion.unwrap_or_else(by_residue);
                        rules.element(named, atom)
                    }
                }
            })
            .collect()
    }

    /// Returns the particles that are no atoms by their names, if the file states neither their masses nor their
    /// elements; empty if there are none.
    ///
    /// # Errors
    /// [`NotGuessed::Memory`].
    pub fn named_sites(&self) -> Result<Vec<bool>, NotGuessed> {
        let mut sites = Vec::new();
        if self.is_nameless() || self.stated_masses().is_some() {
            return Ok(sites);
        }
        let names = &self.atoms.names;
        let is_site: Vec<bool> = names.values().iter().map(|name| is_site_name(name)).collect();
        if !is_site.contains(&true) {
            return Ok(sites);
        }
        reserve(&mut sites, names.len(), "sites")?;
        let stated = self.atoms.elements.as_ref().filter(|_| !self.guessed.elements);
        let has_element = |atom| stated.is_some_and(|column| !column.get(atom).is_empty());
        let of_atoms = names.codes().iter().enumerate();
        sites.extend(of_atoms.map(|(atom, &code)| is_site[code as usize] && !has_element(atom)));
        Ok(sites)
    }
}

/// Returns the symbol of the element that a name means, outside of molecules; empty if it means none.
fn symbol(name: &str) -> &'static str {
    match (is_site_name(name), heavy_element_of_name(name)) {
        (true, _) => "",
        (_, Some((symbol, _))) => symbol,
        _ => elements::symbol_in_name(&type_of_name(name)).unwrap_or_default(),
    }
}

/// Returns the symbol of the element that a name means in molecules, empty if it means none; `None` if that is what it
/// means everywhere.
fn symbol_in_molecules(name: &str) -> Option<&'static str> {
    if let Some((_, is_doubtful)) = heavy_element_of_name(name) {
        return is_doubtful.then_some("");
    }
    let other = other_type_of_name(name).filter(|_| !is_site_name(name))?;
    Some(elements::symbol_in_name(&other).unwrap_or_default())
}

/// Tells elements by the masses that a file states.
struct MassRules<'a> {
    masses: Option<&'a [f64]>,
    /// Whether mass was moved from heavy atoms to hydrogens.
    are_moved: bool,
    /// Elements of pairs of an element by name and the bits of a mass.
    kept: HashMap<(&'static str, u64), &'static str>,
}

impl<'a> MassRules<'a> {
    fn of(masses: Option<&'a [f64]>) -> Self {
        // Repartitioned hydrogens have 3.024 or 4.032 u.
        let is_moved = |&mass: &f64| {
            let differs = |own: f64| (mass - own).abs() > 0.004;
            mass > 1.1 && mass < HEAVIEST_HYDROGEN && differs(2.014) && differs(3.016)
        };
        let are_moved = masses.is_some_and(|masses| masses.iter().any(is_moved));
        MassRules { masses, are_moved, kept: HashMap::new() }
    }

    /// Returns the element of an atom, given the one that its name means.
    fn element(&mut self, named: &'static str, atom: usize) -> &'static str {
        let Some(mass) = self.masses.map(|masses| masses[atom]).filter(|mass| mass.is_finite())
        else {
            return named;
        };
        let are_moved = self.are_moved;
        self.kept.entry((named, mass.to_bits())).or_insert_with(|| {
            let is_named = may_be_of(named, mass);
            let telling = TELLING.iter().find(|(_, own)| (mass - own).abs() < TOLERANCE);
            match telling {
                Some((symbol, _)) if !(are_moved && is_named) => symbol,
                _ if is_named => named,
                _ => "",
            }
        })
    }
}

/// Returns whether an atom of an element may have a mass.
fn may_be_of(symbol: &str, mass: f64) -> bool {
    if matches!(symbol, "H" | "D" | "T") {
        return mass > HEAVIEST_DRUDE && mass <= HEAVIEST_HYDROGEN;
    }
    let less = if WITH_HYDROGENS.contains(&symbol) { MAX_MOVED } else { SLACK };
    let more = if symbol == "C" { UNITED } else { SLACK };
    elements::mass(symbol).is_some_and(|own| (own - less..=own + more).contains(&mass))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Atoms, Bonds, Residues, Segments};

    /// Returns a topology of one residue: names, masses and stated elements.
    fn topology(rows: &[(&str, f64, &str)], bonds: &[[u32; 2]]) -> Topology {
        let column = |texts: Vec<&str>| texts.into_iter().collect::<Column>();
        Topology {
            atoms: Atoms {
                names: column(rows.iter().map(|row| row.0).collect()),
                masses: Some(rows.iter().map(|row| row.1).collect()),
                elements: Some(column(rows.iter().map(|row| row.2).collect())),
                residues: vec![0; rows.len()],
                ..Atoms::default()
            },
            residues: Residues {
                names: column(vec!["RES"]),
                numbers: vec![1],
                segments: vec![0],
                ..Residues::default()
            },
            segments: Segments { ids: column(vec!["SYSTEM"]) },
            bonds: Some(Bonds::new(bonds.to_vec())),
            ..Topology::default()
        }
    }

    fn elements(topology: &Topology) -> Vec<String> {
        topology.known_elements("elements").unwrap().iter().map(str::to_owned).collect()
    }

    #[test]
    fn an_element_agrees_with_the_stated_mass() {
        for (name, mass, element) in [
            ("C1", 12.011, "C"),
            ("C1", 72.0, ""),
            ("SC1", 36.0, ""),
            ("SC1", 54.0, ""),
            ("W", 72.0, ""),
            ("CB", 14.027, "C"),
            ("CB", 16.043, "C"),
            ("NC", 12.011, "C"),
            ("CA", 40.08, ""),
            ("CAL", 40.08, "Ca"),
            ("SE", 78.96, "Se"),
            ("SE", 32.06, "S"),
            ("SE", 72.0, ""),
            ("MN", 54.938, "Mn"),
            ("MN", 14.007, "N"),
            ("H1", 0.4, ""),
            ("DC1", 0.4, ""),
            ("XX", 15.999, "O"),
            ("P", 30.974, "P"),
        ] {
            assert_eq!(elements(&topology(&[(name, mass, "")], &[])), [element], "{name} {mass}");
        }
    }

    #[test]
    fn masses_that_were_moved_to_hydrogens_do_not_tell_elements() {
        // Each hydrogen takes 1.992 u, so that N of an amide has the mass of carbon.
        let rows = [("N", 12.015, ""), ("HN", 3.0, ""), ("CA", 10.019, ""), ("HA", 3.0, "")];
        assert_eq!(elements(&topology(&rows, &[[0, 1], [2, 3]])), ["N", "H", "C", "H"]);
    }

    #[test]
    fn light_particles_on_heavy_atoms_are_sites() {
        let rows = [("O", 15.6, "O"), ("DO", 0.4, ""), ("LP", 0.0, ""), ("H", 0.4, "")];
        let drude = topology(&rows, &[[0, 1]]);
        assert_eq!(drude.sites().unwrap(), [false, true, true, false]);
        // A hydrogen whose element the file states stays one, without mass too.
        let rows = [("CA", 12.0, "C"), ("HA", 0.0, "H")];
        assert_eq!(topology(&rows, &[[0, 1]]).sites().unwrap(), [] as [bool; 0]);
        let mut typed = topology(&[("O", 15.6, "O"), ("DO", 0.8, "")], &[]);
        typed.atoms.types = Some(["OX", "DRUD"].into_iter().collect());
        assert_eq!(typed.sites().unwrap(), [false, true]);
    }

    #[test]
    fn masses_that_are_all_zero_are_not_stated() {
        let mut zero = topology(&[("CA", 0.0, ""), ("MW", 0.0, ""), ("EPW", 0.0, "")], &[]);
        assert_eq!(zero.sites().unwrap(), [] as [bool; 0]);
        assert_eq!(zero.named_sites().unwrap(), [false, true, true]);
        assert_eq!(elements(&zero), ["C", "", ""]);
        zero.guess_masses().unwrap();
        assert_eq!(zero.atoms.masses, Some(vec![12.011, 0.0, 0.0]));
        assert!(zero.guessed.masses && zero.messages.len() == 1, "{:?}", zero.messages);
    }

    #[test]
    fn an_atomic_number_of_no_element_means_no_element() {
        let mut dummy = topology(&[("C1", 12.011, ""), ("C2", 12.011, "")], &[]);
        dummy.atoms.particles = Some(vec![Particle::NoElement, Particle::Atom]);
        assert_eq!(elements(&dummy), ["", "C"]);
        assert_eq!(dummy.sites().unwrap(), [] as [bool; 0]);
    }
}
