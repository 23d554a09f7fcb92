"""Numbers of other programs against time: read, joined to frames, and used to choose frames."""

import importlib.util
import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pandas as pd
import pytest
import trajet as tj
from helpers.extent import examples
from helpers.messages import raises, warns
from helpers.result_laws import assert_result_laws
from hypothesis import given, settings
from hypothesis import strategies as st
from MDAnalysisTests import datafiles
from trajet.messages import Code

HERE, ROOT = Path(__file__).parent / "series", Path(__file__).parents[2]
PYEDR = Path(importlib.util.find_spec("pyedr").origin).parent / "tests" / "data"  # type: ignore
COLVAR = "#! FIELDS time d a\n#! SET min_a -pi\n 0.0 1 2\n 1.0 3 nan\n 2.0 5 -6e1\n"
XVG = (
    '# made\n@ title "A"\n@ xaxis label "Time (ns)"\n@ yaxis label "E (kJ/mol)"\n@TYPE xy\n'
    '@ s0 legend "LJ (SR)"\n@ s1 legend "\\xD\\f{}H"\n0.001 1 2\n0.002 3 -4.5\n0.003 5 inf\n'
)
NAMD = (
    "Info: NAMD 3.0 for Linux\nInfo: TIMESTEP               2\nETITLE:      TS    BOND    TEMP\n\n"
    "ENERGY:       0     1.5    300.0\n\nENERGY:     500     2.5    301.0\n"
)
LAMMPS = HERE.joinpath("lammps_one.log").read_text()


def block(step: int, energy: float, region: int | None = None, summary: str = "") -> str:
    """Return a step of Amber's output, whose time step is 2 fs."""
    return (
        (f"| TI region {region}\n\n" if region else "")
        + (f"      {summary}\n\n" if summary else "")
        + f" NSTEP ={step:9d}   TIME(PS) ={step / 500:12.3f}  TEMP(K) ={300.25:9.2f}  PRESS =****\n"
        f" Etot   ={energy:14.4f}  EKtot   ={1.0:14.4f}  EPtot      ={energy - 1:14.4f}\n"
        f" 1-4 NB ={0.5:14.4f}  1-4 EEL ={1.5:14.4f}  VDWAALS    ={2.5:14.4f}\n"
        " " + "-" * 78 + "\n\n"
    )


AMBER = "          Amber 22 PMEMD\n\n   4.  RESULTS\n" + block(0, -10) + block(500, -11.5)
# Text of each format, its name and the options that it needs.
TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "COLVAR": (COLVAR, {"time_unit": "ps"}),
    "a.xvg": (XVG, {}),
    "a.csv": ('#"Step","Time (ps)","E (kJ/mol)"\n0,0.5,1\n5,1.0,-2\n9,1.5,\n', {}),
    "namd.log": (NAMD, {}),
    "mdout": (AMBER, {}),
    "log.lammps": (LAMMPS, {}),
    "yaml.log": (HERE.joinpath("lammps_yaml.log").read_text(), {}),
    "multi.log": (HERE.joinpath("lammps_multi.log").read_text(), {}),
}


def read(folder: Path, text: str, name: str = "COLVAR", **options: Any) -> tj.Table:
    """Return the series of a text."""
    path = folder / name
    path.write_bytes(text.encode())
    return tj.read_series(path, **options)


def codes(result: tj.Table) -> set[Code]:
    """Return the codes of the messages of a result."""
    return {one.code for one in result.messages}


@pytest.mark.parametrize("name", ["1", "2", "3", "4", "1_d", "2_d", "3_d", "4_d", "blocks"])
def test_energies_are_those_of_gmx_energy(name: str) -> None:
    """EDR files, which pyedr reads, have what GROMACS printed; XVG files what NumPy reads."""
    xvg, edr = (tj.read_series(PYEDR / f"{name}.{ending}") for ending in ("xvg", "edr"))
    numbers = np.loadtxt(PYEDR / f"{name}.xvg", comments=["#", "@"])
    assert np.array_equal(xvg.times, numbers[:, 0])
    assert np.array_equal(xvg.values, numbers[:, 1:])
    np.testing.assert_allclose(edr.times, xvg.times, atol=5e-7)
    for column in xvg.columns:
        np.testing.assert_allclose(edr[column].values, xvg[column].values, rtol=1e-6, atol=1e-6)
    assert edr["Potential"].units == edr["Bond"].units == "kJ/mol"
    assert not edr.messages


