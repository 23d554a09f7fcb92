//! Plans an analysis over a trajectory, runs it on threads, and reports where the time went.
//!
//! Frames are cut into leaves ([`plan`]), leaves are grouped into tasks, and a [`schedule`] assigns tasks to workers.
//! Each task is read, decoded, transformed and analysed, and states are merged along a fixed tree of leaf numbers
//! ([`tree`]). The result has the same bits for any number of threads and any size of task.

pub mod alternate_locations;
pub mod analysis;
mod atom_map;
pub mod average;
pub mod broken_molecules;
pub mod cells;
pub mod centers;
pub mod collected;
mod component;
pub mod contact_map;
pub mod contacts;
pub mod coordination;
pub mod count;
pub mod cursor;
pub mod density;
pub mod deviations;
pub mod dihedrals;
pub mod distances;
pub mod dssp;
mod error;
pub mod frame_arrays;
pub mod gyration;
pub mod hydrogen_bonds;
pub mod interactions;
pub mod joint;
pub mod linear_density;
pub mod memberships;
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
pub mod stored_frames;
pub mod superpose;
pub mod surface;
pub mod tree;
pub mod updating;

use serde::{Deserialize, Serialize};
use trajet_formats::AtomList;

pub use analysis::{Analysis, Array, Finished, Pass, PerFrame, Request, Values};
pub use component::{Folded, FoldedArrays};
pub use error::{
    AnalysisError, Failure, FrameError, InvalidArgument, Result, RunError, TaskError, TaskFault,
};
pub use frame_arrays::{ArraySpec, FrameArrays, FrameBuffer};
pub use joint::{JointPass, JointState, Subtrees};
pub use run::{
    Budget, Control, Output, Part, RunHandle, check_times, open, open_with, run, run_part,
};

macro_rules! analyses {
    ($($(#[$doc:meta])* $name:ident($module:ident),)*) => {
        /// Parameters of any analysis, which bindings deserialise by the name of the variant.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(clippy::large_enum_variant, reason = "plans box it")]
        pub enum AnalysisSpec {
            $($(#[$doc])* $name($module::Request),)*
        }

        impl Request for AnalysisSpec {
            fn check(&self) -> Result<(), InvalidArgument> {
                match self {
                    $(AnalysisSpec::$name(request) => request.check(),)*
                }
            }

            fn atoms(&mut self) -> Vec<&mut AtomList> {
                match self {
                    $(AnalysisSpec::$name(request) => request.atoms(),)*
                }
            }

            fn plan(self, n_atoms: usize) -> Result<Pass, trajet_files::Error> {
                match self {
                    $(AnalysisSpec::$name(request) => request.plan(n_atoms),)*
                }
            }
        }
    };
}

// This is the only list of analyses in Rust.
analyses! {
    /// Numbers of atoms.
    Count(count),
    /// RMSD from a reference.
    Rmsd(rmsd),
    /// Means and fluctuations of positions.
    Moments(moments),
    /// Dihedral angles.
    Dihedrals(dihedrals),
    /// Distances of pairs.
    Distances(distances),
    /// Histogram of pair distances.
    Rdf(rdf),
    /// Number of frames in which groups of atoms are in contact.
    ContactMap(contact_map),
    /// Fraction of native contacts.
    NativeContacts(native_contacts),
    /// Positions of particles over time.
    Particles(particles),
    /// Number of contacts, and the nearest pair.
    Contacts(contacts),
    /// Number of neighbours.
    Coordination(coordination),
    /// Hydrogen bonds.
    HydrogenBonds(hydrogen_bonds),
    /// Interactions by the roles of atoms.
    Interactions(interactions),
    /// Secondary structure.
    Dssp(dssp),
    /// Solvent-accessible surface areas.
    Surface(surface),
    /// Radius of gyration.
    Gyration(gyration),
    /// Centres of groups of atoms, and distances between them.
    Centers(centers),
    /// Positions, as stored or superposed.
    Positions(positions),
    /// Density on a grid.
    Density(density),
    /// Density along a vector of the cell.
    LinearDensity(linear_density),
    /// Histograms of distances of several pairs of lists of sites.
    RdfPairs(rdf_pairs),
}
