"""The funnel of a proof whose stages differ: no row is lost, and the claim follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.verification.case import SAME, agree
from planner.verification.faults import Fault
from planner.verification.stages.document import StageProof, Step

ROUNDING = 1e-6  # of the integer programs in floating point
_LAUNCHABLE, _POWER, _LAST = "LB2 launchable", "least power", "stages"
_STEPS = ("LB0", "LB1", "LB2", _LAUNCHABLE, "LB power", _POWER, _LAST)
_SPLIT = (_POWER, _LAST)
"""Steps of which the first has a row for each number of layers of the fullest device."""
_FULLEST = 3
"""Numbers of layers that the fullest device of an interleaved row may have, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What the first step of a funnel has to come across.

    Attributes:
        first: Its name.
        rows, meshes: How many.
        interleaves: Whether later steps may have a row for each number of layers that the fullest
            device may have.
        ways: Rows that one may become where targets launch it in several ways, at most.
        timed: Whether time may end the search before the rows of the second step are known.
        least_s: (rows,) bounds of the first step, computed here; None: they are not.
    """

    first: str
    rows: int
    meshes: int
    interleaves: bool = False
    ways: int = 1
    timed: bool = False
    least_s: FloatArray | None = None


def check_funnel(own: StageProof, listed: Listed) -> None:
    """The first step came across all that is declared, and each of the others what was left.

    Raises:
        Fault: It did not.
    """
    steps = _in_order(own.funnel)
    if not steps or steps[0].name != listed.first:
        raise Fault(f"funnel: it does not begin with {listed.first}")
    for what in ("rows", "meshes"):
        found, stated = getattr(listed, what), getattr(steps[0], what)
        if found != stated:
            raise Fault(f"funnel.{listed.first}: {what} are {found:,}, not {stated:,}")
    for step in steps:
        _check_step(step)
    _check_first(steps[0], listed)
    for before, after in pairwise(steps):
        _check_passed(before, after, listed)
    if steps[-1].name != _LAST:
        if len(steps) > 1 or not listed.timed:
            raise Fault(f"funnel: it does not end with {_LAST}")
        _check_lowest_left(own, listed)


def _in_order(funnel: list[Step]) -> list[Step]:
    """The steps, each once, in the order in which rows come to them."""
    names = [step.name for step in funnel]
    for at, name in enumerate(names):
        if name not in _STEPS or name in names[:at]:
            raise Fault(f"funnel: {name} is no step of it, or is there twice")
    return sorted(funnel, key=lambda step: _STEPS.index(step.name))


def _check_step(step: Step) -> None:
    """What one step drops is among what came, and has a least bound."""
    where = f"funnel.{step.name}"
    if step.dropped > step.rows or step.meshes > step.rows or (step.rows and not step.meshes):
        raise Fault(f"{where}: {step.dropped:,} of {step.rows:,} rows, {step.meshes:,} meshes")
    if step.lowest is not None and not step.dropped:
        raise Fault(f"{where}: nothing was dropped, so nothing has the bound {step.lowest:.12g}")
    if step.lowest is None and step.dropped and step.name != _POWER:
        raise Fault(f"{where}: {step.dropped:,} rows were dropped without a bound")


def _check_first(step: Step, listed: Listed) -> None:
    """As many rows have the least bound of those that the first step dropped, or more."""
    if listed.least_s is None or step.lowest is None:
        return
    above = int(np.sum(listed.least_s >= step.lowest * (1 - SAME)))
    if above < step.dropped:
        where = f"funnel.{step.name}"
        raise Fault(
            f"{where}: {above:,} rows have the bound {step.lowest:.12g}, not {step.dropped:,}"
        )


def _check_lowest_left(own: StageProof, listed: Listed) -> None:
    """What the first step left, as the last one, is stated with the least bound of all rows."""
    stated = own.claim.lowest_left
    if listed.least_s is None or stated is None:
        return
    least = float(np.min(listed.least_s, initial=math.inf))
    if stated > least * (1 + SAME):
        raise Fault(f"claim: the bound of the rows left is {least:.12g}, not {stated:.12g}")


def _check_passed(before: Step, after: Step, listed: Listed) -> None:
    """What a step left came to the next one; rows are told apart further at some.

    After LB0 by placements, of which rules may leave none; after that only by how they are launched
    and by the layers of their fullest devices.
    """
    left, where = before.rows - before.dropped, f"funnel.{after.name}"
    least, most = float(left), float(left)
    if before.name == "LB0":
        least, most = 0.0, math.inf if left else 0.0
    if after.name == _LAUNCHABLE:
        most *= listed.ways
    if listed.interleaves and before.name != _POWER and after.name in _SPLIT:
        most *= _FULLEST
    if not least <= after.rows <= most:
        raise Fault(f"{where}: {left:,} rows were left before it, and {after.rows:,} came")
    if after.meshes > before.meshes:
        raise Fault(f"{where}: {after.meshes:,} meshes came, of {before.meshes:,}")


def check_claim(own: StageProof, wished: float) -> None:
    """Bound, gap, status and what is left follow from what was dropped, solved and left.

    Args:
        own: The proof, whose funnel is checked.
        wished: The gap within which the question wants the best plan.

    Raises:
        Fault: They do not.
    """
    claim = own.claim
    agree("claim", "objective", claim.objective, own.best.step_time_s)
    agree("claim", "gap", 1 + claim.gap, 2 - claim.bound / claim.objective)
    _check_left(own)
    least = min([*_lowest(own), claim.objective])
    if claim.bound > least * (1 + SAME):
        raise Fault(f"claim: no more than {least:.12g} is proved, not {claim.bound:.12g}")
    enough = min(least, claim.objective * (1 - wished)) * (1 - ROUNDING)
    if claim.bound < enough:
        raise Fault(f"claim: {least:.12g} is proved, not {claim.bound:.12g} alone")
    status = "optimal" if claim.bound >= claim.objective * (1 - ROUNDING) else "feasible"
    if claim.status != status:
        raise Fault(f"claim: the status is {status}, not {claim.status}")
    if status == "optimal" and claim.left:
        raise Fault(f"claim: {claim.left:,} rows are left, and the status is optimal")


def _lowest(own: StageProof) -> Iterator[float]:
    """The least bounds of what was dropped, solved and left."""
    for step in own.funnel:
        if step.lowest is not None:
            yield step.lowest
    for program in own.programs:
        yield program.bound * program.unit_s
    if own.claim.lowest_left is not None:
        yield own.claim.lowest_left


def _check_left(own: StageProof) -> None:
    """Every row that no bound dropped has a program, or is one of those without."""
    claim, last = own.claim, _in_order(own.funnel)[-1]
    kept = last.rows - last.dropped
    if len(own.programs) + own.without_program != kept:
        raise Fault(f"programs: {kept} rows were left, not {len(own.programs)} with a program")
    if (claim.left == 0) != (claim.lowest_left is None):
        raise Fault(f"claim: {claim.left:,} rows are left, with the bound {claim.lowest_left}")
    if last.name == _LAST and claim.left > kept:
        raise Fault(f"claim: no more than {kept:,} rows are left, not {claim.left:,}")
    if last.name != _LAST and (claim.left != kept or own.programs):
        raise Fault(f"claim: {kept:,} rows are left, none solved, not {claim.left:,}")
