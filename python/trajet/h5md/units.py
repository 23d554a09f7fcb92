"""Units of HDF5 trajectories, as H5MD's module of units, MDAnalysis and mdtraj spell them.

Each factor makes Å, ps, Å/ps or kJ/(mol Å). They are the numbers of MDAnalysis, so that products
are equal in every bit, but for the newton, which follows the Avogadro constant of 2018.
"""

from collections.abc import Mapping

import numpy as np

from trajet._trajet import FormatError

_LENGTHS = {
    **dict.fromkeys(("Angstrom", "angstrom", "Angstroms", "angstroms", "A", "Ang", "Å"), 1.0),
    **dict.fromkeys(("nm", "nanometer", "nanometers"), 10.0),
    **dict.fromkeys(("pm", "picometer", "picometers"), 0.01),
    **dict.fromkeys(("fm", "femtometer", "femtometers"), 1e-5),
    **dict.fromkeys(("um", "micrometer", "micrometers"), 1e4),
    "m": 1e10,
}
_TIMES = {
    **dict.fromkeys(("ps", "picosecond", "picoseconds"), 1.0),
    **dict.fromkeys(("fs", "femtosecond", "femtoseconds"), 1e-3),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e3),
    **dict.fromkeys(("us", "microsecond", "microseconds"), 1e6),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e9),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1e12),
    "AKMA": 0.04888821,
}
_ENERGIES = {
    **dict.fromkeys(("kJ mol-1", "kJ/mol", "kilojoules_per_mole"), 1.0),
    **dict.fromkeys(("kcal mol-1", "kcal/mol", "kilocalories_per_mole"), 4.184),
    "eV": 96.48533212331002,
    "J": 6.02214076e20,
}
_VELOCITIES = {
    spelled: length / time
    for x, length in _LENGTHS.items()
    for t, time in _TIMES.items()
    for spelled in (f"{x} {t}-1", f"{x}/{t}")
}
_FORCES = {
    spelled: energy / length
    for e, energy in _ENERGIES.items()
    for x, length in _LENGTHS.items()
    for spelled in (f"{e} {x}-1", f"{e}/{x}", f"kJ/(mol*{x})" if e == "kJ/mol" else f"{e}/({x})")
} | dict.fromkeys(("N", "Newton"), 6.02214076e10)

_FACTORS = {
    "position": _LENGTHS,
    "velocity": _VELOCITIES,
    "force": _FORCES,
    "time": _TIMES,
    "edges": _LENGTHS,
}
# Units of programs that do not name all of theirs: GROMACS 2026 leaves that of time out.
OF_PROGRAMS = {
    "GROMACS": {
        "position": "nm",
        "velocity": "nm ps-1",
        "force": "kJ mol-1 nm-1",
        "time": "ps",
    }
}
# Quantities whose units the format option `units` may state.
QUANTITIES = ("position", "velocity", "force", "time")


def factor(quantity: str, unit: str, where: str) -> float:
    """Return what numbers in `unit` are multiplied with.

    Raises
    ------
    FormatError
        If the unit is not known.
    """
    found = _FACTORS[quantity].get(" ".join(unit.split()))
    if found is None:
        examples = {"time": "ps, fs, ns", "velocity": "nm ps-1", "force": "kJ mol-1 nm-1"}
        raise FormatError(
            f"{where}: the unit {unit!r} of {quantity} is not known"
            f" ({examples.get(quantity, 'nm, Angstrom, pm')} are, among others): change the"
            " attribute"
        )
    return found


def named(quantity: str, by: float) -> str:
    """Return a unit whose numbers are multiplied with `by`, as single precision tells it."""
    factors = _FACTORS[quantity].items()
    return next(unit for unit, factor in factors if np.float32(factor) == np.float32(by))


def check_named(units: Mapping[str, str]) -> None:
    """Raise an error if the user names a unit of an unknown quantity.

    Raises
    ------
    ValueError
        If there is one.
    """
    for quantity in units:
        if quantity not in QUANTITIES:
            known = ", ".join(QUANTITIES)
            raise ValueError(f"units are given for {quantity!r}: they have {known}")
