//! Sorts files by time and drops frames that later frames repeat.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use trajet_formats::time::text;
use trajet_formats::{Code, Message, TimePrecision};

use crate::reader::Reader;

/// Largest number of files that a message names.
const MAX_NAMED: usize = 5;
/// Frames that are closer than this share of the distance to their neighbours are one frame, written twice.
const REPEATED: f64 = 1e-3;
/// Relative deviation of times that a DCD file may have: its writer takes equal steps for what is this close to them.
const OF_EQUAL_STEPS: f64 = 1e-6;
/// Largest share of the distance to neighbours by which times of double precision may have been rounded to single
/// precision, or those in text to their decimals.
const MAX_ROUNDED: f64 = 0.1;
/// Largest difference (ps) of a time to its text: GROMACS writes at least three decimals.
const ROUNDED_IN_TEXT: f64 = 0.5001e-3;

/// Returns all frames of each file.
pub(super) fn whole(readers: &[Arc<dyn Reader>]) -> Vec<Vec<Range<usize>>> {
    let all = |reader: &Arc<dyn Reader>| 0..reader.index().n_frames();
    readers.iter().map(|reader| std::iter::once(all(reader)).collect()).collect()
}

/// Returns the number of frames in the kept ranges.
pub(super) fn n_kept(kept: &[Range<usize>]) -> usize {
    kept.iter().map(Range::len).sum()
}

pub(super) fn name(reader: &Arc<dyn Reader>) -> String {
    reader.source().path().display().to_string()
}

/// Returns why the times of a file are not those of a simulation; `None` if it states them.
pub(super) fn unstated(reader: &Arc<dyn Reader>) -> Option<Message> {
    let all_equal = || match reader.index().times() {
        [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|time| time == first) => {
            let why = format!("all {} frames have the time {} ps", rest.len() + 1, text(*first));
            Some(Code::NoTimes.message_with_fix(why))
        }
        _ => None,
    };
    reader.missing_times().or_else(all_equal)
}

/// The times and steps of a file, and how finely times are stored.
struct FileTimes<'a> {
    reader: &'a Arc<dyn Reader>,
    times: &'a [f64],
    steps: &'a [i64],
    precision: TimePrecision,
    /// Mean of the steps between frames whose times rise; infinite if there are none.
    usual_step: f64,
    /// Whether steps are those of an integration, not the numbers of frames.
    has_steps: bool,
}

impl<'a> FileTimes<'a> {
    fn of(reader: &'a Arc<dyn Reader>) -> Self {
        let (times, steps) = (reader.index().times(), reader.index().steps());
        let is_single = |&time: &f64| f64::from(time as f32) == time;
        // Copies of XTC files hold numbers of single precision.
        let precision = match reader.time_precision() {
            TimePrecision::Double if times.iter().all(is_single) => TimePrecision::Single,
            other => other,
        };
        let rises = times.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0.0);
        let (sum, n) = rises.fold((0.0, 0u32), |(sum, n), step| (sum + step, n + 1));
        let usual_step = if n == 0 { f64::INFINITY } else { sum / f64::from(n) };
        let has_steps = steps.iter().zip(0..).any(|(&step, k)| step != k);
        FileTimes { reader, times, steps, precision, usual_step, has_steps }
    }

    fn all(readers: &'a [Arc<dyn Reader>]) -> Vec<Self> {
        readers.iter().map(FileTimes::of).collect()
    }

    /// Returns the difference that two equal times around `time` may have by rounding: each may be rounded once.
    fn rounding(&self, time: f64) -> f64 {
        let relative = match self.precision {
            TimePrecision::Double => 4.0 * f64::EPSILON,
            TimePrecision::Single | TimePrecision::SingleStep | TimePrecision::Text => {
                f64::from(f32::EPSILON)
            }
        };
        relative * time.abs()
    }

    /// Returns the difference up to which a time of this file and `time` are the same, where neighbouring frames are
    /// `gap` away (infinite if there are none).
    fn tolerance(&self, time: f64, gap: f64) -> f64 {
        let single = f64::from(f32::EPSILON) * time.abs();
        let rounding = match self.precision {
            TimePrecision::Single => single,
            TimePrecision::SingleStep => OF_EQUAL_STEPS * time.abs(),
            // Copies of other formats, and sums of a step in single precision, are stored as doubles, too.
            TimePrecision::Double if single <= MAX_ROUNDED * gap => single,
            TimePrecision::Double => self.rounding(time),
            TimePrecision::Text => single.max(ROUNDED_IN_TEXT.min(MAX_ROUNDED * gap)),
        };
        if gap.is_finite() { rounding.max(REPEATED * gap).min(gap / 2.0) } else { rounding }
    }

    /// Returns the distance of frame `k` to the frame before it, or to the next one; infinite if times do not rise there.
    fn gap_before(&self, k: usize) -> f64 {
        k.checked_sub(1).map_or(f64::INFINITY, |before| rise(self.times[before], self.times[k]))
    }

    fn gap_behind(&self, k: usize) -> f64 {
        self.times.get(k + 1).map_or(f64::INFINITY, |&next| rise(self.times[k], next))
    }

    /// Returns whether frame `k` has the time of frame `first` of a later file, or a later time.
    fn is_from(&self, k: usize, (later, first): (&Self, usize)) -> bool {
        let time = later.times[first];
        let own = if k == 0 { self.gap_behind(k) } else { self.gap_before(k) };
        let gap = own.min(later.gap_behind(first));
        self.times[k] >= time - self.tolerance(time, gap).max(later.tolerance(time, gap))
    }

    /// Returns whether times around `time` are stored finely enough to tell frames apart.
    fn tells(&self, time: f64) -> bool {
        self.rounding(time) <= self.usual_step / 2.0
    }

    /// Returns whether frame `k` has the time of the frame before it, or an earlier time.
    fn is_restart(&self, k: usize) -> bool {
        let (before, time) = (self.times[k - 1], self.times[k]);
        // Equal times repeat a frame, unless they are rounded to the same number.
        let repeats =
            || self.tells(time) || (self.has_steps && is_later(self.steps[k - 1], self.steps[k]));
        let is_same = || {
            let gap = self.gap_before(k - 1).min(self.gap_behind(k));
            time - before <= self.tolerance(time, gap)
        };
        time < before || (time == before || is_same()) && repeats()
    }

    /// Returns the frames as ranges in which times rise.
    fn rising(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut begin = 0;
        for k in (1..self.times.len()).filter(|&k| self.is_restart(k)) {
            ranges.push(begin..k);
            begin = k;
        }
        ranges.push(begin..self.times.len());
        ranges
    }

    fn n_restarts(&self) -> usize {
        (1..self.times.len()).filter(|&k| self.is_restart(k)).count()
    }

    /// Returns the number of frames in `range`, whose times rise, that were written before frame `limit` of a later
    /// file.
    ///
    /// # Errors
    /// The path of the file if its times and steps cannot tell.
    fn n_before(
        &self,
        range: &Range<usize>,
        (later, limit): (&Self, usize),
    ) -> Result<usize, PathBuf> {
        let (time, step) = (later.times[limit], later.steps[limit]);
        let resolves = self.tells(time) && later.tells(time);
        let of = |is_from: &dyn Fn(usize) -> bool| {
            Ok(range.clone().find(|&k| is_from(k)).unwrap_or(range.end) - range.start)
        };
        if resolves || !self.is_from(range.end - 1, (later, limit)) {
            return of(&|k| self.is_from(k, (later, limit)));
        }
        if self.has_steps && later.has_steps {
            return of(&|k| is_later(self.steps[k], step));
        }
        Err(self.reader.source().path().to_owned())
    }
}

