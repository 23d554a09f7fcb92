//! The layout of a NetCDF file: its dimensions, attributes and variables, including further ones that Amber's
//! convention does not name. Copies to NetCDF keep them all: a replica-exchange run cannot be sorted without
//! `temp0` and `remd_indices`.
//!
//! A frame refers to the layout of its file, which all frames of the file share, and holds the values of the
//! further variables in its record ([`Further`]). Variables of the convention are fields of the frame. Variables
//! with the dimension `atom` are cut to the atoms taken.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attributes::{attribute, attributes, differing, is_list, with_text_attribute};
use super::classic::{Cursor, DIMENSION_LIST, Kind, LEAST, VARIABLE_LIST};
use super::head::{self, Head};
use super::units;
use crate::codec::HeaderSource;
use crate::messages;

/// The dimension of atoms.
pub(super) const ATOM: &str = "atom";
/// Global attributes that programs write to name themselves, the convention or the run.
const DESCRIPTIVE: [&str; 7] = [
    "title",
    "application",
    "program",
    "programVersion",
    "Conventions",
    "ConventionVersion",
    // Other formats store these messages in their own way.
    messages::ATTRIBUTE,
];
/// Reason for which values that only CDF-5 can hold are left out.
const OF_DATA64: &str = "only CDF-5 can hold it";
/// Length of the longest dimension of a file that is not CDF-5.
pub(super) const MAX_OF_A_DIMENSION: u64 = i32::MAX as u64;
/// Variables that hold labels for the entries of a dimension.
const LABELS: [&str; 3] = ["spatial", "cell_spatial", "cell_angular"];

/// The length of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Length {
    /// Grows by records.
    Records,
    /// Equals the number of atoms of the frame.
    Atoms,
    Fixed(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dimension {
    pub(super) name: Box<[u8]>,
    pub(super) length: Length,
}

/// Storage of the values of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Content {
    /// The values stand in the fields of [`super::Frame`].
    Convention,
    /// The values stand in [`Further::values`] of every frame.
    Record,
    /// The values themselves: the variable does not grow by records.
    Fixed(Box<[u8]>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Variable {
    pub(super) name: Box<[u8]>,
    /// Indices in the list of dimensions.
    pub(super) dimensions: Box<[u32]>,
    /// Its list of attributes, as bytes of a header.
    pub(super) attributes: Box<[u8]>,
    pub(super) kind: Kind,
    pub(super) content: Content,
}

/// The dimensions, attributes and variables of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    pub(super) dimensions: Box<[Dimension]>,
    /// The list of global attributes, as bytes of a header.
    pub(super) attributes: Box<[u8]>,
    pub(super) variables: Box<[Variable]>,
    /// Variables that are left out, with the reason.
    pub(super) left_out: Box<[Box<str>]>,
}

/// A layout, and the byte ranges of the further variables in a record.
pub type Located = (Arc<Layout>, Vec<Range<usize>>);

impl Variable {
    /// Returns the dimensions without the one that grows by records.
    fn shape<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = &'a Dimension> + Clone {
        let skipped = usize::from(!matches!(self.content, Content::Fixed(_)));
        self.dimensions.iter().skip(skipped).map(|&place| &layout.dimensions[place as usize])
    }

    /// Returns the number of bytes per frame of `n_atoms` atoms (per file if the variable does not grow);
    /// `None` on overflow.
    pub(super) fn len(&self, layout: &Layout, n_atoms: usize) -> Option<u64> {
        let mut dimensions = self.shape(layout);
        dimensions.try_fold(self.kind.size(), |bytes, dimension| {
            bytes.checked_mul(match dimension.length {
                Length::Records => return None,
                Length::Atoms => n_atoms as u64,
                Length::Fixed(length) => length,
            })
        })
    }

    /// Whether only CDF-5 can hold the variable. Copies are written in the format with 64-bit offsets.
    fn is_of_data64(&self, layout: &Layout) -> bool {
        let is_long = |dimension: &Dimension| matches!(dimension.length, Length::Fixed(length) if length > MAX_OF_A_DIMENSION);
        self.kind.is_of_data64() || self.shape(layout).any(is_long)
    }

    /// Returns [`Variable::len`] padded to four bytes, as in a record.
    fn slab(&self, layout: &Layout, n_atoms: usize) -> Option<usize> {
        let len = self.len(layout, n_atoms)?.checked_next_multiple_of(4)?;
        usize::try_from(len).ok()
    }

    /// Returns how many of its dimensions are that of atoms.
    fn n_atom_dimensions(&self, layout: &Layout) -> usize {
        self.shape(layout).filter(|dimension| dimension.length == Length::Atoms).count()
    }

    /// Returns, for a variable with one dimension of atoms, the number of blocks before that dimension and the
    /// bytes per atom of a block.
    fn strides(&self, layout: &Layout) -> (usize, usize) {
        let length = |dimension: &Dimension| match dimension.length {
            Length::Fixed(length) => length as usize,
            _ => 1,
        };
        let mut shape = self.shape(layout);
        let outer =
            shape.by_ref().take_while(|dimension| dimension.length != Length::Atoms).map(length);
        let outer = outer.product();
        (outer, shape.map(length).product::<usize>() * self.kind.size() as usize)
    }

    /// Returns the values of some of `n_atoms` atoms.
    fn taken(&self, layout: &Layout, values: &[u8], n_atoms: usize, atoms: &[usize]) -> Vec<u8> {
        let (outer, inner) = self.strides(layout);
        let mut taken = Vec::with_capacity(outer * atoms.len() * inner);
        for block in 0..outer {
            for atom in atoms {
                taken.extend_from_slice(&values[(block * n_atoms + atom) * inner..][..inner]);
            }
        }
        taken
    }

    /// Whether another file declares the variable in the same way. Attributes are ignored.
    fn is_like(&self, layout: &Layout, other: &Variable, of_other: &Layout) -> bool {
        let fixed = |variable: &Variable| matches!(variable.content, Content::Fixed(_));
        self.name == other.name
            && self.kind == other.kind
            && fixed(self) == fixed(other)
            && self.shape(layout).eq(other.shape(of_other))
    }

    pub(super) fn shown(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.name)
    }
}

