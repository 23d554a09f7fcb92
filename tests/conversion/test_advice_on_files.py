"""Advice of opening, copying and stores is executed: after it, the message is gone."""

from pathlib import Path

import numpy as np
import pytest
import trajet as tj
from helpers.advised_calls import (
    BEADS,
    GAP,
    PROFILE,
    Advice,
    beads,
    check_followed,
    cut,
    existing,
    flat,
    gro,
    store_of,
    trr,
    whole_store,
)
from helpers.commands import invoke as command

ADVICE: dict[str, Advice] = {
    "repeated times": Advice(
        lambda at: tj.open(None, trr(at, (0, 1, 2, 2, 3, 4))),
        "continuous=True drops",
        lambda at: tj.open(None, trr(at, (0, 1, 2, 2, 3, 4)), continuous=True),
    ),
    "repeated times of two files": Advice(
        lambda at: tj.open(None, trr(at), trr(at, range(4, 9), name="more.trr")),
        "continuous=True drops",
        lambda at: tj.open(None, trr(at), trr(at, range(4, 9), name="more.trr"), continuous=True),
    ),
    "file that ends inside a frame": Advice(
        lambda at: tj.open(None, cut(at)).read(),
        "with allow_truncated_tail=True",
        lambda at: tj.open(None, cut(at), allow_truncated_tail=True).read(),
    ),
    "file that ends inside a frame, by the command": Advice(
        lambda at: command("info", cut(at)),
        "--allow-truncated-tail",
        lambda at: command("info", cut(at), "--allow-truncated-tail"),
    ),
    "no topology": Advice(
        lambda at: tj.open(trr(at)), "give None for no topology", lambda at: tj.open(None, trr(at))
    ),
    "frames that are ambiguous": Advice(
        lambda at: flat(at).read(frames=(0, 5)),
        r"give slice\(0, 5\) for the range, or the list \[0, 5\]",
        lambda at: flat(at).read(frames=slice(0, 5)),
    ),
    "file that exists": Advice(
        lambda at: tj.convert(flat(at), existing(at)),
        "with force=True",
        lambda at: tj.convert(flat(at), existing(at), force=True),
    ),
    "file that exists, written from arrays": Advice(
        lambda at: tj.write(existing(at), np.zeros((2, 3, 3))),
        "with force=True",
        lambda at: tj.write(existing(at), np.zeros((2, 3, 3)), force=True),
    ),
    "file that exists, by the command": Advice(
        lambda at: command("convert", trr(at), existing(at)),
        "--force",
        lambda at: command("convert", trr(at), existing(at), "--force"),
    ),
    "structure that exists": Advice(
        lambda at: beads(at).select("all")[0].save(gro(at, BEADS, "there.gro")),
        r"force=True",
        lambda at: beads(at).select("all")[0].save(gro(at, BEADS, "there.gro"), force=True),
    ),
    "what a format cannot hold": Advice(
        lambda at: tj.convert(flat(at, times=GAP), at / "out.dcd"),
        "with allow_loss=True",
        lambda at: tj.convert(flat(at, times=GAP), at / "out.dcd", allow_loss=True),
    ),
    "what a format cannot hold, by the command": Advice(
        lambda at: command("convert", trr(at, GAP), at / "out.dcd"),
        "--allow-loss",
        lambda at: command("convert", trr(at, GAP), at / "out.dcd", "--allow-loss"),
    ),
    "selection without a topology": Advice(
        lambda at: command("convert", trr(at), at / "o.xtc", "--select", "name CA"),
        "give --topology",
        lambda at: command(
            "convert", trr(at), at / "o.xtc", "--select", "name CA", "--topology", gro(at, BEADS)
        ),
    ),
    "atoms of a store in no tag": Advice(
        lambda at: store_of(at, PROFILE),
        'add a tag with select = "rest"',
        lambda at: store_of(
            at, PROFILE + '[[tags]]\nname = "rest"\nselect = "rest"\ntier = "only"\n'
        ),
    ),
    "atoms of a store in two tags": Advice(
        lambda at: store_of(
            at,
            PROFILE
            + '[[tags]]\nname = "more"\nselect = "index 1:3"\ntier = "only"\n'
            + '[[tags]]\nname = "rest"\nselect = "rest"\ntier = "only"\n',
        ),
        r"add 'and not \(…\)' to one of them",
        lambda at: store_of(
            at,
            PROFILE
            + '[[tags]]\nname = "more"\nselect = "index 1:3 and not (index 0:2)"\ntier = "only"\n'
            + '[[tags]]\nname = "rest"\nselect = "rest"\ntier = "only"\n',
        ),
    ),
    "tag of a store without atoms": Advice(
        lambda at: store_of(
            at,
            PROFILE.replace("index 0:2", "name ZZ") + '[[tags]]\nname = "rest"\n'
            'select = "rest"\ntier = "only"\n',
        ),
        "write optional = true",
        lambda at: store_of(
            at,
            PROFILE.replace('"index 0:2"', '"name ZZ"\noptional = true')
            + '[[tags]]\nname = "rest"\nselect = "rest"\ntier = "only"\n',
        ),
    ),
    "data set that is to be removed": Advice(
        lambda at: command("store", "remove", whole_store(at) / "run"),
        "give --yes to remove it",
        lambda at: command("store", "remove", whole_store(at) / "run", "--yes"),
    ),
    "options of opening for a data set": Advice(
        lambda at: tj.open(whole_store(at) / "run", continuous=True),
        "leave continuous=, .* out",
        lambda at: tj.open(whole_store(at) / "run"),
    ),
    "steps that go back in H5MD": Advice(
        lambda at: tj.convert(flat(at), at / "back.h5md", frames=[3, 1]),
        "choose frames in ascending order",
        lambda at: tj.convert(flat(at), at / "back.h5md", frames=[1, 3]),
    ),
    "times that are no numbers": Advice(
        lambda at: tj.write(at / "x.xtc", np.zeros((2, 3, 3)), times=[0, np.nan]),
        r"give times in ps with times=",
        lambda at: tj.write(at / "x.xtc", np.zeros((2, 3, 3)), times=[0, 1]),
    ),
    "positions before the path": Advice(
        lambda at: tj.write(np.zeros((2, 3, 3)), at / "x.xtc"),  # type: ignore[arg-type]
        "give the path first, then the positions",
        lambda at: tj.write(at / "x.xtc", np.zeros((2, 3, 3))),
    ),
    "name of a data set that is there": Advice(
        lambda at: tj.Store(whole_store(at)).add("run", beads(at), profile=at / "profile.toml"),
        "remove it first, or choose another name",
        lambda at: tj.Store(whole_store(at)).add("more", beads(at), profile=at / "profile.toml"),
    ),
    "data set without a topology": Advice(
        lambda at: tj.Store(whole_store(at)).add("more", flat(at).trajectory),
        r"give one to open\(\)",
        lambda at: tj.Store(whole_store(at)).add("more", beads(at), profile=at / "profile.toml"),
    ),
    "trajectory of some of the atoms": Advice(
        lambda at: tj.open(gro(at, [*BEADS, "OW"]), trr(at)).select("all"),
        r'tj\.open\(\.\.\., atoms="\.\.\."\)$',
        lambda at: tj.open(gro(at, [*BEADS, "OW"]), trr(at), atoms="not name OW").select("all"),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_message_is_gone_after_its_advice(name: str, tmp_path: Path) -> None:
    """The call with the advice returns, and its messages do not have the advice again."""
    check_followed(ADVICE[name], tmp_path)
