//! Conversion of counts, losses and reports to Python.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trajet_engine::report::{RunReport, Stages};
use trajet_files::Meter;
use trajet_files::transform::TransformWarnings;
use trajet_formats::Loss;
use trajet_store::partitioned::{bytes_by_part, bytes_by_tier};

/// Kind of a loss, detail common to its frames, number of frames, and the first frame.
pub(crate) type PyLoss = (String, Option<String>, u64, u64);

/// Converts a loss.
pub(crate) fn of_loss(loss: Loss) -> PyLoss {
    (loss.kind, loss.what, loss.frames, loss.first)
}

/// Converts a meter's counts to a dictionary, with bytes by tier and tag if any were read from a store.
pub(crate) fn counts<'py>(py: Python<'py>, meter: &Meter) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", meter.requests)?;
    if meter.retries > 0 {
        dict.set_item("retries", meter.retries)?;
    }
    dict.set_item("opens", meter.opens)?;
    dict.set_item("bytes_read", meter.bytes_read)?;
    dict.set_item("bytes_used", meter.bytes_used)?;
    dict.set_item("frames", meter.frames)?;
    dict.set_item("empty_frames", meter.empty_frames)?;
    dict.set_item("atoms_decoded", meter.atoms_decoded)?;
    let TransformWarnings { infinite_molecules, large_steps, first_large_step } = meter.warnings;
    if infinite_molecules + large_steps > 0 {
        dict.set_item("infinite_molecules", infinite_molecules)?;
        dict.set_item("large_steps", large_steps)?;
        dict.set_item("first_large_step", first_large_step)?;
    }
    if bytes_by_tier(meter).iter().any(|&bytes| bytes > 0) {
        dict.set_item("bytes_by_tier", bytes_by_tier(meter).to_vec())?;
        dict.set_item("bytes_by_tag", bytes_by_part(meter).to_vec())?;
    }
    Ok(dict)
}

fn stages_dict<'py>(py: Python<'py>, stages: &Stages) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, seconds) in stages.named() {
        dict.set_item(name, seconds)?;
    }
    Ok(dict)
}

pub(crate) fn report_dict<'py>(
    py: Python<'py>,
    report: &RunReport,
) -> PyResult<Bound<'py, PyDict>> {
    let workers = PyList::empty(py);
    for (number, worker) in report.workers.iter().enumerate() {
        let dict = PyDict::new(py);
        dict.set_item("worker", number)?;
        dict.set_item("tasks", worker.tasks)?;
        dict.update(counts(py, &worker.meter)?.as_mapping())?;
        dict.update(stages_dict(py, &worker.stages)?.as_mapping())?;
        workers.append(dict)?;
    }
    let tasks = PyList::empty(py);
    for task in &report.tasks {
        let dict = PyDict::new(py);
        dict.set_item("pass", task.pass)?;
        dict.set_item("task", task.task)?;
        dict.set_item("worker", task.worker)?;
        dict.set_item("first", task.first)?;
        dict.set_item("frames", task.frames)?;
        dict.set_item("t_begin", task.begin)?;
        dict.set_item("t_end", task.end)?;
        for (name, seconds) in task.stages.named_of_task() {
            dict.set_item(name, seconds)?;
        }
        tasks.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("workers", workers)?;
    dict.set_item("tasks", tasks)?;
    dict.set_item("passes", report.passes)?;
    dict.set_item("t_total", report.wall)?;
    Ok(dict)
}
