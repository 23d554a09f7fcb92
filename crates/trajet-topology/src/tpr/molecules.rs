//! The topology in a TPR file: molecule types, and how many molecules there are of each.

use super::decoder::{Decoder, fault_at, integers};
use super::functions::{Function, Role, functions};
use crate::error::reserve;
use crate::{Bonds, Particle, TopologyError};

/// Number of groups of atoms that a file assigns: temperature coupling, energies, freezing, ….
const N_GROUP_KINDS: usize = 10;
/// Kinds of particles that are no atoms.
const SHELL: i32 = 2;
const VIRTUAL_SITE: i32 = 4;

/// All texts of a file; the rest refers to them by number.
#[derive(Debug)]
struct Texts<'a> {
    texts: Vec<&'a [u8]>,
}

/// The kinds of molecules, and the blocks of them that make up the system.
#[derive(Debug)]
pub(super) struct System<'a> {
    pub(super) types: Vec<MoleculeType<'a>>,
    pub(super) blocks: Vec<Block>,
    /// The number of interactions between molecules.
    pub(super) n_intermolecular: usize,
}

/// A number of molecules of one type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) molecule_type: usize,
    pub(super) n_molecules: usize,
}

/// A kind of molecule. Atoms and residues are counted from 0 within it.
#[derive(Debug)]
pub(super) struct MoleculeType<'a> {
    pub(super) name: &'a str,
    pub(super) atoms: Vec<Atom<'a>>,
    /// The residues that have atoms.
    pub(super) residues: Vec<Residue<'a>>,
    /// The number of residues in the file, also of those without atoms.
    pub(super) n_listed_residues: usize,
    pub(super) bonds: Bonds,
    /// Virtual sites and the atoms that construct them, shells and the atoms that they belong to.
    pub(super) connections: Bonds,
}

/// An atom of a molecule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atom<'a> {
    pub(super) name: &'a str,
    pub(super) atom_type: &'a str,
    pub(super) mass: f64,
    pub(super) charge: f64,
    /// The number of protons; 0 for particles without, such as beads and virtual sites, and negative if the force field
    /// does not state it.
    pub(super) atomic_number: i32,
    pub(super) particle: Particle,
    pub(super) residue: u32,
}

/// A residue of a molecule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residue<'a> {
    pub(super) name: &'a str,
    pub(super) number: i32,
    /// The insertion code; a space if there is none.
    pub(super) insertion_code: char,
}

impl<'a> Texts<'a> {
    fn read(decoder: &mut Decoder<'a>) -> Result<Self, TopologyError> {
        let n = decoder.count(decoder.text_size(), "texts")?;
        let mut texts = Vec::new();
        reserve(&mut texts, n, "texts")?;
        for _ in 0..n {
            texts.push(decoder.text("a text")?);
        }
        Ok(Texts { texts })
    }

    fn get(&self, decoder: &mut Decoder<'a>, what: &str) -> Result<&'a str, TopologyError> {
        let at = decoder.position();
        let bytes = self.texts[decoder.index(self.texts.len(), what)?];
        std::str::from_utf8(bytes).map_err(|_| {
            let text = String::from_utf8_lossy(bytes);
            fault_at(at, format!("{what} is {text:?}, which is not UTF-8"))
        })
    }
}

impl<'a> System<'a> {
    /// Reads everything from the texts to the groups of atoms.
    pub(super) fn read(decoder: &mut Decoder<'a>, version: i32) -> Result<Self, TopologyError> {
        let texts = Texts::read(decoder)?;
        decoder.index(texts.texts.len(), "the number of the title")?;
        let functions = functions(version);
        let n_parameters = skip_force_field(decoder, &functions, version)?;

        // At least its name, two numbers, a list for each function, charge groups and exclusions.
        let least = 4 + 8 + 4 * functions.len() + 8 + 12;
        let n_types = decoder.count(least, "molecule types")?;
        let mut types = Vec::new();
        reserve(&mut types, n_types, "molecule types")?;
        for _ in 0..n_types {
            types.push(MoleculeType::read(decoder, &texts, &functions, n_parameters)?);
        }

        let n_blocks = decoder.count(5 * 4, "molecule blocks")?;
        let mut blocks = Vec::new();
        reserve(&mut blocks, n_blocks, "molecule blocks")?;
        for _ in 0..n_blocks {
            blocks.push(Block::read(decoder, &types)?);
        }
        let mut system = System { types, blocks, n_intermolecular: 0 };
        let at = decoder.position();
        let n_atoms = decoder.int("the number of atoms")?;
        if i64::from(n_atoms) != system.n_atoms() as i64 {
            return Err(fault_at(
                at,
                format!(
                    "the molecules have {} atoms, the topology states {n_atoms}",
                    system.n_atoms()
                ),
            ));
        }
        system.n_intermolecular = skip_rest(decoder, &functions, version)?;
        Ok(system)
    }

