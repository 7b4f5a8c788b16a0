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


def test_modes_under_a_shared_capacity_have_their_true_optimum() -> None:
    """9.15 proved 27, though all ends at 26 with these begins: 0, 6, 6, 13, 16, 23, 18, 25."""
    modes = (
        ((6, 3), (8, 4)), ((7, 4), (8, 2)), ((4, 3), (8, 1)), ((3, 4), (3, 5)), ((2, 4), (4, 3)),
        ((2, 5), (2, 4)), ((5, 4), (8, 5)), ((1, 6), (2, 7)),
    )  # fmt: skip
    waits = ((0, 2), (0, 1), (1, 3), (2, 5), (2, 3), (3, 4), (4, 6), (4, 5), (5, 7), (6, 7))
    model = cp_model.CpModel()
    begins, ends = ([model.new_int_var(0, 70, "") for _ in modes] for _ in range(2))
    intervals, demands = [], []
    for begin, end, choices in zip(begins, ends, modes, strict=True):
        chosen = [model.new_bool_var("") for _ in choices]
        model.add_exactly_one(chosen)
        for one, (seconds, demand) in zip(chosen, choices, strict=True):
            intervals.append(model.new_optional_interval_var(begin, seconds, end, one, ""))
            demands.append(demand)
    for one, other in waits:
        model.add(begins[other] >= ends[one])
    model.add_cumulative(intervals, demands, 7)
    last = model.new_int_var(0, 70, "")
    model.add_max_equality(last, ends)
    model.minimize(last)
    solver = new_solver()
    solver.parameters.num_workers = 1
    assert run_search(solver, model) == cp_model.OPTIMAL
    assert solver.value(last) == 26
