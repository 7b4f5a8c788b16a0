"""What modules that recompute alone would give, where the question leaves them out of its plans.

Their sets are many, and all of them take a search of their own (`--fix recompute=any`). Here the
light modules are searched as one set, over all meshes, and then all sets with the tp, cp and pp
that this finds, or with those of a best plan that recomputes: a plan with modules that is there,
not the best one. A dense model whose best plan recomputes nothing is not searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planner.answers.notes.likely import against_first
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.cost.kernels.selection import LIGHT
from planner.objectives import Objective
from planner.plan import NO_RECOMPUTE, PlanTable
from planner.plan.recomputations import RECOMPUTATIONS, modules_words
from planner.question.kinds.scope import RECOMPUTE
from planner.results.plan import PlanResult, plan_results
from planner.results.solved_parts import Wider
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.wider import better_plan

_DIVIDES_LAYERS = ("tp", "cp", "pp")
_WORTH_SAYING = 0.01
"""Share of the objective that modules have to save to be named."""


def with_modules(
    space: UniformSpace, objective: Objective, named: PlanTable, best: PlanResult
) -> Iterator[Wider]:
    """A plan with modules that recompute, where it has clearly less than the best plan.

    Args:
        space: The space of the best plan, after its search.
        objective: What is minimized.
        named, best: The best plan, as a table of one row and with its cost.
    """
    model = space.model
    if RECOMPUTE in space.options.fixed or not model.module_sets:
        return
    value = objective.value_of(best.costs) * (1 - _WORTH_SAYING)
    plan = _with_light(space, objective, named, value)
    if plan is None and best.plan.recompute == RECOMPUTATIONS[NO_RECOMPUTE]:
        return
    if plan is None:
        plan = _on_its_mesh(space, objective, named, value)
    else:
        least = objective.value_of(_result(model, plan).costs)
        plan = _on_its_mesh(space, objective, plan, least) or plan
    if plan is not None:
        ranked = against_first(model, [best, _result(model, plan)], objective)[1]
        yield Wider(lifted=RECOMPUTE, plan=ranked, proved=False)


def _with_light(
    space: UniformSpace, objective: Objective, known: PlanTable, value: float
) -> PlanTable | None:
    """The best plan all of whose light modules recompute, where it has less than a value."""
    light = modules_words(name for name in space.model.modules if name in LIGHT)
    if (code := RECOMPUTATIONS.index(light)) == NO_RECOMPUTE:
        return None
    return better_plan(_fixed(space, {RECOMPUTE: [code]}), objective, known, value)[0]


def _on_its_mesh(
    space: UniformSpace, objective: Objective, plan: PlanTable, value: float
) -> PlanTable | None:
    """The best plan with any modules and the tp, cp and pp of one, if it has less than a value."""
    mesh = {name: [size] for name, size in plan.plan(0).mesh.items() if name in _DIVIDES_LAYERS}
    narrow = _fixed(space, {**mesh, RECOMPUTE: space.model.module_sets})
    return better_plan(narrow, objective, plan, value)[0]


def _fixed(space: UniformSpace, values: Mapping[str, Iterable[int]]) -> UniformSpace:
    """A space with fewer values of some fields."""
    fixed = space.options.fixed | {name: frozenset(codes) for name, codes in values.items()}
    return replace(space, options=replace(space.options, fixed=fixed))


def _result(model: CostModel, plan: PlanTable) -> PlanResult:
    """What the plan of a table of one row costs."""
    model = model.on(plan.plan(0).chips)
    return plan_results(model, plan, evaluate_table(model, plan))[0]
