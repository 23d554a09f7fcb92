"""Options that change positions after decoding: periodic boundaries and superposition."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast, overload

import click
import numpy as np

from trajet.analysis.reference import reference_positions
from trajet.cli.options import reference_of
from trajet.cli.pools import Decorated
from trajet.cli.translation import line_of
from trajet.members import Ensemble
from trajet.messages import Message
from trajet.trajectory import Trajectory
from trajet.trajectory.transforms import JumpView, WrapCell, WrapGroups

_OPTIONS = (
    click.option(
        "--repair",
        metavar="SELECTION",
        help="Make molecules whole, put those of SELECTION into one image in the centre of the box,"
        " and wrap all others around them.",
    ),
    click.option(
        "--whole",
        is_flag=True,
        help="Make molecules whole that are broken over the box, along the bonds of the topology.",
    ),
    click.option(
        "--nojump",
        is_flag=False,
        flag_value="lattice",
        type=click.Choice(["lattice", "toroidal"]),
        help="Remove jumps over the box from frame to frame. In a changing cell: lattice (default)"
        " for structures, toroidal for diffusion.",
    ),
    click.option(
        "--nojump-every-frame",
        is_flag=True,
        help="With --nojump: also read the frames that are skipped, to find all jumps.",
    ),
    click.option(
        "--cluster", metavar="SELECTION", help="Put the molecules of SELECTION into one image."
    ),
    click.option(
        "--center",
        metavar="SELECTION",
        help="Move the centre of SELECTION to the centre of the box.",
    ),
    click.option(
        "--wrap",
        is_flag=False,
        flag_value="molecule",
        type=click.Choice(["molecule", "residue", "atom"]),
        help="Move molecules (default), residues or atoms into the box, by their centres.",
    ),
    click.option(
        "--wrap-cell",
        type=click.Choice(["triclinic", "compact", "rectangular"]),
        help="The shape that --wrap (default: triclinic) and --repair (default: compact) fill.",
    ),
    click.option(
        "--wrap-weights",
        type=click.Choice(["equal", "mass"]),
        help="Weights of the centres of --wrap. Default: equal.",
    ),
    click.option(
        "--fit",
        metavar="SELECTION",
        help="Superpose frames on a reference by SELECTION, and move all atoms along.",
    ),
    click.option(
        "--fit-reference",
        metavar="FRAME|FILE",
        help="The reference of --fit: a frame of the trajectory or a structure file. Default: 0.",
    ),
    click.option(
        "--fit-weights",
        type=click.Choice(["equal", "mass"]),
        help="Weights of the atoms of --fit. Default: equal.",
    ),
    click.option(
        "--guess-bonds",
        is_flag=True,
        help="Guess bonds from distances in the structure file, for topologies without bonds.",
    ),
)


@dataclass(frozen=True)
class TransformOptions:
    """Values of the options; see `_OPTIONS`. They are applied in the order of the fields."""

    repair: str | None
    whole: bool
    nojump: JumpView | None
    nojump_every_frame: bool
    cluster: str | None
    center: str | None
    wrap: WrapGroups | None
    wrap_cell: WrapCell | None
    wrap_weights: Literal["equal", "mass"] | None
    fit: str | None
    fit_reference: str | None
    fit_weights: Literal["equal", "mass"] | None
    guess_bonds: bool

    def check(self) -> None:
        """Raise an error for options that do nothing without another."""
        if self.nojump_every_frame and self.nojump is None:
            raise click.UsageError("--nojump-every-frame needs --nojump")
        if self.wrap_cell is not None and self.wrap is None and self.repair is None:
            raise click.UsageError("--wrap-cell needs --wrap or --repair")
        if self.wrap_weights is not None and self.wrap is None:
            raise click.UsageError("--wrap-weights needs --wrap")
        if self.fit is None and not (self.fit_reference is None and self.fit_weights is None):
            raise click.UsageError("--fit-reference and --fit-weights need --fit")
        if self.repair is not None and (self.whole or self.cluster or self.center or self.wrap):
            raise click.UsageError(
                "--repair makes molecules whole, clusters, centres and wraps: leave --whole,"
                " --cluster, --center and --wrap out"
            )

    def check_use_of_bonds(self) -> None:
        """Raise an error if bonds are to be guessed that no transform uses."""
        if self.guess_bonds and not self.whole and self.repair is None:
            raise click.UsageError(
                "--guess-bonds guesses the bonds of --whole and --repair: add one of them"
            )

    @overload
    def applied_to(self, opened: Trajectory) -> Trajectory: ...
    @overload
    def applied_to(self, opened: Trajectory | Ensemble) -> Trajectory | Ensemble: ...
    def applied_to(self, opened: Trajectory | Ensemble) -> Trajectory | Ensemble:
        """Return the trajectory, or the ensemble, with the transforms."""
        if self.repair is not None:
            cell = self.wrap_cell or "compact"
            opened = opened.repair(self.repair, cell=cell, guess_bonds=self.guess_bonds)
        if self.whole:
            opened = opened.whole(guess_bonds=self.guess_bonds)
        if self.nojump is not None:
            opened = opened.nojump(view=self.nojump, every_frame=self.nojump_every_frame)
        if self.cluster is not None:
            opened = opened.cluster(self.cluster)
        if self.center is not None:
            opened = opened.center(self.center)
        if self.wrap is not None:
            cell = self.wrap_cell or "triclinic"
            opened = opened.wrap(by=self.wrap, cell=cell, weights=self.wrap_weights or "equal")
        if self.fit is not None:
            opened = self._fitted(opened, self.fit)
        return opened

    def _fitted(self, opened: Trajectory | Ensemble, atoms: str) -> Trajectory | Ensemble:
        """Return the trajectory, superposed by some atoms."""
        reference = reference_of(self.fit_reference or "0")
        weights = self.fit_weights or "equal"
        if isinstance(reference, int):
            return opened.fit(atoms, reference=reference, weights=weights)
        if not isinstance(opened, Trajectory):
            raise click.UsageError(
                "--fit-reference is the number of a frame for members, not a file"
            )
        selection, no_frames = opened.select(atoms), np.empty(0, np.int64)
        messages: list[Message] = []
        (structure,) = reference_positions(reference, selection, [], messages, no_frames)
        for message in messages:
            click.echo(line_of(message), err=True)
        return opened.fit(selection, reference=structure.positions, weights=weights)


def options(command: Decorated) -> Decorated:
    """Add the options to a command, which gets their values as `transforms`."""

    @functools.wraps(command)
    def with_transforms(**values: object) -> object:
        own = {name: values.pop(name) for name in TransformOptions.__dataclass_fields__}
        chosen = cast(Callable[..., TransformOptions], TransformOptions)(**own)
        chosen.check()
        return command(**values, transforms=chosen)

    made: Callable[..., object] = with_transforms
    for option in reversed(_OPTIONS):
        made = option(made)
    return cast(Decorated, made)
