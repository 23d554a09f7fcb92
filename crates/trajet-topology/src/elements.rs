//! Chemical elements: symbols, masses and radii.
//!
//! Sources: masses are standard atomic weights of the tables of 1991 to 1995 (Pure Appl. Chem. 64, 1519 (1992),
//! doi:10.1351/pac199264101519, and later ones), rounded as programs for simulations use them. They equal those of
//! MDAnalysis, so that centres of mass do. Radii are van der Waals radii: A. Bondi, J. Phys. Chem. 68, 441 (1964),
//! doi:10.1021/j100785a001; M. Mantina et al., J. Phys. Chem. A 113, 5806 (2009), doi:10.1021/jp8111556, for main-group
//! elements that Bondi lacks; S. Alvarez, Dalton Trans. 42, 8617 (2013), doi:10.1039/c3dt50599e, for other metals.

/// Symbol, mass (u) and van der Waals radius (Å) of the elements from 1 on; 0 where unknown.
const ELEMENTS: [(&str, f64, f64); 118] = [
    ("H", 1.008, 1.1),
    ("He", 4.0026, 1.4),
    ("Li", 6.941, 1.82),
    ("Be", 9.012182, 1.53),
    ("B", 10.811, 1.92),
    ("C", 12.011, 1.7),
    ("N", 14.007, 1.55),
    ("O", 15.999, 1.52),
    ("F", 18.998, 1.47),
    ("Ne", 20.1797, 1.54),
    ("Na", 22.98977, 2.27),
    ("Mg", 24.305, 1.73),
    ("Al", 26.981539, 1.84),
    ("Si", 28.0855, 2.1),
    ("P", 30.974, 1.8),
    ("S", 32.06, 1.8),
    ("Cl", 35.45, 1.75),
    ("Ar", 39.948, 1.88),
    ("K", 39.102, 2.75),
    ("Ca", 40.08, 2.31),
    ("Sc", 44.95591, 2.58),
    ("Ti", 47.88, 2.46),
    ("V", 50.9415, 2.42),
    ("Cr", 51.9961, 2.45),
    ("Mn", 54.93805, 2.45),
    ("Fe", 55.847, 2.44),
    ("Co", 58.9332, 2.4),
    ("Ni", 58.6934, 1.63),
    ("Cu", 63.546, 1.4),
    ("Zn", 65.37, 1.39),
    ("Ga", 69.723, 1.87),
    ("Ge", 72.61, 2.11),
    ("As", 74.92159, 1.85),
    ("Se", 78.96, 1.9),
    ("Br", 79.904, 1.85),
    ("Kr", 83.8, 2.02),
    ("Rb", 85.4678, 3.03),
    ("Sr", 87.62, 2.49),
    ("Y", 88.90585, 2.75),
    ("Zr", 91.224, 2.52),
    ("Nb", 92.90638, 2.56),
    ("Mo", 95.94, 2.45),
    ("Tc", 98.0, 2.44),
    ("Ru", 101.07, 2.46),
    ("Rh", 102.9055, 2.44),
    ("Pd", 106.42, 1.63),
    ("Ag", 107.8682, 1.72),
    ("Cd", 112.411, 1.58),
    ("In", 114.82, 1.93),
    ("Sn", 118.71, 2.17),
    ("Sb", 121.757, 2.06),
    ("Te", 127.6, 2.06),
    ("I", 126.9045, 1.98),
    ("Xe", 131.29, 2.16),
    ("Cs", 132.9, 3.43),
    ("Ba", 137.327, 2.68),
    ("La", 138.9055, 2.98),
    ("Ce", 140.116, 2.88),
    ("Pr", 140.90765, 2.92),
    ("Nd", 144.24, 2.95),
    ("Pm", 145.0, 0.0),
    ("Sm", 150.36, 2.9),
    ("Eu", 151.965, 2.87),
    ("Gd", 157.25, 2.83),
    ("Tb", 158.92534, 2.79),
    ("Dy", 162.5, 2.87),
    ("Ho", 164.93032, 2.81),
    ("Er", 167.26, 2.83),
    ("Tm", 168.93421, 2.79),
    ("Yb", 173.04, 2.8),
    ("Lu", 174.967, 2.74),
    ("Hf", 178.49, 2.63),
    ("Ta", 180.9479, 2.53),
    ("W", 183.85, 2.57),
    ("Re", 186.207, 2.49),
    ("Os", 190.2, 2.48),
    ("Ir", 192.22, 2.41),
    ("Pt", 195.08, 1.75),
    ("Au", 196.96654, 1.66),
    ("Hg", 200.59, 1.55),
    ("Tl", 204.3833, 1.96),
    ("Pb", 207.2, 2.02),
    ("Bi", 208.98037, 2.07),
    ("Po", 209.0, 1.97),
    ("At", 210.0, 2.02),
    ("Rn", 222.0, 2.2),
    ("Fr", 223.0, 3.48),
    ("Ra", 226.025, 2.83),
    ("Ac", 227.028, 2.8),
    ("Th", 232.0381, 2.93),
    ("Pa", 231.0359, 2.88),
    ("U", 238.0289, 1.86),
    ("Np", 237.048, 2.82),
    ("Pu", 244.0, 2.81),
    ("Am", 243.0, 2.83),
    ("Cm", 247.0, 3.05),
    ("Bk", 247.0, 3.4),
    ("Cf", 251.0, 3.05),
    ("Es", 252.0, 2.7),
    ("Fm", 257.0, 0.0),
    ("Md", 258.0, 0.0),
    ("No", 259.0, 0.0),
    ("Lr", 262.0, 0.0),
    ("Rf", 261.0, 0.0),
    ("Db", 262.0, 0.0),
    ("Sg", 263.0, 0.0),
    ("Bh", 264.0, 0.0),
    ("Hs", 265.0, 0.0),
    ("Mt", 266.0, 0.0),
    ("Ds", 0.0, 0.0),
    ("Rg", 0.0, 0.0),
    ("Cn", 0.0, 0.0),
    ("Nh", 0.0, 0.0),
    ("Fl", 0.0, 0.0),
    ("Mc", 0.0, 0.0),
    ("Lv", 0.0, 0.0),
    ("Ts", 0.0, 0.0),
    ("Og", 0.0, 0.0),
];

