"""What a stage problem must be, and what is wrong with a choice."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from solvers.stages.backend import COST, Question
from solvers.stages.checking import check_problem, check_question, evaluate, faults
from solvers.stages.problem import LARGEST, Columns, Form, Limit, StageProblem


def two(**changes):
    """Two devices, 3 layers: each holds 1 or 2 of them, a layer takes 5."""
    table = {
        "device": [0, 0, 1, 1],
        "starts": [[0], [0], [1], [2]],
        "ends": [[1], [2], [3], [3]],
        "group": [0, 1, 0, 1],
        "sums": [[5], [10], [10], [5]],
        "peaks": [[5], [10], [10], [5]],
    }
    table |= {name: changes.pop(name) for name in tuple(changes) if name in table}
    parts = {
        "layers": 3,
        "chunks": np.arange(2)[:, None],
        "columns": Columns(**{name: np.array(rows) for name, rows in table.items()}),
        "time": (Form(constant=1, sums=(1,), peaks=(3,), crossings=2),),
        "cost": Form(sums=(2,)),
        "cost_per_time": 1,
        "limits": (Limit(name="power", form=Form(sums=(4,)), upper=20, per_time=-1),),
        "crossings": np.array([[0, 7], [9, 0]]),
    }
    return StageProblem(**(parts | changes))


def test_a_choice_is_valued_from_the_definitions():
    """1 + (5 + 10) + 3 * 10 + 2 * 0 = 46 and 30 + 46; power 60 - 46 <= 20."""
    choice = evaluate(two(), [0, 2])
    assert (choice.time, choice.cost) == (46, 76)
    assert faults(two(), choice) == []
    crossed = evaluate(two(sums=[[5], [10], [10], [6]]), [0, 3])
    assert crossed.time == 1 + 11 + 3 * 5 + 2 * 7


@each(
    ("change", "longest", "words"),
    [
        ({"columns": np.array([0, 9])}, None, "not all among 0 .. 3"),
        ({"columns": np.array([0, 1])}, None, "not one per device"),
        ({"columns": np.array([0, 3])}, None, "a chunk of device 1 begins at layer 2, not 1"),
        ({"time": 45}, None, "time and cost are 46, 76, not 45, 76"),
        ({}, 45, "time 46 is above 45"),
    ],
)
def test_faults(change, longest, words):
    choice = replace(evaluate(two(), [0, 2]), **change)
    assert words in faults(two(), choice, longest)[0]


def test_faults_of_limits_and_ends():
    choice = evaluate(two(), [0, 2])
    tight = replace(two().limits[0], upper=13)
    assert faults(two(limits=(tight,)), choice) == ["power is 14, above 13"]
    assert faults(two(layers=4), choice) == ["the last chunk ends at layer 3 of 4"]


@each(
    ("changes", "words"),
    [
        ({"layers": -1}, "layers must be at least 0, not -1"),
        ({"chunks": np.arange(2)}, r"chunks must have shape \(p, v\), not \(2,\)"),
        ({"chunks": np.array([[0], [2]])}, "every number of 0 .. 1 once"),
        ({"device": [0, 0, 1, 2]}, "devices of columns must be within 0 .. 1"),
        ({"device": [0, 0, 0, 0]}, "device 1 has no column"),
        ({"starts": [[-1], [0], [1], [2]]}, r"column 0 holds layers \[-1\] to \[1\]; needs 0 <="),
        ({"ends": [[1], [2], [4], [3]]}, r"column 2 holds layers \[1\] to \[4\]"),
        ({"starts": [[0, 0]] * 4}, r"starts of columns must have shape \(4, 1\), not \(4, 2\)"),
        ({"sums": [5, 10, 10, 5]}, r"sums of columns must have shape \(4, 'any'\)"),
        ({"sums": [[5.0], [np.nan], [1.0], [1.0]]}, "sums of columns must hold whole numbers"),
        ({"group": [0, 1, 0, 2]}, "groups of columns must be within 0 .. 1"),
        ({"crossings": np.zeros((2, 3), dtype=np.int64)}, r"crossings must have shape \(g, g\)"),
        ({"time": ()}, "time needs at least one form"),
        ({"time": (Form(sums=(1, 1)),)}, "form 0 of time weighs 2 sums; columns have 1"),
        ({"cost": Form(peaks=(-1,))}, "cost has a weight of -1 for a peak"),
        ({"time": (Form(sums=(LARGEST // 10,)),)}, r"form 0 of time may reach .*2\*\*53"),
        ({"time": (Form(crossings=2**70),), "crossings": None}, "form 0 of time may reach"),
        ({"cost_per_time": LARGEST // 50}, "cost may reach"),
        ({"sums": [[2**62], [1], [2**62], [1]]}, "form 0 of time may reach 9223372036854775"),
        ({"peaks": [[-(2**63)], [1], [1], [1]]}, "form 0 of time may reach"),
        ({"limits": (Limit(name="power", form=Form(), upper=2**60),)}, "power must have an upper"),
    ],
)
def test_tables_that_no_solver_could_use_are_refused(changes, words):
    with pytest.raises(ValueError, match=words) as refused:
        check_problem(two(**changes))
    assert "\n" not in str(refused.value)


@each(
    ("changes", "words"),
    [
        ({"minimize": "energy"}, "minimize must be 'time' or 'cost', not 'energy'"),
        ({"seconds": -1.0}, "seconds must be a number of at least 0, not -1.0"),
        ({"seconds": float("nan")}, "seconds must be a number"),
        ({"workers": 0}, "needs at least 1 worker, not 0"),
        ({"longest": 2**53}, "longest must be within"),
        ({"below": -(2**53)}, "below must be within"),
    ],
)
def test_questions_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        check_question(replace(Question(problem=two()), **changes))
    with pytest.raises(ValueError, match="the problem has no cost"):
        check_question(Question(problem=two(cost=None), minimize=COST))