def test_energies_at_frames_are_those_of_mdanalysis() -> None:
    """Each frame has the row that MDAnalysis' auxiliary reader gives it."""
    trajectory = tj.open(datafiles.AUX_EDR_TPR, datafiles.AUX_EDR_XTC)
    joined = tj.read_series(datafiles.AUX_EDR).at(trajectory)
    universe = mda.Universe(datafiles.AUX_EDR_TPR, datafiles.AUX_EDR_XTC)
    universe.trajectory.add_auxiliary({"E": "Potential"}, datafiles.AUX_EDR)
    assert joined["Potential"].values.tolist() == [step.aux.E for step in universe.trajectory]
    assert joined.frames.tolist() == list(range(len(universe.trajectory)))
    assert not np.isnan(joined.values).any()
    assert not codes(joined)


def test_cut_energy_file_is_an_error(tmp_path: Path) -> None:
    """A library that takes it for a shorter file does not hide it."""
    whole = (PYEDR / "1.edr").read_bytes()
    for size in (0, 3, 100, 2000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.edr").write_bytes(whole[:size])
        with raises(tj.FormatError, tmp_path / "cut.edr"):
            tj.read_series(tmp_path / "cut.edr")


def test_text_formats_give_numbers_units_and_times(tmp_path: Path) -> None:
    """Also with line ends of Windows."""
    found = {name: read(tmp_path, text, name, **options) for name, (text, options) in TEXTS.items()}
    xvg = found["a.xvg"]
    assert xvg.columns == ("LJ (SR)", "ΔH")
    assert (xvg.name, xvg.units, xvg.times.tolist()) == ("E", "kJ/mol", [1, 2, 3])
    assert xvg["ΔH"].values.tolist() == [2, -4.5, np.inf]
    assert str(found["COLVAR"].values.tolist()) == "[[1.0, 2.0], [3.0, nan], [5.0, -60.0]]"
    assert str(found["a.csv"]["E"].values.tolist()) == "[1.0, -2.0, nan]"
    assert found["a.csv"].columns == ("Step", "E (kJ/mol)")
    assert found["namd.log"].times.tolist() == [0, 1]
    assert found["namd.log"]["TEMP"].values.tolist() == [300, 301]
    assert found["namd.log"]["BOND"].units == "kcal/mol"
    amber = found["mdout"]
    assert amber.times.tolist() == [0, 1]
    assert amber["EPtot"].values.tolist() == [-11, -12.5]
    assert amber["1-4 NB"].values.tolist() == [0.5, 0.5]
    # Stars stand for a number that is too wide.
    assert np.isnan(amber["PRESS"].values).all()
    assert codes(amber) == {Code.NO_NUMBERS}
    for name, one in found.items():
        again = read(tmp_path, TEXTS[name][0].replace("\n", "\r\n"), name, **TEXTS[name][1])
        assert np.array_equal(one.values, again.values, equal_nan=True)
        assert np.array_equal(one.times, again.times)


def test_styles_of_lammps_agree() -> None:
    """One run of LAMMPS, printed with 8 digits, 4 decimals and all digits."""
    one, multi, yaml, custom = (
        tj.read_series(HERE / f"lammps_{style}.log") for style in ("one", "multi", "yaml", "custom")
    )
    assert one.times.tolist() == [0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12]
    for other in (multi, yaml, custom):
        assert np.array_equal(other.times, one.times)
    for name, unit in (("Temp", "K"), ("Press", "atm")):
        np.testing.assert_allclose(one[name].values, yaml[name].values, rtol=1e-7)
        np.testing.assert_allclose(multi[name].values, yaml[name].values, atol=5.1e-5)
        assert np.array_equal(custom[name].values, one[name].values)
        assert one[name].units == unit
    np.testing.assert_allclose(multi["TotEng"].values, custom["TotEng"].values, atol=5.1e-5)


def test_steps_of_lammps_are_times_only_if_their_length_is_known(tmp_path: Path) -> None:
    """It is in the log, or given, and does not change."""
    silent = re.sub(r"timestep.*\n|units.*\n", "", LAMMPS)
    with raises(tj.FormatError):
        read(tmp_path, silent)
    with raises(tj.FormatError):
        read(tmp_path, silent, time_unit="fs")
    found = read(tmp_path, silent, time_unit="fs", md_step=2)
    assert found.times.tolist() == [0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12]
    for other in ("timestep 1.0", "timestep 1.0 # fs", "fix 2 all dt/reset 10 1.0e-5 0.01 0.1"):
        with raises(tj.FormatError):
            read(tmp_path, LAMMPS.replace("run 20", f"{other}\nrun 20"))
    with raises(ValueError):
        read(tmp_path, LAMMPS, md_step=1)


def test_summaries_of_amber_are_no_steps(tmp_path: Path) -> None:
    """Means and fluctuations are left out; regions have columns of their own."""
    means = block(500, -1, 1, "A V E R A G E S   O V E R     2 S T E P S")
    spread = block(500, -2, None, "R M S  F L U C T U A T I O N S")
    text = AMBER[: AMBER.index(" NSTEP")] + "".join(
        block(step, energy, region)
        for step, energy in ((0, -5.0), (500, -6.0))
        for region in (1, 2)
    )
    found = read(tmp_path, text + means + spread + spread)
    assert found.times.tolist() == [0, 1]
    assert found["Etot"].values.tolist() == found["Etot region 2"].values.tolist() == [-5, -6]


def test_tables_of_trajet_and_pandas_are_read(tmp_path: Path, adk: Any) -> None:
    """Files that were saved are read again with all digits."""
    trajectory = tj.open(adk.psf, adk.xtc)
    result = tj.gyration(trajectory.select("protein"))
    result.save(tmp_path / "rg.csv")
    result.to_dataframe().to_csv(tmp_path / "pandas.csv")
    for name in ("rg.csv", "pandas.csv"):
        found = tj.read_series(tmp_path / name)
        assert found.columns == ("rg",)
        assert found.units == "Å"
        assert np.array_equal(found.values[:, 0], result.values)
        joined = found.at(trajectory)
        assert np.array_equal(joined.times, result.times)
        assert not np.isnan(joined.values).any()
    series = read(tmp_path, XVG, "a.xvg")
    series.save(tmp_path / "again.csv")
    again = tj.read_series(tmp_path / "again.csv")
    assert np.array_equal(again.values, series.values)
    frame = pd.DataFrame({"Time [ns]": [0.1, 0.2], "x": [1.5, 2.5]})
    frame.to_csv(tmp_path / "semi.csv", sep=";", index=False)
    assert tj.read_series(tmp_path / "semi.csv").times.tolist() == [100, 200]


def test_later_headers_of_a_table_have_its_columns(tmp_path: Path) -> None:
    """OpenMM writes one for each run: rows below another one are never numbers of the first."""
    path, header = tmp_path / "log.csv", '#"Step","Time (ps)","E (kJ/mole)"\n'
    path.write_text(f"{header}1,1,-5\n# a, comment\n{header}2,2,-6\n")
    assert tj.read_series(path)["E"].values.tolist() == [-5, -6]
    for other in ('"Step","Time (ps)","T (K)"', '"Time (ps)","Step","E (kJ/mole)"'):
        path.write_text(f"{header}1,1,-5\n#{other}\n2,2,300\n")
        with raises(tj.FormatError):
            tj.read_series(path)


def test_graphs_in_one_file_are_of_the_same_quantities(tmp_path: Path) -> None:
    """Parts of a run may follow each other; sets of another graph never have its names."""
    later = XVG.replace("\n0.00", "\n0.01").replace('"A"', '"B"')
    assert read(tmp_path, XVG + later, "a.xvg").values.shape == (6, 2)
    for one, other in (("LJ (SR)", "Coul"), ("E (kJ/mol)", "T (K)"), ("Time (ns)", "Time (ps)")):
        with raises(tj.FormatError):
            read(tmp_path, XVG + later.replace(one, other), "a.xvg")


def test_columns_of_one_name_have_units_of_their_own(tmp_path: Path) -> None:
    """The same quantity may be there in two units, and sets of a graph may share a legend."""
    path = tmp_path / "E.csv"
    path.write_text("time (ps),E (kJ/mol),E (kcal/mol)\n0,4.184,1\n1,8.368,2\n")
    found = tj.read_series(path)
    assert [found[name].units for name in ("E", "E (2)")] == ["kJ/mol", "kcal/mol"]
    graph = read(tmp_path, XVG.replace("\\xD\\f{}H", "LJ (SR)"), "a.xvg")
    assert graph.columns == ("LJ (SR)", "LJ (SR) (2)")
    assert graph.units == "kJ/mol"
    path.write_text("time (ps),time (ns)\n0,1\n1,2\n")
    assert tj.read_series(path, time_column="time (ns)").times.tolist() == [1000, 2000]
    with raises(tj.FormatError):
        tj.read_series(path)


def test_example_divides_frames_by_energy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two frames of four are below the median."""
    files = (datafiles.AUX_EDR_TPR, datafiles.AUX_EDR_XTC, datafiles.AUX_EDR)
    monkeypatch.setattr("sys.argv", ["energies_by_time.py", *files])
    runpy.run_path(str(ROOT / "examples" / "energies_by_time.py"))
    assert capsys.readouterr().out.count("2 of 4 frames") == 2


@pytest.mark.parametrize("name", TEXTS)
def test_cut_text_is_never_another_series(name: str, tmp_path: Path) -> None:
    """Cut at any byte, it is an error, has a warning, or ends between two rows."""
    text, options = TEXTS[name]
    whole = read(tmp_path, text, name, **options)
    path = tmp_path / name
    for size in range(0, len(text), 1 if len(text) < 700 else 7):
        path.write_text(text[:size])
        try:
            found = tj.read_series(path, **{"format": _format(name), **options})
        except tj.FormatError as error:
            assert str(path) in str(error)
            continue
        n = len(found)
        assert np.array_equal(found.times, whole.times[:n])
        for column in found.axes[1]["name"]:
            # The last row of a run is repeated by the next one, after other seconds.
            if column != "CPU":
                np.testing.assert_allclose(
                    found[str(column)].values, whole[str(column)].values[:n], rtol=1e-12
                )
        is_between = text[size - 1] == "\n" or not text[:size].rpartition("\n")[2].strip()
        assert is_between or Code.MAY_BE_CUT in codes(found)


def _format(name: str) -> str:
    """Return the format of one of the texts, the heads of which may be cut."""
    known = {"COLVAR": "plumed", "a.xvg": "xvg", "a.csv": "csv", "namd.log": "namd"}
    return known.get(name, "amber" if name == "mdout" else "lammps")


def test_later_rows_count_after_a_restart(tmp_path: Path) -> None:
    """As a simulation that is continued from a checkpoint repeats some times."""
    head = "#! FIELDS time x\n"
    text = f"{head}0 0\n1 1\n2 2\n3 3\n{head}2 20\n3 30\n4 40\n5 50\n6 60\n7 7\n{head}6.5 65\n"
    found = read(tmp_path, text, time_unit="ps")
    assert found.times.tolist() == [0, 1, 2, 3, 4, 5, 6, 6.5]
    assert found["x"].values.tolist() == [0, 1, 20, 30, 40, 50, 60, 65]
    assert codes(found) == {Code.REPEATED_TIMES}
    more = read(tmp_path, text + "#! FIELDS time x y\n8 80 81\n", time_unit="ps")
    assert codes(more) == {Code.REPEATED_TIMES, Code.NOT_READ}
    assert np.isnan(more["y"].values).tolist() == [True] * 8 + [False]
    with raises(tj.FormatError):
        read(tmp_path, head + "".join(f"{9 - k} 1\n" for k in range(9)), time_unit="ps")


@settings(deadline=None, max_examples=examples(50))
@given(times=st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_kept_rows_are_those_before_which_no_later_row_is(
    times: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The naive twin compares each row with all later ones."""
    folder = tmp_path_factory.getbasetemp()
    text = "#! FIELDS time x\n" + "".join(f"{t} {k}\n" for k, t in enumerate(times))
    kept = [k for k, t in enumerate(times) if all(t < later for later in times[k + 1 :])]
    try:
        found = read(folder, text, time_unit="ps")
    except tj.FormatError:
        assert sum(a >= b for a, b in pairwise(times)) * 2 >= len(times)
    else:
        assert found["x"].values.tolist() == kept


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("3.0 1", 6),
        ("3.0 1 2 3", 6),
        ("3.0-1.5 2", 6),
        ("3.0 1.5.2 2", "1.5.2"),
        ("3.0 1_0 2", "1_0"),
        ("nan 1 2", "time"),
        ("3.0 1\0 2", 6),
    ],
)
def test_damaged_rows_are_errors_with_their_line(line: str, value: object, tmp_path: Path) -> None:
    """In the first rows of many, and in the last."""
    for more in ("", "".join(f"{k}.5 1 2\n" for k in range(3, 5000))):
        with raises(tj.FormatError, f"{tmp_path / 'COLVAR'}:6", value):
            read(tmp_path, f"{COLVAR}{line}\n{more}", time_unit="ps")