impl Layout {
    /// Reads the layout of a file whose header was read as `head`.
    ///
    /// # Errors
    /// [`HeaderFault::Changed`](crate::HeaderFault) if the header changed since then, and those of [`Head::read`].
    pub fn read<S: HeaderSource>(file: &mut S, head: &Head) -> Result<Located, S::Error> {
        let (mut cursor, _) = Cursor::begin(file)?;
        let mut dimensions: Vec<Dimension> = Vec::new();
        for _ in 0..cursor.list(DIMENSION_LIST, LEAST[0])? {
            let name: Box<[u8]> = cursor.name_bytes()?.into();
            let length = match cursor.number()? {
                0 => Length::Records,
                // The first dimension of that name counts the atoms.
                _ if *name == *ATOM.as_bytes()
                    && dimensions.iter().all(|other| other.length != Length::Atoms) =>
                {
                    Length::Atoms
                }
                length => Length::Fixed(length),
            };
            dimensions.push(Dimension { name, length });
        }
        let (mut attributes, names) = cursor.attribute_bytes()?;
        let mut left_out: Vec<Box<str>> =
            names.iter().map(|name| format!(":{name} ({OF_DATA64})").into()).collect();
        let (mut variables, mut begins) = (Vec::new(), Vec::new());
        for _ in 0..cursor.list(VARIABLE_LIST, LEAST[2])? {
            let (variable, begin) = declared(&mut cursor, &dimensions, head, &mut left_out)?;
            variables.push(variable);
            begins.push(begin);
        }
        if head.is_restart {
            // Copies are trajectories of one frame.
            attributes = with_text_attribute(&attributes, "Conventions", Some("AMBER"));
            let grows = |dimension: &Dimension| dimension.length == Length::Records;
            let frame = dimensions.iter().position(grows).unwrap_or(dimensions.len()) as u32;
            if frame as usize == dimensions.len() {
                let name = b"frame".as_slice().into();
                dimensions.push(Dimension { name, length: Length::Records });
            }
            for variable in &mut variables {
                if variable.content == Content::Convention {
                    variable.dimensions =
                        [frame].into_iter().chain(variable.dimensions.iter().copied()).collect();
                }
            }
        }
        let layout = Layout {
            dimensions: dimensions.into(),
            attributes: attributes.into(),
            variables: variables.into(),
            left_out: left_out.into(),
        };
        layout.with_values(&begins, head, &mut cursor)
    }

