"""CP-SAT as every search here uses it.

Presolve does not look for constraints that include others: in 9.15 it then calls some feasible
models infeasible (https://github.com/google/or-tools/issues/5274 is alike), which would be a false
proof.
"""

from __future__ import annotations

from typing import Any


def new_solver() -> Any:
    """A `CpSolver` without that step of presolve."""
    from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

    solver = cp_model.CpSolver()
    solver.parameters.presolve_inclusion_work_limit = 0
    return solver