def test_rows_of_tables_that_lack_cells_are_errors(tmp_path: Path) -> None:
    """Numbers of rows, which are left out, never stand for a missing time."""
    path = tmp_path / "rg.csv"
    for header in (",time (ps),rg", "frame,time_ps,rg_A"):
        for row in ("25,6", "1,2,6,7", "1 2,6"):
            path.write_text(f"{header}\n0,10,5\n{row}\n3,30,7\n")
            with raises(tj.FormatError, f"{path}:3"):
                tj.read_series(path)
        path.write_text(f"{header}\n0,10,5,\n1,20,\n")
        np.testing.assert_array_equal(tj.read_series(path).values[:, 0], [5, np.nan])


def test_what_a_file_does_not_state_is_asked_for(tmp_path: Path) -> None:
    """An error names the option; what contradicts the file is one, too."""
    with raises(tj.FormatError):
        read(tmp_path, COLVAR)
    assert read(tmp_path, COLVAR, time_unit="ns").times.tolist() == [0, 1000, 2000]
    with raises(ValueError):
        read(tmp_path, XVG, "a.xvg", time_unit="ps")
    with raises(ValueError):
        read(tmp_path, XVG, "a.xvg", md_step=1)
    with raises(ValueError):
        read(tmp_path, XVG, "a.xvg", time_unit="min")
    with raises(tj.FormatError):
        read(tmp_path, XVG.replace("Time (ns)", "Residue"), "a.xvg")
    with raises(tj.FormatError):
        read(tmp_path, "time,x\n", "a.csv")
    with raises(tj.FormatError):
        read(tmp_path, "1,2\n", "a.csv")
    with raises(tj.FormatError):
        read(tmp_path, "a (ps),x\n1,2\n", "a.csv")
    chosen = read(tmp_path, "a (ps),x\n1,2\n", "a.csv", time_column="a")
    assert chosen["x"].values.tolist() == [2]
    with raises(tj.FormatError):
        read(tmp_path, "hello\n")
    with raises(KeyError):
        chosen["y"]