    /// Reads the values of variables that do not grow by records, and locates the others in a record. Values of
    /// variable `k` begin at byte `begins[k]`.
    fn with_values<S: HeaderSource>(
        mut self,
        begins: &[u64],
        head: &Head,
        cursor: &mut Cursor<'_, S>,
    ) -> Result<Located, S::Error> {
        let mut kept = vec![true; begins.len()];
        let mut left_out = std::mem::take(&mut self.left_out).into_vec();
        let mut records = Vec::new();
        // No byte of the file is read twice, so that values never take more memory than the file.
        let mut order: Vec<usize> = (0..begins.len()).collect();
        order.sort_by_key(|&k| begins[k]);
        let mut end = cursor.at;
        for k in order {
            let len = self.variables[k].len(&self, head.n_atoms);
            if self.variables[k].is_of_data64(&self) {
                kept[k] = false;
                left_out.push(format!("{} ({OF_DATA64})", self.variables[k].shown()).into());
                continue;
            }
            match (&self.variables[k].content, len) {
                (Content::Fixed(_), Some(len))
                    if begins[k] >= end && cursor.holds(begins[k], len) =>
                {
                    cursor.at = begins[k];
                    let values = cursor.bytes(len)?.into();
                    self.variables[k].content = Content::Fixed(values);
                    end = begins[k] + len;
                }
                (Content::Fixed(_), _) => {
                    kept[k] = false;
                    let name = self.variables[k].shown();
                    left_out.push(format!("{name} (its values are not in the file)").into());
                }
                _ => {}
            }
        }
        for ((variable, &begin), &kept) in self.variables.iter().zip(begins).zip(&kept) {
            if variable.content != Content::Record || !kept {
                continue;
            }
            let slab = variable.slab(&self, head.n_atoms);
            let place = begin.checked_sub(head.records_at).zip(slab).and_then(|(at, len)| {
                let at = usize::try_from(at).ok()?;
                Some(at..at.checked_add(len)?)
            });
            let place = place.filter(|place| place.end as u64 <= head.record_len);
            records.push(place.ok_or_else(|| cursor.changed())?);
        }
        let mut kept = kept.into_iter();
        let mut variables = self.variables.into_vec();
        variables.retain(|_| kept.next().unwrap_or(false));
        self.variables = variables.into();
        self.left_out = left_out.into();
        Ok((Arc::new(self), records))
    }

    /// Returns the further variables of a record, in order.
    pub(super) fn records(&self) -> impl Iterator<Item = &Variable> {
        self.variables.iter().filter(|variable| variable.content == Content::Record)
    }

    /// Returns the byte range of each further variable in [`Further::values`]; `None` on overflow.
    pub(super) fn ranges(&self, n_atoms: usize) -> Option<Vec<Range<usize>>> {
        let mut end = 0usize;
        let place = |variable: &Variable| {
            let begin = end;
            end = begin.checked_add(variable.slab(self, n_atoms)?)?;
            Some(begin..end)
        };
        self.records().map(place).collect()
    }