/// Returns how far `b` lies above `a`; infinite if it does not.
fn rise(a: f64, b: f64) -> f64 {
    if b > a { b - a } else { f64::INFINITY }
}

/// Returns whether step `a` is `b` or a later one, also if steps were cut to 32 bits.
fn is_later(a: i64, b: i64) -> bool {
    a.wrapping_sub(b) as i32 >= 0
}

/// Sorts files by their first times, with files that begin at the same time in the given order; returns a message if that
/// changes their order.
pub(super) fn in_order_of_times(readers: &mut [Arc<dyn Reader>]) -> Option<Message> {
    let files = FileTimes::all(readers);
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by(|&a, &b| files[a].times[0].total_cmp(&files[b].times[0]));
    for same in order.chunk_by_mut(|&a, &b| files[a].is_from(0, (&files[b], 0))) {
        same.sort_unstable();
    }
    if order.is_sorted() {
        return None;
    }
    let sorted: Vec<_> = order.iter().map(|&k| Arc::clone(&readers[k])).collect();
    readers.clone_from_slice(&sorted);
    let names: Vec<String> = readers.iter().take(MAX_NAMED).map(name).collect();
    let more = if readers.len() > MAX_NAMED { ", …" } else { "" };
    let text = format!("files are in the order of their first times: {}{more}", names.join(", "));
    Some(Code::FileOrder.message(text))
}