def test_sets_of_a_graph_are_columns_at_the_same_times(tmp_path: Path) -> None:
    """Sets with other times are an error."""
    sets = XVG.replace('@ s1 legend "\\xD\\f{}H"', '@ s2 legend "c"')
    found = read(tmp_path, sets + "&\n0.001 7\n0.002 8\n0.003 9\n&\n", "a.xvg")
    assert found.columns == ("LJ (SR)", "set 1", "c")
    assert found["c"].values.tolist() == [7, 8, 9]
    with raises(tj.FormatError):
        read(tmp_path, sets + "&\n0.001 7\n0.002 8\n", "a.xvg")


def test_series_obeys_the_laws_of_results(tmp_path: Path) -> None:
    """It is a table like any other."""
    text = XVG.partition("0.001")[0] + "".join(f"{k / 1000} {k * k} {-k}\n" for k in range(9))
    series = read(tmp_path, text, "a.xvg")
    assert_result_laws(series, tmp_path)
    assert series["LJ (SR)"].statistics().mean == 204 / 9


def made(times: Any, folder: Path, name: str = "made.xtc") -> tj.Trajectory:
    """Return a trajectory of one atom at these times, ps."""
    positions = np.zeros((len(times), 1, 3), np.float32)
    tj.write(folder / name, positions, times=np.array(times), force=True)
    return tj.open(None, folder / name)