    /// Returns the number of atoms; `usize::MAX` if there are more.
    pub(super) fn n_atoms(&self) -> usize {
        let of_block = |block: &Block| {
            self.types[block.molecule_type].atoms.len().saturating_mul(block.n_molecules)
        };
        self.blocks.iter().map(of_block).fold(0, usize::saturating_add)
    }
}

/// Skips the parameters of interactions and returns their number.
fn skip_force_field(
    decoder: &mut Decoder<'_>,
    functions: &[Function],
    version: i32,
) -> Result<usize, TopologyError> {
    decoder.int("the number of atom types")?;
    let at = decoder.position();
    let numbers = decoder.ints("parameters")?;
    // The exponent of repulsion is a double in every file.
    decoder.skip(1, 8, "the exponent of repulsion")?;
    decoder.real("the factor of 1-4 interactions")?;
    for (i, number) in integers(numbers).enumerate() {
        let function = usize::try_from(number).ok().and_then(|number| functions.get(number));
        let Some(function) = function.filter(|function| function.role != Role::Energy) else {
            let name = function.map_or("unknown", |function| function.name);
            return Err(fault_at(
                at + 4 + 4 * i,
                format!("function {number} ({name}) has no parameters in version {version}"),
            ));
        };
        let (reals, integers) = function.parameters(version);
        decoder.skip(reals * decoder.real_size() + 4 * integers, 1, "parameters")?;
    }
    Ok(numbers.len() / 4)
}

impl<'a> MoleculeType<'a> {
    fn read(
        decoder: &mut Decoder<'a>,
        texts: &Texts<'a>,
        functions: &[Function],
        n_parameters: usize,
    ) -> Result<Self, TopologyError> {
        let name = texts.get(decoder, "the name of a molecule type")?;
        let (mut atoms, residues) = read_atoms(decoder, texts)?;
        let n_listed_residues = residues.len();
        let residues = drop_unused(&mut atoms, residues)?;
        let mut pairs =
            Pairs { n_parameters, n_atoms: atoms.len(), bonds: vec![], connections: vec![] };
        for function in functions {
            pairs.read(decoder, function)?;
        }
        let n_groups = decoder.count(4, "charge groups")?;
        check_ranges(decoder, n_groups, atoms.len(), "charge groups")?;
        let n_lists = decoder.count(4, "lists of exclusions")?;
        let n_exclusions = decoder.count(4, "exclusions")?;
        check_ranges(decoder, n_lists, n_exclusions, "exclusions")?;
        decoder.skip(n_exclusions, 4, "exclusions")?;
        let (bonds, connections) = (Bonds::new(pairs.bonds), Bonds::new(pairs.connections));
        Ok(MoleculeType { name, atoms, residues, n_listed_residues, bonds, connections })
    }
}

/// The pairs of atoms that the interactions of a molecule connect.
#[derive(Debug)]
struct Pairs {
    n_parameters: usize,
    n_atoms: usize,
    bonds: Vec<[u32; 2]>,
    connections: Vec<[u32; 2]>,
}

impl Pairs {
    /// Reads the interactions of one function: for each the number of its parameters and its atoms.
    fn read(
        &mut self,
        decoder: &mut Decoder<'_>,
        function: &Function,
    ) -> Result<(), TopologyError> {
        let at = decoder.position();
        let ints = decoder.ints("interactions")?;
        let n_each = 1 + match function.role {
            Role::Bond => 2,
            Role::Settle => 3,
            Role::Connection(n) => n,
            Role::None => return Ok(()),
            Role::Energy => match ints.is_empty() {
                true => return Ok(()),
                false => return Err(fault_at(at, format!("{} with atoms", function.name))),
            },
        };
        if !ints.len().is_multiple_of(4 * n_each) {
            return Err(fault_at(
                at,
                format!("{} has {} numbers, not {n_each} for each", function.name, ints.len() / 4),
            ));
        }
        let into = match function.role {
            Role::Connection(_) => &mut self.connections,
            _ => &mut self.bonds,
        };
        let n_pairs = ints.len() / (4 * n_each) * (n_each - 2);
        reserve(into, n_pairs, "bonds")?;
        for (i, entry) in ints.chunks_exact(4 * n_each).enumerate() {
            let invalid = |reason: String| {
                let at = at + 4 + 4 * n_each * i;
                fault_at(at, format!("an interaction of {} {reason}", function.name))
            };
            let below = |number: i32, n: usize| match usize::try_from(number) {
                Ok(index) if index < n => Ok(index as u32),
                _ => Err(invalid(format!("refers to number {number} of {n}"))),
            };
            let mut entry = integers(entry);
            let parameters = entry.next().expect("n_each numbers");
            // Neural network potentials replace bonds by connections without parameters, -1.
            if parameters != -1 {
                below(parameters, self.n_parameters)?;
            }
            let first = below(entry.next().expect("n_each numbers"), self.n_atoms)?;
            for other in entry {
                let other = below(other, self.n_atoms)?;
                if other == first {
                    return Err(invalid(format!("refers to atom {first} twice")));
                }
                into.push([first, other]);
            }
        }
        Ok(())
    }
}

/// Reads the atoms and residues of a molecule type.
fn read_atoms<'a>(
    decoder: &mut Decoder<'a>,
    texts: &Texts<'a>,
) -> Result<(Vec<Atom<'a>>, Vec<Residue<'a>>), TopologyError> {
    let atom_size = 4 * decoder.real_size() + 2 * decoder.short_size() + 3 * 4;
    // An atom is followed by its name and two types.
    let n_atoms = decoder.count(atom_size + 3 * 4, "atoms")?;
    let n_residues = decoder.count(4 + 4 + decoder.byte_size(), "residues")?;
    let mut atoms = Vec::new();
    reserve(&mut atoms, n_atoms, "atoms")?;
    for _ in 0..n_atoms {
        let at = decoder.position();
        let (mass, charge) = (decoder.real("a mass")?, decoder.real("a charge")?);
        if !(mass.is_finite() && charge.is_finite()) {
            return Err(fault_at(at, format!("an atom of mass {mass} and charge {charge}")));
        }
        // Mass, charge and type in state B of free energy calculations.
        decoder.skip(2 * decoder.real_size() + 2 * decoder.short_size(), 1, "an atom")?;
        let kind = decoder.int("the kind of a particle")?;
        let residue = decoder.index(n_residues, "the residue of an atom")? as u32;
        let atomic_number = decoder.int("an atomic number")?;
        let particle = match (kind, atomic_number) {
            (SHELL | VIRTUAL_SITE, _) => Particle::Site,
            (_, 0) => Particle::NoElement,
            _ => Particle::Atom,
        };
        atoms.push(Atom {
            name: "",
            atom_type: "",
            mass,
            charge,
            atomic_number,
            particle,
            residue,
        });
    }
    for atom in &mut atoms {
        atom.name = texts.get(decoder, "the name of an atom")?;
    }
    for atom in &mut atoms {
        atom.atom_type = texts.get(decoder, "the type of an atom")?;
    }
    decoder.skip(n_atoms, 4, "the types in state B")?;
    let mut residues = Vec::new();
    reserve(&mut residues, n_residues, "residues")?;
    for _ in 0..n_residues {
        let name = texts.get(decoder, "the name of a residue")?;
        let number = decoder.int("the number of a residue")?;
        let insertion_code = char::from(decoder.byte("an insertion code")?);
        residues.push(Residue { name, number, insertion_code });
    }
    Ok((atoms, residues))
}

