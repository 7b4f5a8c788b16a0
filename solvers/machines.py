"""Which machine, how many of it and which plan, under budgets that couple them: the master problem.

    option    (machine, size)         -> what it takes of each budget
    plan      (machine, size, rank)   -> its objectives

The choices are the machine, its size and the rank of one of its plans; budgets limit the sums. Each
machine's plans are independent of the others, so plans that are dominated on their own machine and
size may be left out, and nothing else: a plan that a larger machine beats can be the best one left
under a budget. CP-SAT chooses (`solvers.factored_cpsat`); the join of the tables is its oracle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from solvers.factored import FactoredProblem, Limit, Ops, Table
from solvers.frontier import nondominated


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A machine in one size.

    Attributes:
        machine, size: What identifies it.
        uses: What it takes of each budget, whole numbers.
        points: Objectives of its plans, whole numbers, one row each.
    """

    machine: int
    size: int
    uses: Mapping[str, int]
    points: Sequence[tuple[int, int]]


def undominated(points: Sequence[tuple[int, int]]) -> list[int]:
    """Rows of points that no other row of the same option beats."""
    return [int(row) for row in nondominated(np.array(points, dtype=np.float64).reshape(-1, 2))]


def master_problem(
    options: Sequence[Option], budgets: Mapping[str, int], objectives: tuple[str, str]
) -> FactoredProblem:
    """The factored problem of choosing a machine, a size and a plan.

    Args:
        options: Machines and sizes with their plans; those without plans are left out.
        budgets: Upper limits of `uses`; every option must state each of them.
        objectives: Names of the two columns of `points`.

    Raises:
        ValueError: No option has a plan.
    """
    some = [option for option in options if len(option.points)]
    if not some:
        raise ValueError("no option has a plan")
    rows = [(option, rank) for option in some for rank in range(len(option.points))]
    plans = Table(
        name="plan",
        keys=("machine", "size", "rank"),
        rows=np.array([(option.machine, option.size, rank) for option, rank in rows]),
        outputs={
            name: np.array([option.points[rank][at] for option, rank in rows])
            for at, name in enumerate(objectives)
        },
    )
    uses = Table(
        name="option",
        keys=("machine", "size"),
        rows=np.array([(option.machine, option.size) for option in some]),
        outputs={name: np.array([option.uses[name] for option in some]) for name in budgets},
    )
    choices = {
        "machine": sorted({option.machine for option in some}),
        "size": sorted({option.size for option in some}),
        "rank": range(max(len(option.points) for option in some)),
    }
    return FactoredProblem(
        choices={name: tuple(values) for name, values in choices.items()},
        tables=(uses, plans),
        limits=tuple(
            Limit(name=f"budget {name}", expression=partial(_value, name), upper=upper)
            for name, upper in budgets.items()
        ),
        objectives={name: partial(_value, name) for name in objectives},
    )


def _value(name: str, values: Mapping[str, Any], _: Ops) -> Any:
    return values[name]