def test_rows_are_joined_by_time_and_never_by_number(tmp_path: Path) -> None:
    """Within the rounding of both files; frames without a row have NaN."""
    # Single precision of XTC files, and six digits of the series.
    times = [0.1 * k for k in range(50, 100)]
    trajectory = made(times, tmp_path)
    rows = "".join(f"{t / 1000:.6f} {k}\n" for k, t in enumerate(times) if k not in (0, 7, 49))
    series = read(tmp_path, f'@ xaxis label "Time (ns)"\n{rows}', "a.xvg")
    with warns(tj.TrajetWarning):
        joined = series.at(trajectory)
    expected = [np.nan if k in (0, 7, 49) else k for k in range(50)]
    assert np.array_equal(joined.values[:, 0], expected, equal_nan=True)
    assert Code.NO_PARTNER in codes(joined)
    assert np.array_equal(joined.times, trajectory.times)
    near = series.at(trajectory, tolerance=0.11).values[:, 0]
    assert near[[0, 49]].tolist() == [1, 48]
    assert near[7] in (6, 8)
    for wrong in (-1, np.nan):
        with raises(ValueError):
            series.at(trajectory, tolerance=wrong)


@settings(deadline=None, max_examples=examples(50))
@given(
    rows=st.sets(st.integers(0, 40), min_size=1, max_size=20),
    frames=st.sets(st.integers(0, 40), min_size=1, max_size=20),
    tolerance=st.sampled_from([None, 0.0, 0.25, 1.0, 5.0]),
)
def test_joined_rows_are_the_nearest(
    rows: set[int],
    frames: set[int],
    tolerance: float | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The naive twin looks through all rows."""
    folder = tmp_path_factory.getbasetemp()
    own, of_frames = sorted(rows), [k / 2 for k in sorted(frames)]
    text = "#! FIELDS time x\n" + "".join(f"{k / 4:.2f} {k}\n" for k in own)
    found = read(folder, text, time_unit="ps").at(made(of_frames, folder), tolerance=tolerance)
    for time, value in zip(of_frames, found["x"].values, strict=True):
        distance = min(abs(k / 4 - time) for k in own)
        if distance > (tolerance or 0):
            assert np.isnan(value)
        else:
            assert abs(value / 4 - time) == distance


def test_masks_choose_frames_of_their_trajectory_only(tmp_path: Path) -> None:
    """In reading, copies, analyses and runs."""
    trajectory = made(range(6), tmp_path)
    text = "#! FIELDS time x y\n" + "".join(f"{k} {k} {-k}\n" for k in range(6) if k != 4)
    series = read(tmp_path, text, time_unit="ps")
    joined = series.at(trajectory)
    mask = (joined["x"] > 1) & (joined["y"] >= -3)
    assert trajectory.read(frames=mask).frames.tolist() == [2, 3]
    # A frame without a number is in no mask.
    assert trajectory.read(frames=~mask).frames.tolist() == [0, 1, 5]
    assert trajectory.read(frames=mask | (joined["x"] < 1)).frames.tolist() == [0, 2, 3]
    tj.convert(trajectory, tmp_path / "some.xtc", frames=joined["x"] <= 1)
    assert tj.open(None, tmp_path / "some.xtc").times.tolist() == [0, 1]
    moved = tj.gyration(trajectory, weights="equal", frames=mask)
    assert moved.frames.tolist() == [2, 3]
    (again,) = tj.run([tj.gyration.job(trajectory, weights="equal")], frames=mask)
    assert again.frames.tolist() == [2, 3]
    for other, wrong in (
        (trajectory, series["x"] > 1),
        (made([0, 1, 2, 3, 4, 5.5], tmp_path, "b.xtc"), mask),
        (made(range(5), tmp_path, "c.xtc"), mask),
    ):
        with raises(tj.FrameError):
            other.read(frames=wrong)
    with raises(ValueError):
        assert 1 < joined["x"] < 2
    with raises(ValueError):
        mask & (joined[2:]["x"] > 1)
    for wrong_condition in (joined["x"] == 1, joined["x"] != 1):
        with raises(TypeError):
            trajectory.read(frames=wrong_condition)
    with raises(TypeError):
        _ = mask & np.ones(6, bool)
    with raises(TypeError):
        _ = joined > 1
    with raises(TypeError):
        np.asarray(mask)


def test_files_without_times_are_not_joined(tmp_path: Path) -> None:
    """Frame numbers are no times."""
    (tmp_path / "a.xyz").write_text("1\n\nC 0 0 0\n" * 3)
    series = read(tmp_path, COLVAR, time_unit="ps")
    with raises(ValueError):
        series.at(tj.open(tmp_path / "a.xyz"))
    joined = series.at(tj.open(tmp_path / "a.xyz", time_step=1.0))
    assert joined["d"].values.tolist() == [1, 3, 5]
