"""Physical constants in SI units: CODATA 2022.

P. J. Mohr, D. B. Newell, B. N. Taylor and E. Tiesinga, Rev. Mod. Phys. 97, 025002 (2025),
doi:10.1103/RevModPhys.97.025002.
"""

AVOGADRO = 6.02214076e23
BOLTZMANN = 1.380649e-23
ELEMENTARY_CHARGE = 1.602176634e-19
SPEED_OF_LIGHT = 299_792_458.0
VACUUM_PERMITTIVITY = 8.8541878188e-12


def thermal_energy(temperature: float) -> float:
    """Return k_B T, J, of a temperature in K.

    Raises
    ------
    ValueError
        If the temperature is not above 0.
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(f"the temperature must be above 0 K, not {temperature} K")
    return BOLTZMANN * temperature