/// Removes residues without atoms.
fn drop_unused<'a>(
    atoms: &mut [Atom<'_>],
    residues: Vec<Residue<'a>>,
) -> Result<Vec<Residue<'a>>, TopologyError> {
    const UNUSED: u32 = u32::MAX;
    let mut new_index = Vec::new();
    reserve(&mut new_index, residues.len(), "residues")?;
    new_index.resize(residues.len(), UNUSED);
    for atom in atoms.iter() {
        new_index[atom.residue as usize] = 0;
    }
    let used = new_index.iter_mut().filter(|index| **index != UNUSED);
    used.zip(0..).for_each(|(index, new)| *index = new);
    for atom in atoms.iter_mut() {
        atom.residue = new_index[atom.residue as usize];
    }
    let is_used = new_index.iter().map(|&index| index != UNUSED);
    Ok(residues
        .into_iter()
        .zip(is_used)
        .filter_map(|(residue, used)| used.then_some(residue))
        .collect())
}

/// Reads the borders of `n` ranges that together are `0..end`.
fn check_ranges(
    decoder: &mut Decoder<'_>,
    n: usize,
    end: usize,
    what: &str,
) -> Result<(), TopologyError> {
    let at = decoder.position();
    let mut borders = integers(decoder.take(4 * (n + 1), what)?);
    let mut last = borders.next().expect("one border at least");
    let starts_at_zero = last == 0;
    let ascending = borders.all(|border| last <= std::mem::replace(&mut last, border));
    if !(starts_at_zero && ascending && usize::try_from(last) == Ok(end)) {
        return Err(fault_at(at, format!("the {what} are no ranges from 0 to {end}")));
    }
    Ok(())
}

