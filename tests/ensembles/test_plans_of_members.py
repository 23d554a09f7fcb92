"""`trajet run` with members: tables of all, means over replicas, failures and earlier results."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import trajet as tj
from helpers import messages
from helpers.commands import invoke, misuse, run, unwrapped
from helpers.golden_files import Adk
from helpers.made_ensembles import FRAMES, made_replicas
from helpers.messages import raises
from trajet.result.member_outcome import key_columns

ANALYSES = """
[[analysis]]
command = "rmsf"
select = "name CA"
align = "same"
output = "rmsf.csv"

[[analysis]]
command = "gyration"
select = "protein"
output = "rg.csv"
plot = "rg.png"
"""
MEMBERS = """
threads = 1
step = 2

[[members]]
system = "wt"
topology = "wt/top.psf"
trajectory = "wt/rep{replica}/traj.xtc"

[[members]]
system = "mut"
topology = "{system}/top.psf"
trajectory = "mut/rep{replica}/traj.xtc"
"""


@pytest.fixture
def plan(adk: Adk, tmp_path: Path) -> Path:
    """Return a plan with three replicas of one system and two of another."""
    made_replicas(adk, tmp_path, {"wt": 3, "mut": 2})
    path = tmp_path / "plan.toml"
    path.write_text(MEMBERS + ANALYSES)
    return path


def members_of(plan: Path) -> tj.Ensemble:
    """Return the members of the plan."""
    pattern = plan.parent / "{system}/rep{replica}/traj.xtc"
    return tj.ensemble(str(pattern), topology=plan.parent / "{system}/top.psf")


def test_tables_have_keys_and_means_have_intervals(plan: Path) -> None:
    """The numbers are those of Python; the terminal shows a line for each system."""
    done = invoke("run", plan)
    assert done.exit_code == 0, done.output
    folder, ensemble = plan.parent, members_of(plan)
    (result,) = tj.run([tj.gyration.job(ensemble.select("protein"))], frames=slice(None, None, 2))
    key = ["system", "replica", "frame"]
    read = pd.read_csv(folder / "rg.csv").sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(read, result.to_dataframe().sort_values(key, ignore_index=True))
    means = pd.read_csv(folder / "rg.summary.csv").sort_values("system", ignore_index=True)
    expected = result.mean().to_dataframe().sort_values("system", ignore_index=True)
    pd.testing.assert_frame_equal(means, expected, check_dtype=False)
    assert len(pd.read_csv(folder / "rmsf.summary.csv")) == 2 * 214
    assert (folder / "rg.png").stat().st_size > 1000
    assert "rmsf of 5 members: mean and 95 % interval" in done.output
    assert "system=wt" in done.output


def test_plans_compare_two_groups(plan: Path) -> None:
    """With a table, a figure and a sentence, whose numbers are those of Python."""
    plan.write_text('difference = ["wt", "mut"]\n' + MEMBERS + ANALYSES)
    done = invoke("run", plan)
    assert done.exit_code == 0, done.output
    folder, ensemble = plan.parent, members_of(plan)
    rmsf, rg = tj.run(
        [
            tj.rmsf.job(ensemble.select("name CA"), align="same"),
            tj.gyration.job(ensemble.select("protein")),
        ],
        frames=slice(None, None, 2),
    )
    for result, name in ((rmsf, "rmsf"), (rg, "rg")):
        read = pd.read_csv(folder / f"{name}.difference.csv")
        expected = result.difference("wt", "mut").to_dataframe()
        pd.testing.assert_frame_equal(read, expected, check_dtype=False)
    assert (folder / "rg.difference.png").stat().st_size > 1000
    assert not (folder / "rmsf.difference.png").exists()
    for sentence in (
        *rg.difference("wt", "mut").sentences(),
        *rmsf.difference("wt", "mut").sentences(),
        *rmsf.mean().over().difference("wt", "mut").sentences(),
    ):
        assert sentence in done.output
    row = next(line for line in done.output.splitlines() if "mean of 214 rows" in line)
    over = rmsf.mean("system").over()["wt"]
    assert f"{over.mean[0]:.4g}" in row
    assert f"{over.half_width[0]:.2g}" in row
    first, _ = json.loads(invoke("run", plan, "--json").stdout)
    assert first["difference"][3]["p_adjusted"] == rmsf.difference("wt", "mut").p_adjusted[3]
    assert first["means"][0].keys() >= {"standard_error", "within"}


def test_keys_with_names_of_columns_are_renamed_in_json_as_in_tables(plan: Path) -> None:
    """Keys are `member_resid` and `member_error`, which tell rows and failures apart."""
    cut = plan.parent / "wt/rep2/traj.xtc"
    cut.write_bytes(cut.read_bytes()[:-9])
    members = MEMBERS.replace("system", "error").replace("{replica}", "{resid}")
    plan.write_text(members + ANALYSES)
    rmsf, rg = json.loads(invoke("run", plan, "--json", "--keep-going").stdout)
    keys = [(row["error"], row["member_resid"], row["resid"]) for row in rmsf["means"]]
    assert len(set(keys)) == len(keys) == 4 * 214
    assert {keys[k][:2] for k in range(len(keys))} == {("wt", 1), ("wt", 3), ("mut", 1), ("mut", 2)}
    assert {(row["error"], row["resid"]) for row in rg["means"]} == {row[:2] for row in keys}
    table = pd.read_csv(plan.parent / "rmsf.summary.csv")
    assert set(table) == set(rmsf["means"][0])
    (failure,) = rg["failures"]
    assert failure["member_error"] == "wt"
    assert str(cut) in failure["error"]


@pytest.mark.parametrize(
    ("keys", "others", "names"),
    [
        (("a", "b"), ("c",), ["a", "b"]),
        (("a", "b"), ("a",), ["member_a", "b"]),
        (("a", "member_a"), ("a",), ["member_member_a", "member_a"]),
        (("member_a", "a"), ("a", "member_a"), ["member_member_a", "member_member_member_a"]),
    ],
)
def test_columns_of_keys_differ(
    keys: tuple[str, ...], others: tuple[str, ...], names: list[str]
) -> None:
    """From one another, too."""
    assert key_columns(keys, others) == names


@pytest.mark.parametrize("value", ['["wt"]', '["wt", "wt"]', '["wt", "none"]', '["1", "2"]'])
def test_groups_that_are_not_there_are_an_error_before_the_run(plan: Path, value: str) -> None:
    """No file is written; replicas are no groups."""
    plan.write_text(f"difference = {value}\n" + MEMBERS + ANALYSES)
    misuse("run", plan)
    assert not (plan.parent / "rg.csv").exists()


def test_a_truncated_member_is_one_line_and_exit_code_1(plan: Path) -> None:
    """The others are complete with --keep-going; without it nothing is written."""
    cut = plan.parent / "wt/rep2/traj.xtc"
    cut.write_bytes(cut.read_bytes()[:-9])
    stopped = invoke("run", plan)
    assert stopped.exit_code == 1
    assert not (plan.parent / "rg.csv").exists()
    done = invoke("run", plan, "--keep-going")
    assert done.exit_code == 1
    messages.compare(done.stderr)
    read = pd.read_csv(plan.parent / "rg.csv")
    assert len(read) == 4 * FRAMES // 2
    assert "5 members, 1 failed" in done.output


def test_earlier_results_are_used_again(plan: Path) -> None:
    """`--resume` says what was used again; threads do not matter."""
    kept = plan.parent / "kept"
    assert invoke("run", plan, "--resume", kept).exit_code == 0
    first = (plan.parent / "rmsf.csv").read_bytes()
    plan.write_text(plan.read_text().replace("threads = 1", "threads = 2"))
    done = invoke("run", plan, "--resume", kept)
    assert "note: 5 of 5 results were computed before and used again" in done.output
    assert (plan.parent / "rmsf.csv").read_bytes() == first


def test_members_and_files_of_the_command_line(plan: Path, adk: Adk, tmp_path: Path) -> None:
    """A table, a pattern or files replace those of the plan."""
    table = tmp_path / "members.csv"
    table.write_text("run,topology,trajectory\na,wt/top.psf,wt/rep1/traj.xtc\n")
    done = invoke("run", plan, "--members", table, "--json")
    assert done.exit_code == 0, done.output
    rmsf, _ = json.loads(done.stdout)
    assert rmsf["members"] == 1
    assert rmsf["means"][0]["low"] is None
    assert any("one replica" in note["text"] for note in rmsf["notes"])
    pattern = tmp_path / "wt/rep{replica}/traj.xtc"
    done = invoke("run", plan, "--topology", adk.psf, "--trajectory", pattern)
    assert "rmsf of 3 members" in done.output
    one = tmp_path / "wt/rep1/traj.xtc"
    done = invoke("run", plan, "--topology", adk.psf, "--trajectory", one)
    assert done.exit_code == 0, done.output
    assert "members" not in done.output


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('members = 5\ntopology = "a.psf"\n', ()),
        ('members = "none.csv"\n', ()),
        ('members = "m.csv"\ntrajectory = "a.xtc"\n', ()),
        ('topology = "a.psf"\ntrajectory = "a.xtc"\n', ("--resume", "kept")),
        (MEMBERS, ("--verify",)),
    ],
)
def test_bad_plans_are_errors(plan: Path, text: str, options: tuple[str, ...]) -> None:
    """The message says what is wrong."""
    plan.write_text(text + ANALYSES)
    done = run("run", plan, *options)
    assert done.returncode in (1, 2)
    messages.compare(done.stderr)


def test_outputs_of_members_are_tables(plan: Path) -> None:
    """Other files are of one trajectory."""
    for line in ('output = "rmsf.npz"', 'report = "rmsf.json"'):
        plan.write_text(MEMBERS + ANALYSES.replace('output = "rmsf.csv"', line))
        misuse("run", plan)


def test_files_that_look_like_replicas_are_a_question(plan: Path) -> None:
    """Times that overlap; parts that follow one another, or repeat some frames, are chained."""
    folder = plan.parent
    for name in ("rep1", "rep2"):
        shutil.copy(folder / f"wt/{name}/traj.xtc", folder / f"wt_{name}.xtc")
    source = tj.open(None, folder / "wt_rep1.xtc")
    tj.convert(source, folder / "again.xtc", frames=slice(1, None))
    tj.convert(source, folder / "early.xtc", frames=slice(0, 8))
    tj.convert(source, folder / "late.xtc", frames=slice(6, None))
    for files, further, code in (
        ('["wt_rep1.xtc", "again.xtc"]', "", 1),
        ('["wt_rep1.xtc", "again.xtc"]', "chain = true", 0),
        ('["wt_rep1.xtc", "again.xtc"]', "continuous = true", 0),
        ('["early.xtc", "late.xtc"]', "", 0),
        ('["late.xtc", "early.xtc"]', "", 0),
        ('"wt_rep1.xtc"', "", 0),
    ):
        text = f'topology = "wt/top.psf"\ntrajectory = {files}\n{further}\n'
        plan.write_text(text + ANALYSES)
        done = invoke("run", plan)
        assert done.exit_code == code, done.output
        if code:
            messages.compare(done.stderr)


def test_replicas_that_are_chained_have_a_message_with_the_way_out(plan: Path) -> None:
    """In Python and by single commands; parts that repeat a few frames have none."""
    folder = plan.parent
    paths = [folder / f"wt/rep{k}/traj.xtc" for k in (1, 1)]
    way = "if the 2 files are replicas, analyse them as members of an ensemble: tj.ensemble("
    chained = tj.open(folder / "wt/top.psf", *paths)
    (message,) = chained.messages
    assert message.startswith("times overlap or step back at 1 of 1 file boundaries")
    assert way in message
    assert tj.gyration(chained.select("name CA")).messages == [message]
    done = invoke("gyration", folder / "wt/top.psf", *paths, "--select", "name CA")
    assert done.exit_code == 0, done.output
    assert way in " ".join(unwrapped(done.output))
    source = tj.open(None, paths[0])
    for name, frames in (("early", slice(0, 8)), ("late", slice(6, None))):
        tj.convert(source, folder / f"{name}.xtc", frames=frames)
    (message,) = tj.open(None, folder / "early.xtc", folder / "late.xtc").messages
    assert way not in message
    assert tj.open(None, folder / "early.xtc").messages == ()


def test_files_of_a_member_may_not_be_replicas(plan: Path) -> None:
    """The same question, for members; `chain` answers it."""
    files = [plan.parent / f"wt/rep{k}/traj.xtc" for k in (1, 1)]
    rows = [{"run": "a", "topology": plan.parent / "wt/top.psf", "trajectory": files}]
    with raises(tj.FormatError):
        tj.ensemble(rows)[0].open()
    assert len(tj.ensemble(rows, chain=True)[0].open()) == 2 * FRAMES
