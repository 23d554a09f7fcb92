"""Options that all analyses share, and the commands that they make of functions."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click
import numpy as np
from numpy.typing import NDArray

import trajet
from trajet import advise, startup
from trajet.analysis.job import EnsembleJob, Job
from trajet.analysis.runner import ResultSize
from trajet.analysis.several_analyses import run_jobs
from trajet.cli import figures, pools, transforms
from trajet.cli.command import LeveledCommand, help_all
from trajet.cli.ensemble_output import (
    MembersChoice,
    MembersOutput,
    check_outputs,
    echo_failures,
    groups_of,
)
from trajet.cli.figures import FigureOptions
from trajet.cli.open_options import REMOTE, check_trajectories, open_files, opening
from trajet.cli.options import (
    choose_frames,
    folder_for_outputs,
    frames,
    in_files_order,
    notes,
    notes_of_opening,
    path_to,
    quiet,
    read_topology,
    select,
)
from trajet.cli.results import check_json, echo_json, json_option, table_of
from trajet.cli.tables import EXPECTED, one_line, wrapped
from trajet.cli.terminal import progress, waiting
from trajet.cli.transforms import TransformOptions
from trajet.cli.translation import as_options, error_line
from trajet.members import Ensemble, EnsembleSelection
from trajet.members.ensemble import ensemble_of
from trajet.messages import as_entries
from trajet.pools.pool import Pool
from trajet.result import (
    REPORT_SUFFIXES,
    SUFFIXES,
    Table,
    document,
    entries_of,
)
from trajet.trajectory import (
    OpenOptions,
    Selection,
    Trajectory,
    UpdatingSelection,
    check_consecutive,
)

if TYPE_CHECKING:
    from trajet.result import EnsembleResult

_R = TypeVar("_R", bound=Table)

# Bytes of a result's rows above which a command needs --force.
_LARGE_RESULT = 10**9


@dataclass(frozen=True)
class AnalysisOptions:
    """Values of the options that all analyses share.

    Attributes
    ----------
    trajectory
        The open trajectory, or an ensemble of several.
    frames
        The chosen frames; of an ensemble a function that chooses those of a member.
    pool
        The pool to run on.
    outputs
        Paths of "output", "plot" and "report", or None.
    quiet
        Whether to print nothing.
    is_verbose
        Whether to print how the errors of means were estimated.
    any_size
        Whether a result may be larger than `_LARGE_RESULT`.
    time_sample
        Whether to measure a serial sample for R_comp/IO before the run.
    as_json
        Whether to print JSON instead of a table.
    joint
        The run of several analyses to which this one belongs; None if it runs on its own.
    updating
        Whether selections are evaluated in each frame.
    figure
        Title, size and resolution of the figure.
    """

    trajectory: Trajectory | Ensemble
    frames: slice | NDArray[np.int64] | Callable[[Trajectory], slice | NDArray[np.int64]]
    pool: Pool
    outputs: dict[str, Path | None]
    quiet: bool
    any_size: bool
    time_sample: bool
    is_verbose: bool = False
    as_json: bool = False
    joint: "JointRun | None" = None
    updating: bool = False
    figure: FigureOptions = field(default_factory=FigureOptions)

    def select(self, selection: str) -> Selection | UpdatingSelection | EnsembleSelection:
        """Evaluate a selection; on frame 0, or in each frame if `updating`."""
        if isinstance(self.trajectory, Ensemble):
            return self.trajectory.select(selection, updating=self.updating)
        if not self.updating:
            return select(self.trajectory, selection, quiet=self.quiet)
        with waiting(f"selecting {selection}", quiet=self.quiet):
            return self.trajectory.select(selection, updating=True)

    def approve(self, size: ResultSize) -> None:
        """Raise an error for a result that is too large, before any frame is read.

        Raises
        ------
        OutputError
            If it is larger than `_LARGE_RESULT`, and `any_size` is False.
        """
        if size.n_bytes > _LARGE_RESULT and not self.any_size:
            raise trajet.OutputError(
                f"the result would take {size.n_bytes / 1e9:.1f} GB of memory ({size.numbers}):"
                f" choose fewer atoms or frames, compute it anyway (--force){size.advice}"
            )

    def run(
        self,
        prepared: Job[_R] | EnsembleJob[_R],
        *,
        parts: Mapping[str, Path],
        is_bounded: bool = False,
    ) -> None:
        """Run an analysis, then write the requested files, and print the table of the result.

        In a run of several analyses this is done later, for all of them.

        Parameters
        ----------
        prepared
            The analysis.
        parts
            Files of parts of its result.
        is_bounded
            See `CommandDetails`.
        """
        if isinstance(prepared, EnsembleJob):
            assert self.joint is not None
            check_outputs(self.outputs, parts)
            self.joint.add(prepared, self)
            return
        if self.joint is not None and not is_bounded:
            self.joint.jobs.append((prepared, lambda result: self.finish(result, parts)))
            return
        what = prepared.name.replace("_", "-")
        if self.joint is not None:
            raise click.UsageError(f"{what} reads frames on its own: run it outside of a plan")
        assert not callable(self.frames)
        with progress(what, " frames", quiet=self.quiet) as show:
            results = run_jobs(
                [prepared],
                time_sample=self.time_sample,
                frames=self.frames,
                pool=self.pool,
                progress=show,
                approve=None if is_bounded else self.approve,
            )
        self.finish(cast(Table, results[0]), parts)

    def finish(self, result: Table, parts: Mapping[str, Path]) -> None:
        """Write the requested files, then print the table, or JSON, and the paths of the files."""
        assert isinstance(self.trajectory, Trajectory)
        report, watch = result.report, startup.Stopwatch()
        written = [path for name in parts for path in result.save_part(name, parts[name])]
        if (path := self.outputs["output"]) is not None:
            result.save(path)
        report.record_seconds("t_files", watch.seconds())
        if (path := self.outputs["plot"]) is not None:
            self.figure.save(result, path)
            report.record_seconds("t_figure", watch.seconds())
        of_all = (self.outputs[name] for name in ("plot", "report", "output"))
        written += [path for path in of_all if path is not None]
        is_alone = self.joint is None
        found: dict[str, object] = {}
        lines: list[str] = []
        if self.as_json or (self.joint is not None and self.joint.as_json):
            found = document(result, outputs=written)
            found.update(as_entries([*notes_of_opening(self.trajectory), *result.messages]))
        elif not self.quiet:
            lines = table_of(result, is_alone=is_alone, is_verbose=self.is_verbose)
        report.record_seconds("t_result", watch.seconds())
        report.record_imports()
        if (path := self.outputs["report"]) is not None:
            report.save(path)
        # The reader of a pipe may close it at any time: the files are written before.
        if found and self.joint is not None:
            self.joint.documents.append(found)
        elif found:
            echo_json(found)
        elif not self.quiet:
            advised = advise.first_advice(entries_of(report)) if is_alone else []
            texts = (*map(as_options, advised), *notes(self.trajectory, result.messages))
            for line in (*lines, *(line for text in texts for line in wrapped(text)), *written):
                click.echo(line)


@dataclass
class JointRun:
    """Analyses that `trajet run` runs together.

    Attributes
    ----------
    kept
        Closes the pool at the end.
    first
        Options of the first analysis, with the trajectory before its transforms: all analyses share
        its files, frames and pool.
    as_json
        Whether to print JSON instead of tables.
    jobs
        Each analysis, and what to do with its result.
    documents
        The results as JSON, in order; that of an analysis that failed has its `error`.
    members
        The members that are run; None for one trajectory.
    is_chained
        Whether files are read as one trajectory also if they look like replicas.
    of_members
        Each analysis of the members, and where its result goes.
    """

    kept: contextlib.ExitStack
    as_json: bool = False
    members: MembersChoice | None = None
    is_chained: bool = False
    of_members: list[tuple[EnsembleJob[Table], MembersOutput]] = field(default_factory=list)
    first: AnalysisOptions | None = None
    jobs: list[tuple[Job[Table], Callable[[Table], None]]] = field(default_factory=list)
    documents: list[Mapping[str, object]] = field(default_factory=list)

    def add(self, job: EnsembleJob[Table], options: AnalysisOptions) -> None:
        """Add an analysis of the members."""
        as_json = self.as_json or options.as_json
        where = MembersOutput(
            options.outputs, options.quiet, as_json, self.documents, options.figure
        )
        self.of_members.append((job, where))

    def run_members(self) -> None:
        """Run all analyses of the members, then write their files and print their tables.

        Raises
        ------
        Exit
            If a member failed.
        """
        first, chosen = self.first, self.members
        if first is None or chosen is None:
            return
        assert isinstance(first.trajectory, Ensemble)
        groups = None
        if chosen.difference is not None:
            groups = groups_of(first.trajectory, chosen.difference)
        with progress("run", " members", quiet=first.quiet) as show:
            found = run_jobs(
                [job for job, _ in self.of_members],
                keep_going=chosen.keep_going,
                resume=chosen.resume,
                verify=chosen.verify,
                frames=first.frames,
                pool=first.pool,
                progress=show,
                approve=first.approve,
            )
        results = cast("Sequence[EnsembleResult[Table]]", found)
        failed = echo_failures(results)
        for (job, where), result in zip(self.of_members, results, strict=True):
            try:
                where.finish(result, groups)
            except BrokenPipeError:
                raise
            except EXPECTED as error:
                failed = True
                click.echo(f"trajet: {job.name.replace('_', '-')}: {error_line(error)}", err=True)
        if self.as_json or first.as_json:
            echo_json(self.documents)
        if failed:
            raise click.exceptions.Exit(1)

    def run(self) -> None:
        """Run all analyses, then write their files and print their tables.

        Analyses that fail are named in an error; the files of the others are written.

        Raises
        ------
        Exit
            If an analysis failed.
        """
        first = self.first
        if first is None:
            return
        assert not callable(first.frames)
        with progress("run", " frames", quiet=first.quiet) as show:
            results = run_jobs(
                [prepared for prepared, _ in self.jobs],
                keep_going=True,
                time_sample=first.time_sample,
                frames=first.frames,
                pool=first.pool,
                progress=show,
                approve=first.approve,
            )
        failed = False
        for number, ((job, finish), result) in enumerate(zip(self.jobs, results, strict=True), 1):
            try:
                if isinstance(result, Exception):
                    raise result
                finish(cast(Table, result))
            except BrokenPipeError:
                raise
            except EXPECTED as error:
                failed = True
                name = job.name.replace("_", "-")
                click.echo(f"trajet: analysis {number} ({name}): {error_line(error)}", err=True)
                self.documents.append({"analysis": job.name, "error": one_line(error)})
        if self.as_json or first.as_json:
            echo_json(self.documents)
        if failed:
            raise click.exceptions.Exit(1)


# Options of opening, by the fields of `OpenOptions`.
_OPENING = (
    "continuous",
    "request_size",
    "allow_truncated_tail",
    "format_options",
    *("time_step", "atoms", *REMOTE),
)
# Options that the analyses of a run have in common.
OPTIONS_OF_RUN = frozenset(
    (
        "continuous",
        "start",
        "stop",
        "step",
        "begin",
        "end",
        "pool",
        "workers",
        "threads",
        "scheduler",
        "request-size",
        "allow-truncated-tail",
        "format-option",
        "time-step",
        "atoms",
        "rows-in",
        "time-sample",
        "force",
        "quiet",
        "json",
        "connections",
        "allow-http",
        "storage-option",
    )
)

_SHARED = (
    click.argument("topology", metavar="TOPOLOGY|STORE/NAME"),
    click.argument("trajectories", nargs=-1, metavar="[TRAJECTORY...]", callback=in_files_order),
    frames,
    pools.choice(),
    opening(*_OPENING),
    transforms.options,
    click.option(
        "-o",
        "--output",
        callback=path_to(SUFFIXES),
        metavar="FILE",
        help="The result: .csv, .json or .npz.",
    ),
    json_option,
    click.option(
        "--plot",
        callback=path_to((".png", ".pdf", ".svg")),
        metavar="FILE",
        help="A figure: .png, .pdf or .svg",
    ),
    *figures.OPTIONS,
    click.option(
        "--report",
        callback=path_to(REPORT_SUFFIXES),
        metavar="FILE",
        help="A report of the run's timings: .json, or .html with figures",
    ),
    click.option(
        "--rows-in",
        callback=folder_for_outputs,
        metavar="FOLDER",
        help="Write the numbers of all frames to .npy files. With --pool dask or mpi.",
    ),
    click.option(
        "--time-sample",
        is_flag=True,
        help="Also measure R_comp/IO for the report, on a few frames that one thread reads first.",
    ),
    click.option("--force", is_flag=True, help="Compute a result of more than 1 GB in memory."),
    click.option(
        "--verbose",
        "-v",
        is_flag=True,
        help="Also print correlation and equilibration times of means.",
    ),
    quiet,
)

# The sections of `--help` with the names of their options; all others come before them.
_SECTIONS = {
    "Output": (
        "save",
        "output",
        "plot",
        "title",
        "size",
        "dpi",
        "mean",
        "band",
        "report",
        "as_json",
        "force",
        "verbose",
        "quiet",
    ),
    "Frames": ("start", "stop", "step", "begin", "end"),
}
# The sections that only `--help-all` shows.
_MORE_SECTIONS = {
    "Positions": tuple(TransformOptions.__dataclass_fields__),
    "Pools": ("pool", "workers", "scheduler", "threads", "rows_in", "time_sample"),
    "Files": _OPENING,
}
_EPILOG = (
    "Distances are in Å and times in ps; another unit is written behind the number, as in 0.45nm,"
    " 0.2ns or 1us. The report's entries are described in docs/report.md."
)
_FILES = (
    "TOPOLOGY is a PSF, PDB, GRO, TPR, PRMTOP or mmCIF file, or another that MDAnalysis reads."
    " TRAJECTORY is an XTC, TRR, DCD, Amber NetCDF, H5MD, PDB, GRO or RST7 file, or a LAMMPS dump;"
    " PDB and GRO files need no other topology. Several files are read as one trajectory; files"
    " that match a pattern are in natural order, part2 before part10."
)


def analysis(
    *own: Callable[[Callable[..., None]], object],
    check: Callable[..., None] | None = None,
    guesses_bonds: bool = False,
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of a function of `AnalysisOptions` and `own` options.

    `check` is called with the values of the own options before any file is opened, and raises
    `UsageError` if they contradict each other. If the analysis `guesses_bonds` itself, its function
    also gets `guess_bonds`, the option that it has in common with the transforms.
    """

    def make(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def command(
            *,
            topology: str,
            trajectories: list[str],
            start: int | None,
            stop: int | None,
            step: int | None,
            begin: float | None,
            end: float | None,
            pool: str,
            workers: int | None,
            threads: int | None,
            scheduler: str | None,
            how: OpenOptions,
            transforms: TransformOptions,
            output: Path | None,
            as_json: bool,
            plot: Path | None,
            title: str | None,
            size: tuple[float, float] | None,
            dpi: int | None,
            mean: bool | None,
            band: bool | None,
            report: Path | None,
            rows_in: Path | None,
            time_sample: bool,
            force: bool,
            verbose: bool,
            quiet: bool,
            **values: object,
        ) -> None:
            check_json(as_json=as_json, quiet=quiet)
            figure = FigureOptions(title, size, dpi, mean, band)
            figure.check(plot)
            if guesses_bonds:
                values["guess_bonds"] = transforms.guess_bonds
            else:
                transforms.check_use_of_bonds()
            if check is not None:
                check(**values)
            if (start is not None or stop is not None) and (begin is not None or end is not None):
                raise click.UsageError(
                    "choose frames (--start, --stop) or times (--begin, --end), not both"
                )
            joint = click.get_current_context().find_object(JointRun)
            members = None if joint is None else joint.members
            if members is None:
                check_trajectories(topology, trajectories)

            # Times that choose frames are read from the files now, not from a kept index.
            how = replace(how, threads=threads, rebuild_index=begin is not None or end is not None)

            def options_of(
                opened: Trajectory | Ensemble,
                chosen: slice
                | NDArray[np.int64]
                | Callable[[Trajectory], slice | NDArray[np.int64]],
            ) -> AnalysisOptions:
                return AnalysisOptions(
                    trajectory=opened,
                    frames=chosen,
                    pool=kept.enter_context(where),
                    outputs={},
                    quiet=quiet,
                    as_json=as_json,
                    any_size=force or rows_in is not None,
                    time_sample=time_sample,
                    joint=joint,
                )

            def shared() -> AnalysisOptions:
                if members is not None:
                    return options_of(
                        ensemble_of(
                            members.rows,
                            members.topology,
                            how,
                            is_chained=joint is not None and joint.is_chained,
                        ),
                        lambda opened: choose_frames(opened, start, stop, step, begin, end),
                    )
                opened = open_files(topology, trajectories, how, quiet=quiet)
                if joint is not None and not (joint.is_chained or how.continuous):
                    check_consecutive(opened.source.files)
                chosen = choose_frames(opened, start, stop, step, begin, end)
                if stop is not None and stop > opened.n_frames and not quiet:
                    click.echo(
                        f"note: {opened.label} ends before --stop {stop}: its last frame is"
                        f" {opened.n_frames - 1}",
                        err=True,
                    )
                read_topology(opened, quiet=quiet)
                return options_of(opened, chosen)

            where = pools.made(pool, pools.PoolOptions(workers, threads, scheduler, rows_in))
            with contextlib.ExitStack() as of_command:
                kept = of_command if joint is None else joint.kept
                if joint is None:
                    job = shared()
                else:
                    job = joint.first = joint.first or shared()
                outputs = {"output": output, "plot": plot, "report": report}
                opened = transforms.applied_to(job.trajectory)
                made = replace(
                    job, trajectory=opened, outputs=outputs, figure=figure, is_verbose=verbose
                )
                function(made, **values)

        all_options: Sequence[Callable[[Callable[..., None]], object]]
        all_options = (*_SHARED[:2], *own, *_SHARED[2:], help_all)
        for option in reversed(all_options):
            # Some wrap the function, others only note the option in it.
            command = option(command) or command
        made = click.command(cls=LeveledCommand, epilog=_EPILOG)(command)
        made.sections, made.more_sections = _SECTIONS, _MORE_SECTIONS
        made.more_epilog = _FILES
        return made

    return make
