"""Texts of selections in MDAnalysis' language: parsed, and what they depend on."""

from trajet import _trajet, universes
from trajet._trajet import MissingPackageError, SelectionError
from trajet.quoting import quoted


def parsed(text: str) -> _trajet.SelectionText:
    """Return a parsed selection.

    Raises
    ------
    SelectionError
        If the text is invalid.
    MissingPackageError
        If it has a keyword that only MDAnalysis knows, and MDAnalysis is not installed.
    """
    try:
        return _trajet.SelectionText(text)
    except SelectionError as error:
        if not error.only_in_mdanalysis:
            more = "; it is written in MDAnalysis' language, such as 'name CA and resid 1:29'"
            raise explained_error(text, f"{error}", more) from error
        explained = explained_error(text, f"{error}")
        if universes.is_missing():
            raise MissingPackageError(f"{explained}: {universes.INSTALL}") from error
        raise explained from error


def explained_error(text: str, reason: str, more: str = "") -> SelectionError:
    """Return the error of a selection on one line, without the mark below its text."""
    return SelectionError(f"selection {quoted(text)}: {reason.splitlines()[0]}{more}")


def needs_positions(text: str) -> bool:
    """Return whether a selection depends on positions.

    Raises
    ------
    SelectionError
        If the text is invalid.
    """
    return "positions" in parsed(text).needs


def names_residue_numbers(text: str) -> bool:
    """Return whether a selection has numbers of residues.

    Raises
    ------
    SelectionError
        If the text is invalid.
    """
    return "residue_numbers" in parsed(text).needs


def depends_on_order(text: str) -> bool:
    """Return whether a selection may depend on the indices of atoms."""
    return not {"index", "bynum"}.isdisjoint(text.replace("(", " ").replace(")", " ").split())
