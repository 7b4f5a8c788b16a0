"""Which plans of a front of uneven pipelines belong to an answer, and which are proved."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from support.cases import each

from planner.answers.notes.uneven import front_note
from planner.answers.spaces.uneven_front import how_proved, laid_out
from planner.objectives import OBJECTIVES, TIME
from planner.plan import Plan, PlanTable, Stage
from planner.question.request import Request
from planner.results.certificate import Certificate, UnevenFound
from planner.results.parts import FrontLimits
from planner.results.solved_parts import Front
from solvers.solution import Status

POINTS = np.array([[1.0, 9.0], [2.0, 5.0], [4.0, 4.0], [5.0, 1.0]])
ASKED = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 2, "layout": "uneven"}


def plan_of(*layers: int) -> Plan:
    """A pipeline of as many stages."""
    return Plan(pp=len(layers), stages=tuple(Stage(layers=count) for count in layers))


def front_of(*plans: Plan, status: Status = Status.FEASIBLE) -> UnevenFound:
    """A front of these plans."""
    known = Certificate(status=status.value, objective_name="time", objective=1.0, bound=0.5)
    return UnevenFound(
        plans=PlanTable.from_plans(list(plans)), points=POINTS[: len(plans)], status=status,
        bound=np.array([0.5, 0.5]), front_complete=True, certificate=known, seconds=0.0,
    )  # fmt: skip


FRONT = front_of(plan_of(4, 8), plan_of(6, 6), plan_of(5, 7), plan_of(6, 6))


@each(("objective", "value"), [("time", 1.0), ("energy", 1.0), ("edp", 5.0)])
def test_plans_with_other_layers_than_given_leave_the_front(objective: str, value: float) -> None:
    kept = laid_out(FRONT, FRONT, (6, 6), OBJECTIVES[objective])
    assert [plan.stages for plan in map(kept.plans.plan, range(2))] == [plan_of(6, 6).stages] * 2
    np.testing.assert_array_equal(kept.points, POINTS[[1, 3]])
    assert (kept.front_complete, kept.status) == (False, Status.FEASIBLE)
    assert (kept.certificate.objective, kept.certificate.bound) == (value, 0.5)


def test_a_front_of_the_given_layers_stays_as_it_is() -> None:
    front = front_of(plan_of(6, 6), plan_of(6, 6), status=Status.OPTIMAL)
    assert laid_out(front, front, (6, 6), TIME) is front
    assert laid_out(FRONT, FRONT, None, TIME) is FRONT


def test_the_fastest_plan_stays_where_no_other_has_the_layers() -> None:
    fastest = front_of(plan_of(7, 5))
    kept = laid_out(FRONT, fastest, (7, 5), TIME)
    assert kept.plans.plan(0).stages == plan_of(7, 5).stages
    np.testing.assert_array_equal(kept.points, fastest.points)


@each(
    ("proved", "rows", "limits"),
    [
        ([], [False] * 4, 0),
        ([(5.0, 1.0)], [False, False, False, True], 1),
        ([(5.0, 1.0), (4.0 * (1 + 1e-12), 4.0)], [False, False, True, True], 2),
        ([(2.0, 5.0), (5.0, 1.0)], [False, True, False, True], 3),  # 2 holds for 3 as well
    ],
)
def test_limits_are_proved_where_their_cheapest_plan_is(
    proved: list[tuple[float, float]], rows: list[bool], limits: int
) -> None:
    request = Request.model_validate({**ASKED, "front_points": 5})  # limits 5, 4, 3, 2, 1
    found, of_limits = how_proved(request, FRONT, proved)
    assert list(found) == rows
    assert of_limits == FrontLimits(asked=5, proved=limits)


@each("changes", [{"front_points": "all"}, {"objective": "edp"}])
def test_other_fronts_are_not_made_of_limits(changes: dict[str, Any]) -> None:
    request = Request.model_validate({**ASKED, **changes})
    assert how_proved(request, FRONT, [])[1] is None


@each(
    ("asked", "fields", "words"),
    [
        ({"time_limit": "2s"}, {"limits": FrontLimits(asked=6, proved=2)},
         "incomplete: stopped by the time limit, 2 of 6 time limits proved; 3 plans so far"),
        ({"gap": 0.5}, {"limits": FrontLimits(asked=6, proved=0)},
         "by more than 50 %; none takes less at all for 0 of 6 time limits (those are marked"),
        ({}, {"limits": FrontLimits(asked=6, proved=6)},
         "Those of at most 6 time limits, from the fastest plan to the one of least energy, are"),
        ({"objective": "edp"}, {}, "Those that the least product of energy and time depends on"),
        ({"objective": "edp", "time_limit": "2s", "gap": 0.5}, {"status": "feasible"},
         "within the gap: 3 plans. No plan has an energy x time smaller than the least of them by"),
        ({"objective": "edp", "time_limit": "2s", "gap": 0.4}, {"status": "feasible"},
         "stopped by the time limit or within the gap, 1 of 3 plans proved"),
        ({"objective": "edp", "time_limit": "2s"}, {"status": "feasible"},
         "stopped by the time limit, 1 of 3 plans proved"),
        ({"front_points": "all", "time_limit": "2s"}, {}, "1 of 3 plans proved"),
        ({"front_points": "all"}, {"complete": True}, "3 plans; proved complete"),
    ],
)  # fmt: skip
def test_the_note_says_how_much_is_proved(
    asked: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    fields = dict(fields)
    request = Request.model_validate({**ASKED, **asked})
    cost = SimpleNamespace(clocks=lambda *, wanted: [1.0] * (5 if wanted else 1))
    status = fields.pop("status", "optimal")
    of_front = {"complete": False, "proved": (True, False, False), "limits": None, **fields}
    note = front_note(
        cast("Any", SimpleNamespace(request=request, cost=cost, chips=request.chips)),
        replace(FRONT.certificate, status=status),
        Front(plans=cast("Any", (1, 2, 3)), objectives=request.front, **of_front),
    )
    assert words in note