    /// Returns the length of [`Further::values`], bytes; `None` on overflow.
    pub(super) fn n_values(&self, n_atoms: usize) -> Option<usize> {
        Some(self.ranges(n_atoms)?.last().map_or(0, |last| last.end))
    }

    /// Returns the variable of the convention with this name.
    pub(super) fn convention(&self, name: &str) -> Option<&Variable> {
        let is_it = |variable: &&Variable| {
            variable.content == Content::Convention && *variable.name == *name.as_bytes()
        };
        self.variables.iter().find(is_it)
    }

    /// Returns the divisor that converts times of the file to ps.
    pub(super) fn time_divisor(&self) -> f64 {
        let head::Named(name, unit) = head::TIME;
        let variable = self.convention(name);
        let units = variable.and_then(|time| attribute(&time.attributes, b"units"));
        let text = units.map(|text| String::from_utf8_lossy(text).into_owned());
        let divisor = text.and_then(|text| units::divisor(text.trim_end_matches('\0'), unit));
        divisor.unwrap_or(1.0)
    }

    /// Describes the variables and attributes that are not of the convention, and that other formats cannot
    /// hold.
    pub(crate) fn further_names(&self) -> Vec<String> {
        let is_further = |variable: &&Variable| {
            variable.content != Content::Convention && !LABELS.contains(&&*variable.shown())
        };
        let variables = self.variables.iter().filter(is_further);
        let variables = variables.map(|variable| variable.shown().into_owned());
        let attributes = attributes(&self.attributes).into_iter().map(|(name, _)| lossy(name));
        let attributes = attributes.filter(|name| !DESCRIPTIVE.contains(&&name[..]));
        let kinds = [("variables", variables.collect()), ("attributes", attributes.collect())];
        let kinds = kinds.into_iter().filter(|(_, names): &(_, Vec<String>)| !names.is_empty());
        kinds.map(|(kind, names)| format!("{kind} {}", names.join(", "))).collect()
    }

    /// Returns the names of the further variables with per-atom values.
    pub(crate) fn per_atom_names(&self) -> Vec<String> {
        let further = self.variables.iter().filter(|v| v.content != Content::Convention);
        let per_atom = further.filter(|variable| variable.n_atom_dimensions(self) > 0);
        per_atom.map(|variable| variable.shown().into_owned()).collect()
    }

    /// Returns the layout without the variables for which `dropped` is true, which are listed as left out for
    /// `reason`.
    fn without(&self, reason: &str, dropped: impl Fn(&Variable) -> bool) -> Layout {
        let (dropped, kept): (Vec<_>, Vec<_>) = self.variables.iter().partition(|v| dropped(v));
        let words = |variable: &Variable| format!("{} ({reason})", variable.shown()).into();
        let names = dropped.into_iter().map(words);
        Layout {
            variables: kept.into_iter().cloned().collect(),
            left_out: self.left_out.iter().cloned().chain(names).collect(),
            ..self.clone()
        }
    }

    /// Whether a file can have this layout: dimensions exist, lists of attributes are well-formed, and values
    /// have the lengths that the dimensions require.
    pub fn is_sound(&self, n_atoms: usize) -> bool {
        let records = |place: u32| self.dimensions[place as usize].length == Length::Records;
        let is_sound = |variable: &Variable| {
            let dimensions = &variable.dimensions;
            let known = dimensions.iter().all(|&place| (place as usize) < self.dimensions.len());
            if !known || !is_list(&variable.attributes) {
                return false;
            }
            let grows = dimensions.first().is_some_and(|&place| records(place));
            let shape = dimensions.iter().skip(usize::from(grows));
            if { shape }.any(|&place| records(place)) {
                return false;
            }
            match &variable.content {
                Content::Fixed(values) => {
                    !grows && variable.len(self, n_atoms) == Some(values.len() as u64)
                }
                Content::Record | Content::Convention => grows,
            }
        };
        let growing = self.dimensions.iter().filter(|d| d.length == Length::Records).count();
        growing == 1 && is_list(&self.attributes) && self.variables.iter().all(is_sound)
    }

