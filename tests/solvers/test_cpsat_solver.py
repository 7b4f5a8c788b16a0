"""CP-SAT as the searches run it: Ctrl-C ends a search of any length, and what fails is said."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from ortools.sat.python import cp_model

from solvers.cpsat_solver import new_solver, run_search


def pigeons(holes: int) -> cp_model.CpModel:
    """One pigeon more than holes, said so that no search finishes in this life."""
    model = cp_model.CpModel()
    rows = [[model.new_bool_var("") for _ in range(holes)] for _ in range(holes + 1)]
    for row in rows:
        model.add_bool_or(row)
    for column in zip(*rows, strict=True):
        for at, one in enumerate(column):
            for other in column[:at]:
                model.add_bool_or([one.negated(), other.negated()])
    return model


def long_solver() -> cp_model.CpSolver:
    solver: cp_model.CpSolver = new_solver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    solver.parameters.symmetry_level = 0
    solver.parameters.max_time_in_seconds = 600
    return solver


def test_control_c_ends_a_long_search() -> None:
    """Returning would be wrong too: an interrupted search must not pass for one that ended."""
    model, solver = pigeons(60), long_solver()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            run_search(solver, model)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not [one for one in threading.enumerate() if "cp-sat" in one.name], "it has ended"


def test_a_search_returns_its_status_and_its_solutions() -> None:
    model = cp_model.CpModel()
    number = model.new_int_var(0, 9, "")
    model.maximize(number)
    seen: list[int] = []

    class Seen(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            seen.append(self.value(number))

    solver = new_solver()
    assert run_search(solver, model, Seen()) == cp_model.OPTIMAL
    assert solver.value(number) == 9
    assert seen[-1] == 9


def test_what_the_search_raises_is_raised() -> None:
    with pytest.raises(AttributeError):
        run_search(new_solver(), object())
