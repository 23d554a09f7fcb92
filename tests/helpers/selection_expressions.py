"""Random selections in the language of MDAnalysis, for comparisons with it.

An expression is a tree that is written down with as few parentheses as its meaning needs, and some
more. Where MDAnalysis misreads a spelling, it gets another one of the same meaning.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

GROUPS = ("some", "few", "and", "protein")
TEXTS = {
    "name": "names",
    "type": "types",
    "element": "elements",
    "record_type": "record_types",
    "chainID": "chainIDs",
    "chainid": "chainIDs",
    "altLoc": "altLocs",
    "altloc": "altLocs",
    "resname": "resnames",
    "icode": "icodes",
    "moltype": "moltypes",
    "segid": "segids",
}
INTEGERS = {
    "index": "indices",
    "bynum": "indices",
    "id": "ids",
    "resindex": "resindices",
    "segindex": "segindices",
    "resnum": "resids",
    "molnum": "molnums",
    "formalcharge": "formalcharges",
}
FLOATS = {
    "mass": "masses",
    "charge": "charges",
    "radius": "radii",
    "occupancy": "occupancies",
    "tempfactor": "tempfactors",
    "bfactor": "tempfactors",
}
_KINDS = "all protein backbone nucleic nucleicbackbone nucleicbase nucleicsugar water"
KINDS = _KINDS.split()
_SAME = (
    "residue segment fragment name type resname resid segid mass charge radius bfactor "
    "resnum index resindex segindex id element record_type chainID tempfactor "
    "formalcharge occupancy altLoc icode moltype molnum x y z"
)
SAME = _SAME.split()
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
OPERATORS = ("and", "or")
# Reach to the right as far as they can.
_GREEDY = "byres bonded same around sphzone sphlayer isolayer cyzone cylayer"
GREEDY = tuple(_GREEDY.split())
# Words that end a list of values: names that equal one cannot be typed.
_OTHERS = (
    "resid prop atom group global not point smarts aromatic aromaticity chirality "
    "gbscreen solventradius nbindex rmin epsilon rmin14 epsilon14 model"
)
KEYWORDS = frozenset([*KINDS, *TEXTS, *INTEGERS, *FLOATS, *GREEDY, *OPERATORS, *_OTHERS.split()])

Node = tuple  # (kind, *operands)
NODES = frozenset(["leaf", "point", "not", "global", *OPERATORS, *GREEDY])


@dataclass(frozen=True)
class Expression:
    """A random expression.

    Attributes
    ----------
    text
        What trajet gets.
    oracle
        What MDAnalysis gets; None if it does not see that `text` is wrong.
    tree
        Leaves are ("leaf", text for MDAnalysis); None where the text was damaged.
    """

    text: str
    oracle: str | None
    tree: Node | None


class Generator:
    """Random expressions on one system."""

    def __init__(self, columns: Mapping[str, Sequence], random_: random.Random) -> None:
        self.columns = columns
        self.random = random_

    def expression(self) -> Expression:
        """Return an expression; about one in six is damaged, and a few have known departures."""
        kind = self.random.random()
        if kind < 0.16:
            return self._damaged()
        if kind < 0.19:
            return Expression(self._refused(), None, None)
        tree = self._tree(self.random.choice((1, 2, 2, 3, 3, 4)), with_geometry=True)
        pieces = self._written(tree)
        self.spaces = [self._space() for _ in pieces]
        return Expression(self._text(pieces, 0), self._text(pieces, 1), _oracle_tree(tree))

    # Trees. Leaves are ("leaf", spelling), where a spelling is a list of words or of pairs
    # (word of trajet, word of MDAnalysis).

    def _tree(self, depth: int, with_geometry: bool) -> Node:  # noqa: PLR0911
        choice = self.random.random()
        if depth <= 1 or choice < 0.15:
            return self._leaf(with_geometry)

        def inner() -> Node:
            return self._tree(depth - 1, with_geometry)

        if choice < 0.55:
            return (self.random.choice(OPERATORS), inner(), inner())
        if choice < 0.66:
            return ("not", inner())
        if choice < 0.70:
            return ("global", inner())
        if choice < 0.77:
            return ("byres", inner())
        if choice < 0.80:
            return ("bonded", inner())
        if choice < 0.88 or not with_geometry:
            return ("same", self._property(with_geometry), inner())
        return self._region(inner())

    def _property(self, with_geometry: bool) -> str:
        columns = {**TEXTS, **INTEGERS, **FLOATS}
        names = [
            name
            for name in SAME
            if columns.get(name, "names") in self.columns and (with_geometry or name not in "xyz")
        ]
        return self.random.choice(SAME if self.random.random() < 0.03 else names)

    def _region(self, inner: Node) -> Node:
        kind = self.random.choice(
            ("around", "around", "sphzone", "sphlayer", "isolayer", "cyzone", "cylayer")
        )
        near, far = sorted((self._distance(), self._distance()))
        top, bottom = self._distance(), -self._distance()
        numbers = {
            "around": (far,),
            "sphzone": (far,),
            "sphlayer": (near, far),
            "isolayer": (near, far),
            "cyzone": (far, top, bottom),
            "cylayer": (near, far, top, bottom),
        }[kind]
        if self.random.random() < 0.1:
            numbers = numbers[::-1]
        return (kind, tuple(self._number(number) for number in numbers), inner)

    def _leaf(self, with_geometry: bool) -> Node:
        makers: list[Callable[[], list]] = [
            self._kind,
            self._texts,
            self._texts,
            self._integers,
            self._floats,
            self._residues,
            self._atom,
            self._group,
            self._prop,
        ]
        if with_geometry:
            if self.random.random() < 0.05:
                center = [self._number(x) for x in self._position()]
                return ("point", (*center, self._number(self._distance())))
            makers.append(self._coordinate)
        return ("leaf", self.random.choice(makers)())

    def _keyword(self, keywords: Mapping[str, str], *more: str) -> str:
        """Return a keyword, mostly of a column that the system has."""
        present = [keyword for keyword, column in keywords.items() if column in self.columns]
        if not present or self.random.random() < 0.04:
            return self.random.choice(list(keywords))
        return self.random.choice((*present, *more))

    def _kind(self) -> list:
        return [self.random.choice(KINDS)]

    def _group(self) -> list:
        return ["group", self.random.choice((*GROUPS, *GROUPS, *GROUPS, "none"))]

    def _texts(self) -> list:
        keyword = self._keyword(TEXTS, "name", "resname")
        count = self.random.choice((1, 1, 2, 3, 5))
        return [keyword, *(self._pattern(TEXTS[keyword]) for _ in range(count))]

    def _pattern(self, column: str) -> str:
        values = self.columns.get(column)
        word = "XYZ" if values is None else str(self.random.choice(values))
        if self.random.random() < 0.1:
            word = self.random.choice(
                ("to", "as", "x", "CA", "C*", "[", "]", "[!]", "*", "?", "abs", "HOH", "é")
            )
        elif self.random.random() < 0.35:
            letters = list(word)
            for at in range(len(letters)):
                if self.random.random() < 0.4:
                    letter = letters[at]
                    sets = (
                        f"[{letter}]",
                        f"[!{letter}]",
                        "[A-M]",
                        "[!0-9]",
                        f"[{letter}XY]",
                        f"[]{letter}]",
                    )
                    letters[at] = self.random.choice(("?", "*", *sets))
            word = "".join(letters) + self.random.choice(("", "", "*", "?"))
        word = re.sub(r"[\s()]", "", word)
        return "*" if not word or word in KEYWORDS else word

    def _integers(self) -> list:
        keyword = self._keyword(INTEGERS)
        values = self.columns.get(INTEGERS[keyword], [0, 1, 5])
        spelled: list = [keyword]
        for _ in range(self.random.choice((1, 1, 2, 4))):
            first = int(self.random.choice(values)) + self.random.choice((0, 0, 1, -1, -50))
            if self.random.random() < 0.5:
                spelled.append(self.random.choice((str(first), str(first), f"{first:+d}")))
            else:
                last = first + self.random.choice((0, 1, 5, 100, -1, 2000))
                spelled += self._range(str(first), str(last))
        return spelled

    def _residues(self) -> list:
        spelled: list = ["resid"]
        for _ in range(self.random.choice((1, 1, 2, 4))):
            first, last = self._residue(), self._residue()
            if self.random.random() < 0.4:
                spelled.append(first)
                continue
            words = self._range(first, last)
            has_codes = self.columns.get("icodes") is not None
            if has_codes and _number_of(first) > _number_of(last):
                # MDAnalysis takes the ends of the range where there are insertion codes.
                words = [(word, "") for word in words]
                words[0] = (words[0][0], "99999:99998")
            spelled += words
        return spelled

    def _residue(self) -> str:
        row = self.random.randrange(len(self.columns["resids"]))
        number = int(self.columns["resids"][row]) + self.random.choice((0, 0, 0, 1, -3))
        codes = self.columns.get("icodes")
        if codes is None or self.random.random() < 0.4:
            return str(number) if self.random.random() < 0.98 else f"{number}A"
        return f"{number}{codes[row] if self.random.random() < 0.8 else 'A'}"

    def _range(self, first: str, last: str) -> list:
        """Return a range in any of its spellings, some of which have spaces."""
        mark = self.random.choice(":-")
        return self.random.choice(
            [
                [first + mark + last],
                [first + mark, last],
                [first, ":" + last],
                [first, mark, last],
                [first, "to", last],
            ]
        )

    def _floats(self) -> list:
        keyword = self._keyword(FLOATS)
        spelled: list = [keyword]
        for _ in range(self.random.choice((1, 1, 2))):
            first = self._float(FLOATS[keyword])
            if self.random.random() < 0.5:
                spelled.append(self._spelled_float(first))
                continue
            last = first + abs(self._float(FLOATS[keyword])) * self.random.choice(
                (0, 0.5, 1, 3, -0.5)
            )
            exponent = self.random.choice(("{!r}", "{:.3f}", "{:e}", "{:E}"))
            ends = [exponent.format(end) for end in (first, last)]
            spelled += [(word, word.replace("E", "e")) for word in self._range(*ends)]
        return spelled

    def _float(self, column: str) -> float:
        values = self.columns.get(column)
        value = 1.0 if values is None else float(self.random.choice(values))
        # At, within and beyond the tolerance of `isclose`.
        shift = self.random.choice((0, 0, 5e-6, 0.99e-5, 1.02e-5, -0.99e-5, -1.02e-5, 1e-3, 0.1))
        return value * (1 + shift)

    def _spelled_float(self, number: float) -> str:
        return self.random.choice(("{!r}", "{:.2f}", "{:.3f}", "{:e}", "{:E}", "{:+}")).format(
            number
        )

    def _atom(self) -> list:
        row = self.random.randrange(len(self.columns["atom_names"]))
        segment = str(self.columns["atom_segids"][row])
        name = str(self.columns["atom_names"][row])
        residue = int(self.columns["atom_resids"][row])
        if self.random.random() < 0.2:
            segment, name = self.random.choice(
                ((segment, "and"), ("all", name), ("FOO", name), (segment, "C*"))
            )
        words = [re.sub(r"[\s()]", "", word) or "X" for word in (segment, name)]
        return ["atom", words[0], str(residue), words[1]]

    def _prop(self) -> list:
        name = self._keyword(
            {**INTEGERS, **FLOATS, "resid": "resids"}, "mass", "mass", "index", "resid"
        )
        name = {"bynum": "index", "bfactor": "tempfactor"}.get(name, name)
        if name in FLOATS:
            value = self._spelled_float(self._float(FLOATS[name]))
        else:
            values = self.columns.get(INTEGERS.get(name, "resids"), [0, 1])
            value = str(int(self.random.choice(values)) + self.random.choice((0, 0, 1)))
        return self._comparison(name, value)

    def _coordinate(self) -> list:
        axis = self.random.randrange(3)
        coordinate = float(np.float32(self._position()[axis]))
        value = self.random.choice(("{!r}", "{:.2f}", "{:.1f}")).format(coordinate)
        return self._comparison("xyz"[axis], value)

    def _comparison(self, name: str, value: str) -> list:
        relation = self.random.choice(list(MIRRORED))
        words = ["prop", *(["abs"] if self.random.random() < 0.25 else [])]
        left, right = name, value
        plain = [*words, name, relation, value]
        if self.random.random() < 0.3:
            # MDAnalysis gets it the other way round: see the departures of the module `select`.
            left, right = value, name
            plain = [*words, name, MIRRORED[relation], value]
        spelled = self.random.choice(
            [
                [left + relation + right],
                [left + relation, right],
                [left, relation + right],
                [left, relation, right],
            ]
        )
        return [
            *zip([*words, *spelled], [*words, " ".join(plain[len(words) :]), "", ""], strict=False)
        ]

    def _position(self) -> Sequence[float]:
        return self.random.choice(self.columns["positions"])

    def _distance(self) -> float:
        return self.random.choice(
            (
                0.0,
                1.0,
                2.5,
                3.5,
                5.0,
                8.0,
                -1.0,
                self.random.uniform(0.5, 4),
                self.random.uniform(2, 12),
            )
        )

    def _number(self, number: float) -> str:
        return self.random.choice(("{:.4f}", "{:.1f}", "{:g}", "{:e}")).format(number)

    # Words and spaces.

    def _written(self, tree: Node, *, is_last: bool = True) -> list:
        """Return words. One that is not the last of its expression must not reach to the right."""
        kind = tree[0]
        if kind == "leaf":
            words = list(tree[1])
        elif kind == "point":
            words = ["point", *tree[1]]
        elif kind in OPERATORS:
            left = self._operand(tree[1], is_last=False, may_chain=True)
            words = [*left, kind, *self._operand(tree[2], is_last=is_last)]
        elif kind in ("not", "global"):
            words = [kind, *self._operand(tree[1], is_last=is_last)]
        else:
            numbers = {"same": (*tree[1:2], "as")}.get(kind, tree[1] if len(tree) == 3 else ())
            words = [kind, *numbers, *self._operand(tree[-1], is_last=True, may_chain=True)]
            if not is_last:
                return ["(", *words, ")"]
        return words

    def _operand(self, tree: Node, *, is_last: bool, may_chain: bool = False) -> list:
        if self.random.random() < 0.15:
            return ["(", *self._written(tree), ")"]
        if tree[0] in OPERATORS and not may_chain:
            return ["(", *self._written(tree), ")"]
        return self._written(tree, is_last=is_last)

    def _space(self) -> str:
        return self.random.choice((" ", " ", " ", " ", "  ", "\t", "\n"))

    def _text(self, pieces: list, which: int) -> str:
        text = self.random.choice(("", "", " ")) if which == 0 else ""
        for piece, space in zip(pieces, self.spaces, strict=True):
            word = piece if isinstance(piece, str) else piece[which]
            text += word
            is_joined = word in ("(", ")") and space in ("\t", "\n")
            text += "" if is_joined else space
        return text if self.random.random() < 0.5 else text.rstrip()

    # Wrong ones.

    def _damaged(self) -> Expression:
        """Return an expression without positions of which words or characters were changed."""
        pieces = self._written(self._tree(self.random.choice((1, 2, 3)), with_geometry=False))
        words = [piece if isinstance(piece, str) else piece[1] for piece in pieces]
        for _ in range(self.random.choice((1, 1, 2))):
            at = self.random.randrange(len(words))
            change = self.random.randrange(5)
            if change == 0:
                del words[at]
            elif change == 1:
                more = (
                    "and",
                    "or",
                    "not",
                    "(",
                    ")",
                    "name",
                    "all",
                    "1",
                    "CA",
                    "as",
                    "prop",
                    "abs",
                    "3",
                    "<",
                    "to",
                    ":",
                )
                words.insert(at, self.random.choice(more))
            elif change == 2:
                other = self.random.randrange(len(words))
                words[at], words[other] = words[other], words[at]
            elif change == 3 and words[at]:
                letter = self.random.randrange(len(words[at]))
                words[at] = words[at][:letter] + words[at][letter + 1 :]
            else:
                words[at] += self.random.choice(("x", "(", ")", " ", "-", ":", "1", "=", "é", "*"))
            words = words or ["all"]
        text = " ".join(words)
        return Expression(text, text, None)

    def _refused(self) -> str:
        """Return a text that MDAnalysis understands wrongly or in part."""
        return self.random.choice(
            (
                "index 1:3:5",
                "resid 1:3:5",
                "bynum 1-3x",
                "charge 1:2:3",
                "mass 1:2e",
                "index 1_0",
                "mass 1_2.0",
                "mass nan",
                "prop mass > nan",
                "point nan 0 0 5",
                "around nan all",
                "name CA or index 2:4:9 or all",
                "",
            )
        )


def _number_of(residue: str) -> int:
    return int(re.match(r"-?\d+", residue)[0])


def is_known_departure(text: str) -> bool:
    """Return whether MDAnalysis ignores part of a damaged text."""
    number = r"-?\d*\.?\d*(e[-+]?\d+)?"
    behind = re.search(rf"(\d\w?|\.)\s*([:-]|\sto\s)\s*{number}\S", text)
    parenthesis = re.search(r"\b(atom(\s+\S+){0,2}|group)\s*[()]", text)
    spaced = re.search(r"[:-]\s+\S+\s+(:|-|to)|(:|-|to)\S*\s+(:|-|to)", text)
    return bool(behind or parenthesis or spaced or "_" in text) or not text.strip()


def without_departures(text: str, *, has_codes: bool) -> str:
    """Return a damaged text in the spelling that MDAnalysis reads as trajet reads the text.

    See the departures of the module `select`: comparisons the other way round, exponents in upper
    case, and, where there are insertion codes, ranges of residues that end before they begin.
    """
    text = re.sub(r"(?<=[\d.])E(?=[-+]?\d)", "e", text)
    number, relation = r"[-+]?\d\S*?", "|".join(sorted(MIRRORED, key=len, reverse=True))
    text = re.sub(
        rf"\bprop\s+(abs\s+)?({number})\s*({relation})\s*([a-zA-Z]\w*)",
        lambda found: f"prop {found[1] or ''}{found[4]} {MIRRORED[found[3]]} {found[2]}",
        text,
    )
    if not has_codes:
        return text

    def upwards(found: re.Match[str]) -> str:
        goes_back = int(found[1]) > int(found[3])
        return " 99999:99998 " if goes_back else found[0]

    ends = r"(-?\d+)[A-Z]?\s*(:|-|\bto\b)\s*(-?\d+)[A-Z]?"
    words = re.split(r"(\bresid\b[^a-z()]*(?:\bto\b[^a-z()]*)*)", text)
    return "".join(re.sub(ends, upwards, w) if w.startswith("resid") else w for w in words)


def _oracle_tree(tree: Node) -> Node:
    """Return the tree with leaves as MDAnalysis gets them."""
    if tree[0] == "leaf":
        words = (word if isinstance(word, str) else word[1] for word in tree[1])
        return ("leaf", " ".join(words))
    return tuple(_oracle_tree(part) if _is_node(part) else part for part in tree)


def _is_node(part: object) -> bool:
    return isinstance(part, tuple) and bool(part) and part[0] in NODES
