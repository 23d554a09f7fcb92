//! Readers whose atoms are in another order than in the file: in a given one, or in that of their numbers.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use trajet_formats::{Atoms, Code, FrameInfo, Message, Raw, memory};

use crate::indexed::Indexed;
use crate::numbered::NumberedReader;
use crate::opener::{KnownFile, Opened};
use crate::reader::{PartialIndex, ReadRequest, Reader, WorkerFile};
use crate::{Error, FrameCost, FrameIndex, Frames, Meter, OpenOptions, Scratch};

/// The name of the opener of files in a given order.
pub(crate) const NAME: &str = "ordered";
/// Number of selections whose places in the file are kept.
const MAX_SELECTIONS: usize = 4;
const WHAT: &str = "the order of the atoms";

/// Selections: atoms in the order of the reader, ascending, and the same atoms by their places in the file.
type Selections = Mutex<Vec<(Atoms, Arc<Atoms>)>>;

/// Returns the places in the file of the selected atoms, ascending; `places` has those of all atoms.
fn placed(places: &[u32], selected: &Atoms) -> Result<Atoms, Error> {
    let mut list: Vec<i64> = Vec::new();
    memory::reserve(&mut list, selected.n_sorted(), WHAT)?;
    match selected.sorted() {
        None => list.extend(places.iter().map(|&place| i64::from(place))),
        Some(sorted) => list.extend(sorted.iter().map(|&atom| i64::from(places[atom as usize]))),
    }
    Ok(Atoms::listed(&list, places.len())?)
}

/// Returns [`placed`], which is kept for the last selections.
fn kept(kept: &Selections, places: &[u32], selected: &Atoms) -> Result<Arc<Atoms>, Error> {
    let lock = || kept.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |(atoms, _): &&(Atoms, _)| atoms.sorted() == selected.sorted();
    if let Some((_, found)) = lock().iter().find(is_it) {
        return Ok(Arc::clone(found));
    }
    let found = Arc::new(placed(places, selected)?);
    let mut known = lock();
    if known.len() >= MAX_SELECTIONS {
        known.remove(0);
    }
    known.push((selected.clone(), Arc::clone(&found)));
    Ok(found)
}

/// Reads the atoms at these places of a frame into `out`, in the order in which the places are listed.
fn read_places(
    inner: &dyn Reader,
    request: &ReadRequest<'_>,
    at: usize,
    places: &Atoms,
    scratch: &mut Scratch,
    out: &mut [f32],
) -> Result<(FrameInfo, FrameCost), Error> {
    let request = ReadRequest { atoms: places, ..*request };
    let Some(order) = places.order() else { return inner.read_frame(&request, at, scratch, out) };
    let mut as_stored = std::mem::take(&mut scratch.as_stored);
    memory::resize(&mut as_stored, 3 * places.n_sorted(), 0.0, "the atoms of a frame")?;
    let read = inner.read_frame(&request, at, scratch, &mut as_stored);
    let stored = as_stored.as_chunks::<3>().0;
    for (vector, &column) in out.as_chunks_mut::<3>().0.iter_mut().zip(order) {
        *vector = stored[column as usize];
    }
    scratch.as_stored = as_stored;
    read
}

/// Returns a whole raw frame with its atoms in the order of their places.
fn raw_places(raw: &Raw, places: &[u32]) -> Result<Raw, Error> {
    let mut list: Vec<usize> = Vec::new();
    memory::reserve(&mut list, places.len(), WHAT)?;
    list.extend(places.iter().map(|&place| place as usize));
    Ok(raw.take(&list))
}

/// A file whose atoms are in a given order.
pub(crate) struct Ordered {
    inner: Arc<dyn Reader>,
    /// The place in the file of each atom.
    places: Arc<[u32]>,
    selections: Selections,
}

impl Ordered {
    /// Returns the reader whose atom `k` is at `places[k]` of the file.
    ///
    /// # Panics
    /// If the places are not those of all atoms.
    pub(crate) fn new(inner: Arc<dyn Reader>, places: Arc<[u32]>) -> Ordered {
        assert_eq!(places.len(), inner.index().n_atoms(), "places of all atoms");
        Ordered { inner, places, selections: Mutex::default() }
    }