/// Isotopes of hydrogen that files state as elements: symbol, mass (u), and the radius of hydrogen (Å). Names of atoms
/// never stand for them: `D` also begins the names of dummy atoms and Drude particles.
const ISOTOPES: [(&str, f64, f64); 2] = [("D", 2.014, 1.1), ("T", 3.016, 1.1)];

/// Returns the symbol of an element, `D` or `T` as it is usually written; `None` if there is no such element.
pub(crate) fn symbol(text: &str) -> Option<&'static str> {
    find(text).map(|(symbol, ..)| *symbol)
}

/// Returns the symbol of an element that a name stands for, as [`symbol`]; `None` for isotopes.
pub(crate) fn symbol_in_name(text: &str) -> Option<&'static str> {
    symbol(text).filter(|&symbol| ISOTOPES.iter().all(|&(isotope, ..)| isotope != symbol))
}

/// Returns the symbol of an element by its atomic number.
pub fn symbol_of_number(number: i64) -> Option<&'static str> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    ELEMENTS.get(place).map(|(symbol, ..)| *symbol)
}

/// Returns the symbol of the element with this mass (u): that of the nearest element, if the mass differs from its
/// atomic weight by at most 0.0025 u or 0.04 %. These hold the weights that programs use, but neither united atoms
/// (14.027, 15.035) nor the whole numbers 1, 12, 14 and 15 of models. Elements without a stable isotope, whose weights
/// are whole numbers, are never returned.
pub(crate) fn symbol_of_mass(mass: f64) -> Option<&'static str> {
    /// Largest difference from an atomic weight, u, and for each u.
    const MAX_APART: f64 = 0.0025;
    const MAX_PART: f64 = 4e-4;
    let apart = |row: &&(&str, f64, f64)| (row.1 - mass).abs();
    let stable = ELEMENTS.iter().chain(&ISOTOPES).filter(|row| row.1.fract() != 0.0);
    let nearest = stable.min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
    (apart(&nearest) <= MAX_APART.max(MAX_PART * nearest.1)).then_some(nearest.0)
}

/// Returns the mass (u) of an element; `None` if there is no such element or no isotope is long-lived enough.
pub fn mass(symbol: &str) -> Option<f64> {
    find(symbol).map(|&(_, mass, _)| mass).filter(|&mass| mass > 0.0)
}

/// Returns the van der Waals radius (Å) of an element; `None` if none is known.
pub fn radius(symbol: &str) -> Option<f64> {
    find(symbol).map(|&(_, _, radius)| radius).filter(|&radius| radius > 0.0)
}

