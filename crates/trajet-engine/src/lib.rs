//! Plans an analysis over a trajectory, runs it on threads, and reports where the time went.
//!
//! Frames are cut into leaves ([`plan`]), leaves are grouped into tasks, and a [`schedule`] assigns tasks to workers.
//! Each task is read, decoded, transformed and analysed, and states are merged along a fixed tree of leaf numbers
//! ([`tree`]). The result has the same bits for any number of threads and any size of task.

pub mod analysis;
mod atom_map;
pub mod average;
pub mod cells;
pub mod centers;
pub mod contact_map;
pub mod contacts;
pub mod count;
pub mod cursor;
pub mod density;
pub mod deviations;
pub mod dihedrals;
pub mod distances;
pub mod dssp;
mod error;
pub mod gyration;
pub mod hydrogen_bonds;
pub mod joint;
pub mod linear_density;
pub mod moments;
pub mod native_contacts;
pub mod pairwise;
pub mod particles;
pub mod plan;
pub mod positions;
pub mod rdf;
pub mod rdf_pairs;
pub mod report;
pub mod rmsd;
pub mod run;
pub mod schedule;
pub mod superpose;
pub mod surface;
pub mod tree;
pub mod updating;

use serde::Deserialize;

pub use analysis::{Analysis, Output, Pass, State};
pub use error::{FrameError, InvalidArgument, RunError, TaskError, TaskFault};
pub use joint::{Folded, JointPass, JointState};
pub use run::{
    Budget, Control, Part, RunHandle, Subtrees, check_times, open, open_with, run, run_part,
};

/// Parameters of any analysis. This is the only list of analyses in Rust: bindings deserialise it by the name of the
/// variant and of the fields.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnalysisSpec {
    /// Numbers of atoms.
    Count(count::Request),
    /// RMSD from a reference.
    Rmsd(rmsd::Request),
    /// Means and fluctuations of positions.
    Moments(moments::Request),
    /// Dihedral angles.
    Dihedrals(dihedrals::Request),
    /// Distances of pairs.
    Distances(distances::Request),
    /// Histogram of pair distances.
    Rdf(rdf::Request),
    /// Number of frames in which groups of atoms are in contact.
    ContactMap(contact_map::Request),
    /// Fraction of native contacts.
    NativeContacts(native_contacts::Request),
    /// Positions of particles over time.
    Particles(particles::Request),
    /// Number of contacts, and the nearest pair.
    Contacts(contacts::Request),
    /// Hydrogen bonds.
    HydrogenBonds(hydrogen_bonds::Request),
    /// Secondary structure.
    Dssp(dssp::Request),
    /// Solvent-accessible surface areas.
    Surface(surface::Request),
    /// Radius of gyration.
    Gyration(gyration::Request),
    /// Centres of groups of atoms, and distances between them.
    Centers(centers::Request),
    /// Positions, as stored or superposed.
    Positions(positions::Request),
    /// Density on a grid.
    Density(density::Request),
    /// Density along a vector of the cell.
    LinearDensity(linear_density::Request),
    /// Histograms of distances of several pairs of lists of sites.
    RdfPairs(rdf_pairs::Request),
}

impl AnalysisSpec {
    /// Checks the parameters, as far as that needs no trajectory.
    ///
    /// # Errors
    /// [`InvalidArgument`].
    pub fn check(&self) -> Result<(), InvalidArgument> {
        match self {
            AnalysisSpec::Count(request) => request.check(),
            AnalysisSpec::Rmsd(request) => request.check(),
            AnalysisSpec::Moments(request) => request.check(),
            AnalysisSpec::Dihedrals(request) => request.check(),
            AnalysisSpec::Distances(_) => Ok(()),
            AnalysisSpec::Rdf(request) => request.check(),
            AnalysisSpec::ContactMap(request) => request.check(),
            AnalysisSpec::NativeContacts(request) => request.check(),
            AnalysisSpec::Contacts(request) => request.check(),
            AnalysisSpec::Gyration(request) => request.check(),
            AnalysisSpec::Particles(request) => request.check(),
            AnalysisSpec::Centers(request) => request.check(),
            AnalysisSpec::Positions(request) => request.check(),
            AnalysisSpec::HydrogenBonds(request) => request.check(),
            AnalysisSpec::Density(request) => request.check(),
            AnalysisSpec::LinearDensity(request) => request.check(),
            AnalysisSpec::RdfPairs(request) => request.check(),
            AnalysisSpec::Surface(request) => request.check(),
            AnalysisSpec::Dssp(request) => request.check(),
        }
    }

    /// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`trajet_files::Error::AtomOutOfRange`].
    ///
    /// # Panics
    /// If [`AnalysisSpec::check`] finds a fault.
    pub fn plan(self, n_atoms: usize) -> Result<Pass, trajet_files::Error> {
        match self {
            AnalysisSpec::Count(request) => count::plan(request, n_atoms),
            AnalysisSpec::Rmsd(request) => rmsd::plan(request, n_atoms),
            AnalysisSpec::Moments(request) => moments::plan(request, n_atoms),
            AnalysisSpec::Dihedrals(request) => dihedrals::plan(request, n_atoms),
            AnalysisSpec::Distances(request) => distances::plan(request, n_atoms),
            AnalysisSpec::Rdf(request) => rdf::plan(request, n_atoms),
            AnalysisSpec::ContactMap(request) => contact_map::plan(request, n_atoms),
            AnalysisSpec::NativeContacts(request) => native_contacts::plan(request, n_atoms),
            AnalysisSpec::Contacts(request) => contacts::plan(request, n_atoms),
            AnalysisSpec::Gyration(request) => gyration::plan(request, n_atoms),
            AnalysisSpec::Particles(request) => particles::plan(request, n_atoms),
            AnalysisSpec::Centers(request) => centers::plan(request, n_atoms),
            AnalysisSpec::Positions(request) => positions::plan(request, n_atoms),
            AnalysisSpec::HydrogenBonds(request) => hydrogen_bonds::plan(request, n_atoms),
            AnalysisSpec::Density(request) => density::plan(request, n_atoms),
            AnalysisSpec::LinearDensity(request) => linear_density::plan(request, n_atoms),
            AnalysisSpec::RdfPairs(request) => rdf_pairs::plan(request, n_atoms),
            AnalysisSpec::Surface(request) => surface::plan(request, n_atoms),
            AnalysisSpec::Dssp(request) => dssp::plan(request, n_atoms),
        }
    }
}