    /// Describes what frames of a file with layout `other` lose or change in a file of this layout.
    fn differences(&self, other: &Layout) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |begin: &str, names: BTreeSet<String>| {
            if !names.is_empty() {
                let names: Vec<String> = names.into_iter().collect();
                words.push(format!("{begin}: {}", names.join(", ")));
            }
        };
        let same = |variable: &Variable, layout: &Layout, others: &Layout| {
            others.variables.iter().any(|other| variable.is_like(layout, other, others))
        };
        let further = |layout: &Layout, others: &Layout, records: bool| {
            let further = layout.variables.iter().filter(|v| match v.content {
                Content::Convention => false,
                Content::Record => true,
                Content::Fixed(_) => !records,
            });
            let lacking =
                further.filter(|v| !LABELS.contains(&&*v.shown()) && !same(v, layout, others));
            lacking.map(|variable| variable.shown().into_owned()).collect::<BTreeSet<_>>()
        };
        say(
            "frames of files that lack these variables of the first file hold NetCDF's fill value in them",
            further(self, other, true),
        );
        say("left out, since the first file has no such variables", further(other, self, false));
        let mut changed = BTreeSet::new();
        for variable in &other.variables {
            let own = self.variables.iter().find(|own| own.is_like(self, variable, other));
            let Some(own) = own else { continue };
            let fixed = |v: &Variable| matches!(v.content, Content::Fixed(_));
            if fixed(own) && own.content != variable.content {
                changed.insert(variable.shown().into_owned());
            }
            // Values of the convention are converted to the scale and unit of the first file.
            let is_kept = |name: &&[u8]| {
                own.content == Content::Convention
                    && [&b"scale_factor"[..], b"units"].contains(name)
            };
            let names = differing(&own.attributes, &variable.attributes);
            let names = names.into_iter().filter(|name| !is_kept(name)).map(lossy);
            changed.extend(names.map(|name| format!("{}:{name}", variable.shown())));
        }
        let names = differing(&self.attributes, &other.attributes).into_iter().map(lossy);
        let names = names.filter(|name| !DESCRIPTIVE[1..].contains(&&name[..]));
        changed.extend(names.map(|name| format!(":{name}")));
        say("as in the first file, where other files differ", changed);
        words
    }
}

/// Reads the next variable of a header, without its values, and the byte at which these begin.
fn declared<S: HeaderSource>(
    cursor: &mut Cursor<'_, S>,
    all: &[Dimension],
    head: &Head,
    left_out: &mut Vec<Box<str>>,
) -> Result<(Variable, u64), S::Error> {
    let name: Box<[u8]> = cursor.name_bytes()?.into();
    let mut dimensions = Vec::new();
    for k in 0..cursor.count(4)? {
        let place = cursor.place()?;
        match all.get(place).map(|dimension| dimension.length) {
            None => return Err(cursor.changed()),
            Some(Length::Records) if k > 0 => return Err(cursor.changed()),
            Some(_) => dimensions.push(place as u32),
        }
    }
    let (attributes, names) = cursor.attribute_bytes()?;
    let shown = lossy(&name);
    left_out.extend(names.iter().map(|it| format!("{shown}:{it} ({OF_DATA64})").into()));
    let attributes = attributes.into();
    let kind = cursor.kind()?;
    cursor.size()?;
    let begin = cursor.offset()?;
    let first = dimensions.first().map(|&place| all[place as usize].length);
    let content = match first {
        Some(Length::Records) if head.reads(&name) => Content::Convention,
        _ if head.is_restart && head.reads(&name) => Content::Convention,
        Some(Length::Records) => Content::Record,
        _ => Content::Fixed(Box::default()),
    };
    Ok((Variable { name, dimensions: dimensions.into(), attributes, kind, content }, begin))
}

fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Appends `values`, padded to four bytes with the fill value as in NetCDF's libraries.
pub(super) fn put_padded(kind: Kind, values: &[u8], out: &mut Vec<u8>) {
    let padding = values.len().next_multiple_of(4) - values.len();
    out.extend_from_slice(values);
    out.extend(kind.fill().iter().cycle().take(padding));
}

/// The layout of a frame's file, and the values of its further variables in the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Further {
    /// Shared by all frames of the file.
    pub layout: Arc<Layout>,
    /// Values of one variable after the other, each padded to four bytes.
    pub values: Vec<u8>,
}

impl Further {
    /// Collects the values of further variables from a record.
    pub fn of_record((layout, ranges): &Located, record: &[u8]) -> Further {
        let mut values = Vec::with_capacity(ranges.iter().map(Range::len).sum());
        ranges.iter().for_each(|place| values.extend_from_slice(&record[place.clone()]));
        Further { layout: Arc::clone(layout), values }
    }

    /// Whether there are as many values as the layout, which must be sound, requires for `n_atoms` atoms.
    pub fn is_complete(&self, n_atoms: usize) -> bool {
        self.layout.n_values(n_atoms) == Some(self.values.len())
    }

    /// Returns the values of some of `n_atoms` atoms.
    pub(super) fn take(&self, n_atoms: usize, atoms: &[usize]) -> Further {
        let Further { layout, values } = self;
        let of_atoms =
            |v: &Variable| v.content != Content::Convention && v.n_atom_dimensions(layout) > 0;
        if !layout.variables.iter().any(of_atoms) {
            return self.clone();
        }
        // Variables over pairs of atoms cannot be restored from parts.
        let pairs =
            |v: &Variable| v.content != Content::Convention && v.n_atom_dimensions(layout) > 1;
        let mut taken = layout.without("it has several dimensions of atoms", pairs);
        for variable in &mut taken.variables {
            let of_atoms = variable.n_atom_dimensions(layout) == 1;
            if let Content::Fixed(values) = &variable.content
                && of_atoms
            {
                let values = variable.taken(layout, values, n_atoms, atoms).into();
                variable.content = Content::Fixed(values);
            }
        }
        let mut cut = Vec::new();
        let ranges = layout.ranges(n_atoms).expect("the frame is sound");
        for (variable, place) in layout.records().zip(ranges) {
            match variable.n_atom_dimensions(layout) {
                0 => cut.extend_from_slice(&values[place]),
                1 => {
                    let some = variable.taken(layout, &values[place], n_atoms, atoms);
                    put_padded(variable.kind, &some, &mut cut);
                }
                _ => {}
            }
        }
        let layout = Arc::new(taken);
        Further { layout, values: cut }
    }

