//! Indexes of files whose frames must be searched: by their headers ([`crate::walk`]) or line by line
//! ([`crate::lines`]).

use std::sync::Arc;

use crate::indexed::Indexed;
use crate::sidecar::{Finder, Found, find};
use crate::source::Source;
use crate::{Error, FrameIndex, IndexState, Meter, OpenOptions, ParallelFor, Watch};

/// A search for the frames of one file.
pub(crate) trait Search: Finder {
    /// Returns whether an index lists all whole frames of the file.
    fn has_all(&self, index: &FrameIndex, meter: &mut Meter) -> bool;

    /// Returns the error for a file that continues after the frames of `index`: its last frame is incomplete, or the
    /// file has just grown ([`Error::Stale`]).
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`], [`Error::AtomCount`].
    fn cut(&self, index: &FrameIndex, meter: &mut Meter) -> Result<Error, Error>;
}

/// A way to find frames.
pub(crate) trait Indexing: Send + Sync + 'static {
    /// The search in one file.
    type Search<'a>: Search;

    /// Returns the search in a file.
    fn search<'a>(
        source: &'a Source,
        options: &'a OpenOptions,
        threads: &'a dyn ParallelFor,
    ) -> Self::Search<'a>;
}

/// Returns the index of an open file, from its sidecar or by a search. The file must end with a whole frame unless the
/// options allow a truncated tail.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Truncated`], [`Error::Io`],
/// [`Error::Interrupted`].
pub(crate) fn frames_of<I: Indexing>(
    source: &Source,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let search = I::search(source, options, threads);
    let mut found = find(&search, source, options, meter)?;
    // A valid sidecar lists all frames of the file: rebuild it if another whole frame follows. That of an object was
    // built of it, unless it is published.
    let may_lack = match found.state {
        IndexState::Loaded => source.remote().is_none(),
        IndexState::Published => true,
        _ => false,
    };
    if may_lack && !search.has_all(&found.index, meter) {
        let anew = OpenOptions { rebuild_index: true, ..options.clone() };
        found = find(&search, source, &anew, meter)?;
    }
    let is_cut = source.size() > found.index.end() || source.is_cut();
    if is_cut && !options.allow_truncated_tail {
        return Err(search.cut(&found.index, meter)?);
    }
    Ok(found)
}

/// Rebuilds the index of an open file from all of its frames, without a sidecar. An incomplete last frame is omitted.
///
/// # Errors
/// As [`frames_of`].
pub(crate) fn indexed_again<I: Indexing>(
    file: &Indexed,
    threads: &dyn ParallelFor,
    watch: &Arc<Watch>,
) -> Result<FrameIndex, Error> {
    let (request_size, watch) = (file.request_size, Arc::clone(watch));
    let options = &OpenOptions { request_size, watch, ..OpenOptions::default() };
    let mut meter = Meter::stopped_by(&options.watch.stop);
    I::search(&file.source, options, threads).build(None, &mut meter)
}
