//! Sorts files by time and drops frames that later files repeat.

use std::ops::Range;
use std::sync::Arc;

use trajet_formats::time::text;

use crate::reader::Reader;

/// Largest number of files that a remark names.
const MOST_NAMED: usize = 5;

/// Returns the number of frames in the kept ranges.
pub(super) fn n_kept(kept: &[Range<usize>]) -> usize {
    kept.iter().map(Range::len).sum()
}

fn name(reader: &Arc<dyn Reader>) -> String {
    reader.source().path().display().to_string()
}

/// Returns the difference below which times around `time` count as equal: two roundings to single precision.
fn slack(time: f64) -> f64 {
    2.0 * f64::from(f32::EPSILON) * time.abs()
}

/// Returns whether frame `k` was written at `limit` or later, allowing for times rounded to single precision.
/// The tolerance is at most half the distance to the neighbouring frame.
fn is_from(times: &[f64], k: usize, limit: f64) -> bool {
    let gap = |a: usize, b: usize| times.get(b).map_or(f64::INFINITY, |t| (t - times[a]).abs());
    let half_a_step = gap(k.saturating_sub(1), k.max(1)) / 2.0;
    times[k] >= limit - slack(limit).min(half_a_step)
}

/// Sorts files by their first times; returns a remark if that changes their order.
pub(super) fn in_order_of_times(readers: &mut [Arc<dyn Reader>]) -> Option<String> {
    let first = |reader: &Arc<dyn Reader>| reader.index().times()[0];
    if readers.is_sorted_by(|a, b| first(a).total_cmp(&first(b)).is_le()) {
        return None;
    }
    readers.sort_by(|a, b| first(a).total_cmp(&first(b)));
    let names: Vec<String> = readers.iter().take(MOST_NAMED).map(name).collect();
    let more = if readers.len() > MOST_NAMED { ", …" } else { "" };
    Some(format!("files are in the order of their first times: {}{more}", names.join(", ")))
}

/// Returns the frames of each file that no later file repeats.
pub(super) fn without_repeats(readers: &[Arc<dyn Reader>]) -> Vec<Vec<Range<usize>>> {
    let mut limit = f64::INFINITY;
    let mut kept: Vec<_> = readers
        .iter()
        .rev()
        .map(|reader| {
            let times = reader.index().times();
            let mut runs: Vec<Range<usize>> = Vec::new();
            for k in (0..times.len()).filter(|&k| !is_from(times, k, limit)) {
                match runs.last_mut() {
                    Some(run) if run.end == k => run.end += 1,
                    _ => runs.push(k..k + 1),
                }
            }
            limit = limit.min(times[0]);
            runs
        })
        .collect();
    kept.reverse();
    kept
}

/// Returns remarks on the dropped frames, and on those that no other frame replaces.
pub(super) fn dropped_remarks(
    readers: &[Arc<dyn Reader>],
    kept: &[Vec<Range<usize>>],
) -> Vec<String> {
    let dropped = |k: usize| readers[k].index().n_frames() - n_kept(&kept[k]);
    let all: usize = (0..readers.len()).map(dropped).sum();
    let overlaps = (0..readers.len()).filter(|&k| dropped(k) > 0).count();
    let mut remarks = vec![format!(
        "{all} frames were dropped at {overlaps} of {} file boundaries: later files repeat their times",
        readers.len() - 1
    )];
    // If a later file ends before the one that it replaces, no frame replaces the dropped ones.
    let spans: Vec<Option<(f64, f64)>> = readers
        .iter()
        .zip(kept)
        .map(|(reader, kept)| {
            let times = reader.index().times();
            Some((times[kept.first()?.start], times[kept.last()?.end - 1]))
        })
        .collect();
    let covered = |later: &[Option<(f64, f64)>], t: f64| {
        later.iter().flatten().any(|&(a, b)| t >= a - slack(a) && t <= b + slack(b))
    };
    let mut lost = 0;
    for (k, (reader, kept)) in readers.iter().zip(kept).enumerate() {
        let times = reader.index().times();
        let mut is_kept = vec![false; times.len()];
        kept.iter().for_each(|run| is_kept[run.clone()].fill(true));
        let dropped = times.iter().zip(&is_kept).filter(|(_, is_kept)| !**is_kept);
        lost += dropped.filter(|(t, _)| !covered(&spans[k + 1..], **t)).count();
    }
    if lost > 0 {
        remarks.push(format!(
            "{lost} of the dropped frames lie where the later files have none: no other frame stands \
             for them"
        ));
    }
    for (reader, _) in readers.iter().zip(kept).filter(|(_, kept)| kept.is_empty()) {
        remarks.push(format!(
            "{}: none of its {} frames is kept: later files have their times",
            name(reader),
            reader.index().n_frames()
        ));
    }
    remarks
}

/// Returns a remark on files that begin before the previous file ends; `None` if there are none.
pub(super) fn overlap_remark(readers: &[Arc<dyn Reader>]) -> Option<String> {
    let back = |pair: &&[Arc<dyn Reader>]| {
        let (times, next) = (pair[0].index().times(), pair[1].index().times());
        is_from(times, times.len() - 1, next[0])
    };
    let overlaps: Vec<_> = readers.windows(2).filter(back).collect();
    let [a, b] = overlaps.first()? else { unreachable!("windows of two") };
    let last = text(a.index().times()[a.index().n_frames() - 1]);
    Some(format!(
        "times overlap or step back at {} of {} file boundaries, first from {last} ps ({}) to {} ps ({}): all \
         frames are kept; --continuous (continuous=True) drops those that a later file repeats",
        overlaps.len(),
        readers.len() - 1,
        name(a),
        text(b.index().times()[0]),
        name(b)
    ))
}