    /// Opens a file in a worker process; `open` opens it in its own order.
    pub(crate) fn known(
        file: KnownFile<'_>,
        options: &OpenOptions,
        open: fn(KnownFile<'_>, &OpenOptions) -> Opened,
    ) -> Opened {
        let InOrder { file: inner, places } = file.decoded()?;
        let inner = KnownFile { opener: &inner.opener, data: &inner.data, ..file };
        let inner = open(inner, options)?;
        Ok(Arc::new(Ordered::new(inner, places.into())))
    }
}

/// The data from which a worker process opens a file in a given order.
#[derive(Serialize, Deserialize)]
struct InOrder {
    file: WorkerFile,
    places: Vec<u32>,
}

impl Reader for Ordered {
    fn wrapped(&self) -> Option<&dyn Reader> {
        Some(&*self.inner)
    }

    fn format(&self) -> &'static str {
        self.inner.format()
    }

    fn file(&self) -> &Indexed {
        self.inner.file()
    }

    fn read_frame(
        &self,
        request: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let places = kept(&self.selections, &self.places, request.atoms)?;
        read_places(&*self.inner, request, at, &places, scratch, out)
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        raw_places(&self.inner.whole_raw(frames, at, scratch)?, &self.places)
    }

    fn for_worker(&self, _: &Atoms) -> Result<WorkerFile, Error> {
        let file = self.inner.for_worker(&Atoms::all(self.places.len()))?;
        Ok(WorkerFile::new(NAME, &InOrder { file, places: self.places.to_vec() }))
    }

    fn as_partial_index(&self) -> Option<&dyn PartialIndex> {
        self.inner.as_partial_index().is_some().then_some(self as _)
    }
}

impl PartialIndex for Ordered {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn Reader> {
        let inner = match self.inner.as_partial_index() {
            Some(partial) => partial.with_index(index),
            None => Arc::clone(&self.inner),
        };
        Arc::new(Ordered::new(inner, Arc::clone(&self.places)))
    }
}

/// A file whose atoms are read in the order of the numbers that each frame gives them.
pub(crate) struct ByNumber {
    inner: Arc<dyn NumberedReader>,
    state: Arc<State>,
}

/// State that readers with different parts of the index share.
#[derive(Default)]
struct State {
    first: OnceLock<Numbers>,
    /// Locked by the thread that reads the numbers of frame 0.
    reading: Mutex<()>,
    selections: Selections,
}

/// The numbers of the atoms in frame 0.
struct Numbers {
    /// The numbers in the order of the frame.
    stored: Vec<i64>,
    /// The numbers, ascending.
    sorted: Vec<i64>,
    /// The place in the frame of each of the ascending numbers.
    places: Vec<u32>,
}

impl ByNumber {
    /// Returns the reader of a file whose frames state the numbers of their atoms.
    pub(crate) fn new(inner: Arc<dyn NumberedReader>) -> ByNumber {
        ByNumber { inner, state: Arc::default() }
    }

    /// Returns the reader after comparing the numbers of frame 0 with one another.
    ///
    /// # Errors
    /// [`Error::OtherAtoms`] if two atoms have the same number; [`Error::Io`].
    pub(crate) fn checked(inner: Arc<dyn NumberedReader>) -> Result<ByNumber, Error> {
        let reader = ByNumber::new(inner);
        reader.first(&mut Meter::default())?;
        Ok(reader)
    }

    /// Returns the numbers of frame 0, which are read once.
    fn first(&self, meter: &mut Meter) -> Result<&Numbers, Error> {
        let State { first, reading, .. } = &*self.state;
        if let Some(first) = first.get() {
            return Ok(first);
        }
        let _reading = meter.lock(reading);
        if first.get().is_none() {
            let mut stored = Vec::new();
            self.inner.first_numbers(meter, &mut stored)?;
            let places = self.sorted_places(0, &stored)?;
            let sorted = places.iter().map(|&place| stored[place as usize]).collect();
            // The lock excludes that another thread set it.
            let _ = first.set(Numbers { stored, sorted, places });
        }
        Ok(first.get().expect("it was set"))
    }

    /// Returns the places of the numbers of a frame, in ascending order.
    fn sorted_places(&self, frame: u64, numbers: &[i64]) -> Result<Vec<u32>, Error> {
        let mut places: Vec<u32> = Vec::new();
        memory::reserve(&mut places, numbers.len(), WHAT)?;
        places.extend(0..numbers.len() as u32);
        places.sort_unstable_by_key(|&place| numbers[place as usize]);
        let number = |k: usize| numbers[places[k] as usize];
        let Some(k) = (1..places.len()).find(|&k| number(k - 1) == number(k)) else {
            return Ok(places);
        };
        let (a, b) = (places[k - 1].min(places[k]), places[k - 1].max(places[k]));
        let what = format!("the atoms at places {a} and {b} have the same number, {}", number(k));
        Err(self.other_atoms(frame, what))
    }

