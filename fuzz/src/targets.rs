//! The fuzz targets, one file each.

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Returns its initial inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Checks an input; panics if a law is broken. Returns `false` for inputs that are another target's.
    pub check: fn(&[u8]) -> bool,
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// All targets, by name.
        pub static TARGETS: &[(&str, Target)] = &[$((stringify!($name), $name::TARGET)),*];
    };
}

targets!(
    chunks,
    compressed,
    dcd,
    frames,
    h5md,
    heads,
    journal,
    links,
    manifest,
    ncdf,
    profile,
    selection,
    settings,
    sidecar,
    text,
    topology_gro,
    topology_lammps,
    topology_lammps_data,
    topology_mmcif,
    topology_pdb,
    topology_prmtop,
    topology_psf,
    topology_tpr,
    topology_xyz,
    trr,
    uses,
    xtc,
);

/// Returns the target of a name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name:?} is no fuzz target: see fuzz/src/targets")).1
}
