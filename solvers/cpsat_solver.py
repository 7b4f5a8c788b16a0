"""CP-SAT as every search here uses it.

Presolve does not look for constraints that include others: in 9.15 it then calls some feasible
models infeasible (https://github.com/google/or-tools/issues/5274 is alike), which would be a false
proof. Cumulative constraints keep no disjunctive ones beside them: with optional intervals that
share begin and end, 9.15 then calls schedules optimal that are not.

CP-SAT's own handler of SIGINT is off. It stays for a moment after the solver that it points to is
gone, and a signal in that moment ends the process (9.15: `std::bad_function_call`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

_STOPPING_S = 0.1
"""How long a stopped search has before it is told again: it may not have begun."""


def new_solver() -> Any:
    """A `CpSolver` without that step of presolve, those constraints and that handler."""
    from ortools.sat.python import cp_model  # noqa: PLC0415  (slow, and only needed here)

    solver = cp_model.CpSolver()
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.use_disjunctive_constraint_in_cumulative = False
    solver.parameters.catch_sigint_signal = False
    return solver


def run_search(solver: Any, model: Any, solutions: Any = None) -> Any:
    """The status after a search, which Ctrl-C ends; `solutions` is called with each solution.

    The search has a thread of its own: Python hears a signal only in the main thread, and only
    while that runs no code of C++.

    Raises:
        KeyboardInterrupt: the search was interrupted; it has ended by then.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="cp-sat") as thread:
        search = thread.submit(solver.solve, model, solutions)
        try:
            return search.result()
        except KeyboardInterrupt:
            while not search.done():
                solver.stop_search()
                wait([search], _STOPPING_S)
            raise