    fn other_atoms(&self, frame: u64, what: String) -> Error {
        let file = self.inner.file();
        // A part of the index may lack frame 0.
        let offset = if frame == 0 { 0 } else { file.index.offset(frame) };
        Error::OtherAtoms { path: file.source.path().to_owned(), frame, offset, what }
    }

    /// Returns the places of all atoms in a frame if one of `atoms`, which are consecutive places, has another number
    /// than in frame 0.
    fn changed_places(
        &self,
        frames: &Frames,
        at: usize,
        atoms: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<Option<Vec<u32>>, Error> {
        let first = self.first(&mut scratch.meter)?;
        let mut numbers = std::mem::take(&mut scratch.numbers);
        let found = self.compare(first, frames, at, atoms, scratch, &mut numbers);
        scratch.numbers = numbers;
        found
    }

    fn compare(
        &self,
        first: &Numbers,
        frames: &Frames,
        at: usize,
        atoms: Range<usize>,
        scratch: &mut Scratch,
        numbers: &mut Vec<i64>,
    ) -> Result<Option<Vec<u32>>, Error> {
        numbers.clear();
        self.inner.numbers(frames, at, atoms.clone(), scratch, numbers)?;
        if *numbers == first.stored[atoms.clone()] {
            return Ok(None);
        }
        if atoms.len() < first.stored.len() {
            numbers.clear();
            self.inner.numbers(frames, at, 0..first.stored.len(), scratch, numbers)?;
        }
        let frame = frames.get(at);
        let places = self.sorted_places(frame, numbers)?;
        let mut pairs = places.iter().map(|&place| numbers[place as usize]).zip(&first.sorted);
        match pairs.find(|(now, then)| now != *then) {
            None => Ok(Some(places)),
            Some((now, &then)) => {
                let (one, who) = if now < then { (now, "frame 0") } else { (then, "this frame") };
                Err(self.other_atoms(frame, format!("{who} has no atom with the number {one}")))
            }
        }
    }
}

impl Reader for ByNumber {
    fn wrapped(&self) -> Option<&dyn Reader> {
        Some(&*self.inner)
    }

    fn format(&self) -> &'static str {
        self.inner.format()
    }

    fn file(&self) -> &Indexed {
        self.inner.file()
    }

    fn messages(&self) -> Vec<Message> {
        let is_sorted = |first: &Numbers| first.stored.is_sorted();
        let text = "its atoms are not stored in the order of their numbers (id): they are read in that order";
        let unsorted = self.state.first.get().is_some_and(|first| !is_sorted(first));
        self.inner
            .messages()
            .into_iter()
            .chain(unsorted.then(|| Code::SortedAtoms.message(text)))
            .collect()
    }

    fn atom_numbers(&self) -> Option<&[i64]> {
        self.state.first.get().map(|first| &first.sorted[..])
    }

    fn read_frame(
        &self,
        request: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let first = self.first(&mut scratch.meter)?;
        let places = kept(&self.state.selections, &first.places, request.atoms)?;
        match self.changed_places(request.frames, at, places.span(), scratch)? {
            None => read_places(&*self.inner, request, at, &places, scratch, out),
            Some(all) => {
                let places = placed(&all, request.atoms)?;
                read_places(&*self.inner, request, at, &places, scratch, out)
            }
        }
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let first = self.first(&mut scratch.meter)?;
        let changed = self.changed_places(frames, at, 0..first.stored.len(), scratch)?;
        let raw = self.inner.whole_raw(frames, at, scratch)?;
        match changed {
            None if first.stored.is_sorted() => Ok(raw),
            changed => raw_places(&raw, changed.as_deref().unwrap_or(&first.places)),
        }
    }

    fn for_worker(&self, atoms: &Atoms) -> Result<WorkerFile, Error> {
        self.inner.for_worker(atoms)
    }

    fn as_partial_index(&self) -> Option<&dyn PartialIndex> {
        self.inner.as_partial_index().is_some().then_some(self as _)
    }
}

impl PartialIndex for ByNumber {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn Reader> {
        let (inner, state) = (self.inner.with_part(index), Arc::clone(&self.state));
        Arc::new(ByNumber { inner, state })
    }
}