impl Block {
    fn read(decoder: &mut Decoder<'_>, types: &[MoleculeType<'_>]) -> Result<Self, TopologyError> {
        let molecule_type = decoder.index(types.len(), "the type of a molecule")?;
        let at = decoder.position();
        let n_molecules = decoder.count(0, "molecules")?;
        let expected = types[molecule_type].atoms.len();
        if n_molecules > 0 && expected == 0 {
            let name = types[molecule_type].name;
            return Err(fault_at(at, format!("molecules of {name:?}, which has no atoms")));
        }
        let at = decoder.position();
        let n_atoms = decoder.int("the atoms of a molecule")?;
        if i64::from(n_atoms) != expected as i64 {
            return Err(fault_at(
                at,
                format!("molecules of {n_atoms} atoms, where their type has {expected}"),
            ));
        }
        for _state in ["A", "B"] {
            let n = decoder.count(3 * decoder.real_size(), "reference positions")?;
            decoder.skip(n, 3 * decoder.real_size(), "reference positions")?;
        }
        Ok(Block { molecule_type, n_molecules })
    }
}

/// Skips the data between the molecules and the positions, and returns the number of interactions between molecules.
fn skip_rest(
    decoder: &mut Decoder<'_>,
    functions: &[Function],
    version: i32,
) -> Result<usize, TopologyError> {
    let mut n_intermolecular = 0;
    if decoder.flag("the flag of interactions between molecules")? {
        for _ in functions {
            n_intermolecular += usize::from(!decoder.ints("interactions")?.is_empty());
        }
    }
    if version < 128 {
        let n = decoder.count(4, "atom types")?;
        // Five parameters of implicit solvent, and the atomic number.
        let reals = if version < 113 { 5 } else { 0 };
        decoder.skip(n, reals * decoder.real_size() + 4, "atom types")?;
    }
    let n_grids = decoder.count(0, "CMAP tables")?;
    let extent = decoder.count(0, "the points of a CMAP table")?;
    let points = n_grids.saturating_mul(extent).saturating_mul(extent);
    decoder.skip(points, 4 * decoder.real_size(), "the CMAP tables")?;

    for _ in 0..N_GROUP_KINDS {
        decoder.ints("groups")?;
    }
    decoder.ints("names of groups")?;
    for _ in 0..N_GROUP_KINDS {
        let n = decoder.count(decoder.byte_size(), "groups of atoms")?;
        decoder.skip(n, decoder.byte_size(), "the groups of atoms")?;
    }
    if version >= 120 {
        let n = decoder.long_count(4, "atoms without interactions between molecules")?;
        decoder.skip(n, 4, "atoms without interactions between molecules")?;
    }
    Ok(n_intermolecular)
}
