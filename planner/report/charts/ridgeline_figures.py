"""Which charts of a ridgeline are asked for: by their names or by those of the paper's figures."""

from __future__ import annotations

from pathlib import Path

from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.units import texts_of
from planner.report.pages.picture_file import check_picture

OF_PATHS = ("intensity", "times", "projected")
SURFACES = ("naive", "surface")
PRINCIPLES = ("arithmetic", "bandwidth", "quadrants", "products")
OF_ANSWERS = ("ridgeline", "roofline", *OF_PATHS, "energy")
"""What is drawn where nothing is named; the others show how a ridgeline comes about."""
FIGURES = (*OF_ANSWERS, *SURFACES, *PRINCIPLES)
OF_THE_PAPER = {
    "1": "naive",
    "2a": "arithmetic",
    "2b": "bandwidth",
    "2c": "quadrants",
    "2d": "products",
    "2e": "ridgeline",
    "3": "surface",
    "4a": "intensity",
    "4b": "roofline",
    "4c": "times",
    "6a": "ridgeline",
    "6b": "projected",
}


def check_figures(plot: Path | None, figure: str | None) -> tuple[str, ...]:
    """The charts that are asked for, in order; empty: all that the points have.

    Raises:
        InputError: One is unknown, there is no file for them, or it cannot be written.
    """
    if figure is None:
        check_picture(plot)
        return ()
    names = texts_of(figure)
    allowed = (*FIGURES, *OF_THE_PAPER)
    faults = [f"figure: {not_one_of(name, allowed)}" for name in names if name not in allowed]
    if plot is None:
        faults.append("figure: has no effect without --plot FILE")
    if faults:
        raise InputError("\n".join(faults))
    check_picture(plot)
    return tuple(dict.fromkeys(OF_THE_PAPER.get(name, name) for name in names))


def check_drawn(figures: tuple[str, ...], *, is_path: bool, is_degenerate: bool) -> None:
    """Refuses charts that the points do not have.

    Args:
        figures: From `check_figures`.
        is_path: Whether the points are several steps of a path.
        is_degenerate: Whether nothing crosses a network.

    Raises:
        InputError: See above.
    """
    if "ridgeline" in figures and is_degenerate:
        raise InputError(
            "figure: no byte crosses a network, so there is no plane; ask for roofline"
        )
    if not is_path and (without := [name for name in figures if name in OF_PATHS]):
        raise InputError(
            f"figure: {without[0]} needs several steps along a path, e.g. --batches 16..16384 or "
            "--sweep batch"
        )