fn find(text: &str) -> Option<&'static (&'static str, f64, f64)> {
    ELEMENTS.iter().chain(&ISOTOPES).find(|(symbol, ..)| symbol.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_in_any_case_and_distinct() {
        assert_eq!(symbol("cl"), Some("Cl"));
        assert_eq!(symbol("CL"), Some("Cl"));
        assert_eq!((symbol("d"), symbol("X"), symbol("")), (Some("D"), None, None));
        assert_eq!((symbol_in_name("D"), symbol_in_name("H")), (None, Some("H")));
        assert_eq!(symbol_of_number(17), Some("Cl"));
        assert_eq!((symbol_of_number(0), symbol_of_number(-1)), (None, None));
        assert_eq!((symbol_of_number(118), symbol_of_number(119)), (Some("Og"), None));
        let distinct: std::collections::HashSet<_> = ELEMENTS.iter().map(|row| row.0).collect();
        assert_eq!(distinct.len(), ELEMENTS.len());
    }

    #[test]
    fn masses_increase_with_the_atomic_number_but_for_the_known_pairs() {
        let heavier: Vec<&str> = ELEMENTS
            .windows(2)
            .filter(|pair| pair[1].1 > 0.0 && pair[0].1 > pair[1].1)
            .map(|pair| pair[0].0)
            .collect();
        assert_eq!(heavier, ["Ar", "Co", "Te", "Th", "U", "Pu", "Lr"]);
        assert_eq!((mass("O"), mass("og"), mass("?")), (Some(15.999), None, None));
    }

    #[test]
    fn masses_within_the_tolerance_tell_elements() {
        for (symbol, masses) in [
            ("H", &[1.008, 1.00794, 1.00797, 1.01][..]),
            ("D", &[2.014]),
            ("He", &[4.0026, 4.002602]),
            ("Li", &[6.94, 6.941]),
            ("C", &[12.011, 12.0107, 12.01, 12.0112]),
            ("N", &[14.007, 14.0067, 14.01]),
            ("O", &[15.999, 15.9994, 16.0]),
            ("Na", &[22.98977, 22.99]),
            ("S", &[32.06, 32.065, 32.066]),
            ("Cl", &[35.45, 35.453]),
            ("K", &[39.0983, 39.1, 39.102]),
            ("Ca", &[40.078, 40.08]),
            ("Ti", &[47.867, 47.88]),
            ("Fe", &[55.845, 55.847]),
            ("Zn", &[65.38, 65.37, 65.39]),
            ("Ge", &[72.61, 72.63]),
            ("Se", &[78.96, 78.971]),
            ("W", &[183.84, 183.85]),
            ("Au", &[196.967, 196.97]),
        ] {
            for &mass in masses {
                assert_eq!(symbol_of_mass(mass), Some(symbol), "{mass}");
            }
        }
        // Models, united atoms, beads, repartitioned hydrogens, and what is no mass.
        for mass in [
            0.0,
            0.4,
            1.0,
            2.0,
            3.0,
            3.024,
            4.0,
            4.032,
            9.995,
            12.0,
            13.019,
            14.0,
            14.027,
            15.0,
            15.035,
            16.043,
            18.015,
            28.05,
            36.0,
            42.08,
            44.05,
            54.0,
            56.1,
            72.0,
            98.0,
            100.0,
            210.0,
            262.0,
            1e9,
            -1.0,
            f64::NAN,
            f64::INFINITY,
        ] {
            assert_eq!(symbol_of_mass(mass), None, "{mass}");
        }
    }

    #[test]
    fn every_stable_element_is_told_by_its_own_mass() {
        for (symbol, mass, _) in ELEMENTS.iter().chain(&ISOTOPES).filter(|row| row.1.fract() != 0.0)
        {
            assert_eq!(symbol_of_mass(*mass), Some(*symbol));
        }
    }

    #[test]
    fn isotopes_of_hydrogen_have_its_radius() {
        assert_eq!([mass("D"), mass("T")], [Some(2.014), Some(3.016)]);
        assert!(["D", "T"].iter().all(|symbol| radius(symbol) == radius("H")));
    }

    #[test]
    fn every_known_radius_is_one_of_an_atom() {
        assert!(ELEMENTS.iter().all(|row| row.2 == 0.0 || (1.0..=3.5).contains(&row.2)));
        assert_eq!((radius("C"), radius("Og")), (Some(1.7), None));
    }
}