/// Returns the frames of each file that no later frames repeat, of later files or of the same one.
///
/// # Errors
/// The path of a file whose times are stored too coarsely to tell frames apart, and whose steps do not tell either.
pub(super) fn without_repeats(
    readers: &[Arc<dyn Reader>],
) -> Result<Vec<Vec<Range<usize>>>, PathBuf> {
    let files = FileTimes::all(readers);
    let mut limit: Option<(&FileTimes<'_>, usize)> = None;
    let mut kept = Vec::with_capacity(files.len());
    for file in files.iter().rev() {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for range in file.rising().into_iter().rev() {
            let n = limit.map_or(Ok(range.len()), |limit| file.n_before(&range, limit))?;
            if n > 0 {
                runs.push(range.start..range.start + n);
            }
            if limit.is_none_or(|(later, k)| file.times[range.start] < later.times[k]) {
                limit = Some((file, range.start));
            }
        }
        runs.reverse();
        kept.push(joined(runs));
    }
    kept.reverse();
    Ok(kept)
}

/// Returns ascending ranges, with those joined that follow one another.
fn joined(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

/// Returns messages on the dropped frames, and on those that no other frame replaces.
pub(super) fn dropped_messages(
    readers: &[Arc<dyn Reader>],
    kept: &[Vec<Range<usize>>],
) -> Vec<Message> {
    let dropped = |k: usize| readers[k].index().n_frames() - n_kept(&kept[k]);
    let all: usize = (0..readers.len()).map(dropped).sum();
    let overlaps = (0..readers.len()).filter(|&k| dropped(k) > 0).count();
    let restarts: usize = readers.iter().map(|reader| FileTimes::of(reader).n_restarts()).sum();
    let mut texts = Vec::new();
    if restarts > 0 {
        texts.push(format!(
            "{all} frames were dropped, in {overlaps} of {} files, whose times step back or repeat at \
             {restarts} places within files: later frames repeat their times",
            readers.len()
        ));
    } else if readers.len() > 1 {
        texts.push(format!(
            "{all} frames were dropped at {overlaps} of {} file boundaries: later files repeat their \
             times",
            readers.len() - 1
        ));
    }
    let lost = n_lost(readers, kept);
    if lost > 0 {
        texts.push(format!(
            "{lost} of the dropped frames lie where the later files have none: no other frame stands \
             for them"
        ));
    }
    for (reader, _) in readers.iter().zip(kept).filter(|(_, kept)| kept.is_empty()) {
        texts.push(format!(
            "{}: none of its {} frames is kept: later files have their times",
            name(reader),
            reader.index().n_frames()
        ));
    }
    texts.into_iter().map(|text| Code::DroppedFrames.message(text)).collect()
}

/// Returns the number of dropped frames that no later frame replaces, as where a later file ends before the one that
/// it continues.
fn n_lost(readers: &[Arc<dyn Reader>], kept: &[Vec<Range<usize>>]) -> usize {
    // First and last kept time of each later range of frames, which fall: later ranges begin behind earlier ones.
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut lost = 0;
    for (file, kept) in FileTimes::all(readers).iter().zip(kept).rev() {
        let mut is_kept = vec![false; file.times.len()];
        kept.iter().for_each(|run| is_kept[run.clone()].fill(true));
        for range in file.rising().into_iter().rev() {
            let n = is_kept[range.clone()].iter().take_while(|&&is_kept| is_kept).count();
            let is_covered = |k: usize| {
                let time = file.times[k];
                let slack = file.tolerance(time, file.gap_before(k).min(file.gap_behind(k)));
                let span = spans.get(spans.partition_point(|&(first, _)| first > time + slack));
                span.is_some_and(|&(_, last)| time <= last + slack)
            };
            lost += (range.start + n..range.end).filter(|&k| !is_covered(k)).count();
            if n > 0 {
                spans.push((file.times[range.start], file.times[range.start + n - 1]));
            }
        }
    }
    lost
}

/// Returns a message on files that begin before the previous file ends; `None` if there are none. Files that state no
/// times have another message.
pub(super) fn overlap_message(readers: &[Arc<dyn Reader>]) -> Option<Message> {
    let back = |pair: &&[Arc<dyn Reader>]| {
        let [one, next] = [FileTimes::of(&pair[0]), FileTimes::of(&pair[1])];
        let states_times = pair.iter().all(|reader| unstated(reader).is_none());
        let (last, limit) = (one.times.len() - 1, next.times[0]);
        let tells = one.tells(limit) && next.tells(limit);
        states_times && (one.times[last] > limit || tells && one.is_from(last, (&next, 0)))
    };
    let overlaps: Vec<_> = readers.windows(2).filter(back).collect();
    let [a, b] = overlaps.first()? else { unreachable!("windows of two") };
    let last = text(a.index().times()[a.index().n_frames() - 1]);
    Some(Code::OverlappingFiles.message_with_fix(format!(
        "times overlap or step back at {} of {} file boundaries, first from {last} ps ({}) to {} ps ({}): all \
         frames are kept",
        overlaps.len(),
        readers.len() - 1,
        name(a),
        text(b.index().times()[0]),
        name(b)
    )))
}

/// Returns messages on files within which times step back or repeat.
pub(super) fn restart_messages(readers: &[Arc<dyn Reader>]) -> Vec<Message> {
    let message = |reader: &Arc<dyn Reader>| {
        // One pass is enough for most files: times closer than half of the distance to their neighbours repeat.
        let gaps = reader.index().times().windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = gaps.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), gap| {
            (least.min(gap), most.max(gap))
        });
        if least > most / 2.0 || unstated(reader).is_some() {
            return None;
        }
        let file = FileTimes::of(reader);
        let frame = (1..file.times.len()).find(|&k| file.is_restart(k))?;
        let path = if readers.len() > 1 { format!("{}: ", name(reader)) } else { String::new() };
        Some(Code::TimesStepBack.message_with_fix(format!(
            "{path}times step back or repeat at {} places within the file, first from {} ps (frame {}) to {} \
             ps (frame {frame}): all frames are kept",
            file.n_restarts(),
            text(file.times[frame - 1]),
            frame - 1,
            text(file.times[frame]),
        )))
    };
    readers.iter().filter_map(message).collect()
}