    /// Joins the values of parts: the inverse of [`Further::take`]. Per-frame values are taken from `self`, those
    /// of each of the `n_atoms` atoms from the part that holds it. Variables that a part lacks are left out.
    pub(crate) fn join(&self, n_atoms: usize, parts: &[PartOf<'_>]) -> Further {
        let Further { layout, values } = self;
        let is_of_atoms =
            |v: &Variable| v.content != Content::Convention && v.n_atom_dimensions(layout) > 0;
        if !layout.variables.iter().any(is_of_atoms) {
            return self.clone();
        }
        let gathered = |variable: &Variable| -> Option<Vec<u8>> {
            let (outer, inner) = variable.strides(layout);
            let mut all = vec![0; outer * n_atoms * inner];
            for (ranges, further) in parts {
                let of_part: usize = ranges.iter().map(|range| range.len()).sum();
                let values = further.as_ref()?.values_of(variable, layout, of_part)?;
                for block in 0..outer {
                    let mut rest = values.get(block * of_part * inner..)?;
                    for range in *ranges {
                        let (here, others) = rest.split_at_checked(range.len() * inner)?;
                        let at = (block * n_atoms + range.start as usize) * inner;
                        all[at..at + here.len()].copy_from_slice(here);
                        rest = others;
                    }
                }
            }
            Some(all)
        };
        let ranges = layout.ranges(0).expect("the head is sound");
        let mut ranges = ranges.into_iter();
        let (mut lacking, mut fixed, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for (k, variable) in layout.variables.iter().enumerate() {
            let of_head = match variable.content {
                Content::Convention => continue,
                Content::Record => ranges.next(),
                Content::Fixed(_) => None,
            };
            if variable.n_atom_dimensions(layout) == 0 {
                joined.extend(of_head.into_iter().flat_map(|place| &values[place]));
                continue;
            }
            let Some(all) = gathered(variable) else {
                lacking.push(&*variable.name);
                continue;
            };
            match variable.content {
                Content::Record => put_padded(variable.kind, &all, &mut joined),
                _ => fixed.push((k, all)),
            }
        }
        let mut whole = (**layout).clone();
        for (k, values) in fixed {
            whole.variables[k].content = Content::Fixed(values.into());
        }
        if !lacking.is_empty() {
            let is_lacking =
                |v: &Variable| v.content != Content::Convention && lacking.contains(&&*v.name);
            whole = whole.without("files of some of the atoms do not have it", is_lacking);
        }
        Further { layout: Arc::new(whole), values: joined }
    }

    /// Returns the values, in a frame of `n_atoms` atoms, of a variable that layout `of` declares.
    fn values_of(&self, declared: &Variable, of: &Layout, n_atoms: usize) -> Option<&[u8]> {
        let Further { layout, values } = self;
        let is_it = |v: &Variable| v.is_like(layout, declared, of);
        let len = usize::try_from(declared.len(of, n_atoms)?).ok()?;
        match &declared.content {
            Content::Fixed(_) => {
                let fixed = layout.variables.iter().find(|variable| is_it(variable))?;
                let Content::Fixed(values) = &fixed.content else { return None };
                values.get(..len)
            }
            _ => {
                let ranges = layout.ranges(n_atoms)?;
                let (_, place) = layout.records().zip(ranges).find(|(v, _)| is_it(v))?;
                values.get(place)?.get(..len)
            }
        }
    }
}

/// The atoms of a part of a frame, and its further variables; `None` if the part has another format.
pub(crate) type PartOf<'a> = (&'a [Range<u32>], Option<&'a Further>);

/// Conversion of frames whose layout differs from that of the first frame.
#[derive(Debug)]
pub(super) struct Other {
    /// Layout of the frames; `None` if unknown.
    pub(super) layout: Option<Arc<Layout>>,
    /// Divisor that converts times to ps.
    pub(super) divisor: f64,
    /// Byte range of each further variable of the output in the frames' values; `None` if they lack it.
    pub(super) ranges: Vec<Option<Range<usize>>>,
    /// Messages on what is lost or changed.
    pub(super) words: Vec<String>,
}

impl Other {
    /// Creates the conversion of frames with `layout` and `n_atoms` atoms to a file with layout `output`.
    pub(super) fn new(layout: Option<&Arc<Layout>>, output: &Layout, n_atoms: usize) -> Other {
        // Without a layout, attributes are taken to be those of the output.
        let none = Layout {
            dimensions: Box::default(),
            attributes: output.attributes.clone(),
            variables: Box::default(),
            left_out: Box::default(),
        };
        let theirs = layout.map_or(&none, |layout| &**layout);
        let ranges = theirs.ranges(n_atoms).unwrap_or_default();
        let found: Vec<(&Variable, Range<usize>)> = theirs.records().zip(ranges).collect();
        let place = |own: &Variable| {
            let found = found.iter().find(|(variable, _)| own.is_like(output, variable, theirs));
            found.map(|(_, place)| place.clone())
        };
        let ranges = output.records().map(place).collect();
        let words = output.differences(theirs);
        Other { layout: layout.cloned(), divisor: theirs.time_divisor(), ranges, words }
    }
}

#[cfg(test)]
mod tests;
