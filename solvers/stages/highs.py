"""The master in HiGHS: floating-point numbers, so its bound counts only within their tolerance.

The choice is read off the binaries and valued by the integer tables. The bound loses a relative
1e-6 before it is rounded up: where the tables hold numbers far above 10^6, an answer is proved to
that much and not to the last unit. It cannot start from a hint.
Source: Q. Huangfu, J. Hall, Math. Prog. Comp. 2018, doi:10.1007/s12532-017-0130-5.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.mixed_integer import milp
from solvers.solution import Solution
from solvers.stages.answers import answer, out_of_time
from solvers.stages.backend import Need, Question
from solvers.stages.checking import evaluate, faults
from solvers.stages.master import Master, chosen_of, master_of
from solvers.stages.problem import LARGEST, Choice

TOLERANCE = 1e-6
"""Of bounds, relative to their size."""
_WIDEST = 1e3
"""Ranges and coefficients are scaled down to it: tolerances of HiGHS are absolute."""
_OPTIMAL, _LIMIT, _INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Highs:
    """Backend "highs"; one thread."""

    name: str = "highs"
    can: frozenset[Need] = frozenset(Need)

    def solve(self, question: Question) -> Solution[Choice]:
        """The best choice with its bound.

        Raises:
            RuntimeError: The solver fails, or what it returns is no choice by the tables.
        """
        started = time.perf_counter()
        master = master_of(question)
        left = None
        if question.seconds is not None:
            left = question.seconds - (time.perf_counter() - started)
            if left <= 0:
                return out_of_time(question, started)
        values, bound, counts = _solve(master, left)
        if values is None:
            return answer(question, None, bound, started, counts)
        chosen = chosen_of(question.problem, values)
        if wrong := faults(question.problem, evaluate(question.problem, chosen), question.longest):
            raise RuntimeError(f"HiGHS returns columns {chosen.tolist()}: {wrong[0]}")
        return answer(question, chosen, bound, started, counts)


def _solve(
    master: Master, seconds: float | None
) -> tuple[npt.NDArray[np.float64] | None, float, dict[str, int]]:
    """Values of the variables or None, the bound in whole numbers, and counts."""
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415  (slow)
    from scipy.sparse import diags_array  # noqa: PLC0415  (slow)

    by_variable = _scales(np.where(master.binary, 1, master.most - master.least))
    rows = master.rows.astype(np.float64) @ diags_array(by_variable)
    by_row = 1 / _scales(abs(rows).max(axis=1).toarray().ravel())
    objective = master.objective * by_variable
    unit = float(_scales(np.abs(objective).max(initial=1.0)))
    lower = np.where(master.lower == -LARGEST, -np.inf, master.lower * by_row)
    upper = np.where(master.upper == LARGEST, np.inf, master.upper * by_row)
    found = milp(
        objective / unit,
        integrality=master.binary,
        bounds=Bounds(master.least / by_variable, master.most / by_variable),
        constraints=LinearConstraint((diags_array(by_row) @ rows).tocsr(), lower, upper),
        options={"mip_rel_gap": 0.0} | ({} if seconds is None else {"time_limit": seconds}),
    )
    counts = {"variables": len(objective), "nodes": int(found.mip_node_count or 0)}
    if found.status == _INFEASIBLE:
        return None, math.inf, counts
    if found.status not in (_OPTIMAL, _LIMIT):
        raise RuntimeError(f"HiGHS ends with status {found.status}: {found.message}")
    bound = -math.inf
    if found.mip_dual_bound is not None and math.isfinite(found.mip_dual_bound):
        dual = found.mip_dual_bound * unit + master.constant
        slack = TOLERANCE * max(1.0, unit, abs(dual), abs(master.constant))
        bound = float(math.ceil(dual - slack))
    return found.x, bound, counts


def _scales(sizes: npt.NDArray[np.float64] | np.float64) -> npt.NDArray[np.float64]:
    """Powers of two by which numbers of such sizes come down to `_WIDEST`; at least 1."""
    return np.asarray(2.0 ** np.ceil(np.log2(np.maximum(np.abs(sizes) / _WIDEST, 1.0))))
