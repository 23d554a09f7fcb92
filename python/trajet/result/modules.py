"""The modules that define the names of `trajet.result`."""

from types import MappingProxyType

MODULES = MappingProxyType(
    {
        "trajet.result.applied": "Applied",
        "trajet.result.as_json": "document plain",
        "trajet.result.atom_values": "AtomValues",
        "trajet.result.centers": "CenterDistances Centers",
        "trajet.result.clusters": "Clusters",
        "trajet.result.components": "PrincipalComponents",
        "trajet.result.contact_map": "ContactMap",
        "trajet.result.density": "Density LinearDensity",
        "trajet.result.dihedrals": "Dihedrals",
        "trajet.result.displacement": "Diffusion MeanSquaredDisplacement diffusion range_of_fit",
        "trajet.result.distances": "Distances",
        "trajet.result.gyration": "AxisRadii GyrationMoments",
        "trajet.result.hydrogen_bonds": (
            "HydrogenBondLifetimes HydrogenBondList HydrogenBondPairs HydrogenBonds"
        ),
        "trajet.result.loading": "load",
        "trajet.result.min_distance": "MinDistance",
        "trajet.result.native_contacts": "NativeContacts",
        "trajet.result.pairwise": "PairwiseRmsd",
        "trajet.result.radial": "RadialDistribution RadialDistributions",
        "trajet.result.report": (
            "COUNTS REPORT_SUFFIXES STAGES Report bytes_by_place counting_of entries_of "
            "make_report transform_doubts"
        ),
        "trajet.result.result": "SUFFIXES Part Result with_scalars",
        "trajet.result.secondary": "ClassContent SecondaryStructure",
        "trajet.result.series": "GroupSeries Series",
        "trajet.result.surface": "SurfaceAreas",
    }
)
