"""Plans beside each other: what differs, what each costs, and what makes the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, hypot, log
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.units import plain
from planner.cost.context import CostModel
from planner.cost.intervals import is_prediction
from planner.explanation.comparison.answer import (
    CompareResult,
    Cost,
    Difference,
    Pair,
    Side,
    Waterfall,
)
from planner.explanation.judging import is_tie, tie_ratio
from planner.objectives import TIME
from planner.plan import Plan
from planner.plan.layout_words import (
    clocks_by_stage,
    layers_by_chunk,
    recomputed_by_chunk,
    shardings_by_stage,
)
from planner.question.files.plan_text import plan_fields
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult

_JOB = (
    "model", "batch_tokens", "seq_len", "lengths", "precision", "job", "frozen_weights",
    "optimizer", "framework", "era", "assumptions",
)  # fmt: skip
_OF_STAGES = ("split", "stages")
_MACHINE = ("hardware", "chip", "chips", "power_cap_w", "cooling", "pue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A plan that is to be compared.

    Attributes:
        name: What it is called.
        model: Job, cluster, assumptions.
        machine: PEs and wirings that were asked for, by name.
        evaluated: What it costs.
    """

    name: str
    model: CostModel
    machine: dict[str, str]
    evaluated: EvaluateResult

    @property
    def result(self) -> PlanResult:
        """Its costs."""
        return self.evaluated.result

    @property
    def tokens(self) -> float:
        """Tokens of its step."""
        return self.result.tokens_per_s * self.result.step_time_s


def compared(asked: Sequence[Asked]) -> CompareResult:
    """Plans beside the first of them.

    Times and energies are for the tokens of a step of the first plan.

    Args:
        asked: Two or more.

    Raises:
        InputError: They cannot be compared at all.
    """
    if problem := _incomparable(asked):
        raise InputError(problem)
    basis = asked[0].model.job.batch_tokens
    same = all(one.model.job.batch_tokens == basis for one in asked)
    factors = [basis / one.model.job.batch_tokens for one in asked]
    return CompareResult(
        sides=tuple(
            Side(name=one.name, evaluated=one.evaluated, tokens=one.model.job.batch_tokens)
            for one in asked
        ),
        basis_tokens=basis,
        same_batch=same,
        differences=tuple(_differences(asked)),
        costs=tuple(_costs(asked, factors, same=same)),
        waterfalls=tuple(
            _waterfall(asked[0], one, factor)
            for one, factor in zip(asked[1:], factors[1:], strict=True)
        ),
        pairs=tuple(
            _pair(asked[i], asked[j], factors[i], factors[j])
            for i, j in combinations(range(len(asked)), 2)
        ),
        warnings=tuple(_warnings(asked)),
    )


def _incomparable(asked: Sequence[Asked]) -> str:
    """Why nothing can be compared: tokens that train adapters are not those that train models."""
    kinds = {one.model.job.kind == "lora" for one in asked}
    if len(kinds) == 1:
        return ""
    adapters = [one.name for one in asked if one.model.job.kind == "lora"]
    return (
        f"plans: {', '.join(adapters)} trains adapters and the others whole models: a token of one "
        "does not do what a token of the other does; compare plans that train the same"
    )


def _warnings(asked: Sequence[Asked]) -> list[str]:
    """What makes the comparison less than fair."""
    lines = []
    first = asked[0].model
    if any(one.model.job.model != first.job.model for one in asked):
        lines.append(
            "models differ: a token does not train one as far as the other; times and energies "
            "are for equal tokens"
        )
    if any(one.model.job.batch_tokens != first.job.batch_tokens for one in asked):
        lines.append(
            "batches differ: times and energies are for the tokens of the first plan's step; how "
            "much a token of a larger batch is worth is not modelled"
        )
    if any(one.model.job.seq_len != first.job.seq_len for one in asked):
        lines.append("sequences differ in length: attention of longer ones takes more per token")
    if len({is_prediction(one.model.assumptions) for one in asked}) > 1:
        lines.append("some times are predictions and others bounds, which no run reaches")
    elif any(one.model.assumptions.name != first.assumptions.name for one in asked):
        lines.append("assumptions differ: so does what the times leave out")
    lines += [f"{one.name}: {line}" for one in asked for line in one.evaluated.warnings]
    return lines


def _differences(asked: Sequence[Asked]) -> list[Difference]:
    """Fields that are not the same in all plans."""
    found = []
    groups = [
        ("job", name, [one.evaluated.question.job.get(name) for one in asked]) for name in _JOB
    ]
    groups += [("machine", name, [_machine(one, name) for one in asked]) for name in _MACHINE]
    names = sorted({name for one in asked for name in one.machine})
    groups += [("machine", name, [one.machine.get(name) for one in asked]) for name in names]
    listed = any(one.result.plan.stages is not None for one in asked)
    plans = [(_by_stage if listed else plan_fields)(one.result.plan) for one in asked]
    for axis in dict.fromkeys(axis for plan in plans for axis in plan["mesh"]):
        groups.append(("mesh", axis, [plan["mesh"].get(axis, 1) for plan in plans]))
    for name in dict.fromkeys(name for plan in plans for name in plan if name != "mesh"):
        groups.append(("choices", name, [plan.get(name) for plan in plans]))
    for group, name, values in groups:
        if any(value != values[0] for value in values):
            words = tuple(_words(value) for value in values)
            found.append(Difference(group=group, name=name, values=words))
    return found


def _by_stage(plan: Plan) -> dict[str, Any]:
    """Fields of a plan, in words what stages may choose for themselves."""
    fields = {name: value for name, value in plan_fields(plan).items() if name not in _OF_STAGES}
    return {
        **fields,
        "layers": layers_by_chunk(plan),
        "recompute": recomputed_by_chunk(plan),
        "sharding": shardings_by_stage(plan),
        "clock": clocks_by_stage(plan),
    }


def _machine(one: Asked, name: str) -> object:
    return one.result.chips if name == "chips" else one.evaluated.question.job.get(name)


def _words(value: object) -> str:
    """A value of a field as people read it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else plain(value, 6)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(one, 6)}" for name, one in value.items())
    return str(value)


def _costs(asked: Sequence[Asked], factors: Sequence[float], *, same: bool) -> list[Cost]:
    """The figures of each plan; those of a step also for equal tokens where batches differ."""
    results = [one.result for one in asked]

    def of(name: str, field: str, low: str = "", high: str = "", *, scaled: bool = False) -> Cost:
        scale = factors if scaled else [1.0] * len(asked)

        def values(which: str) -> tuple[float | None, ...]:
            found = [getattr(result, which) for result in results]
            return tuple(None if v is None else v * k for v, k in zip(found, scale, strict=True))

        ends = {"low": values(low), "high": values(high)} if low else {}
        return Cost(name=name, values=values(field), **ends)

    time = ("step_time_s", "step_time_low_s", "step_time_high_s")
    energy = ("energy_per_step_j", "energy_low_j", "energy_high_j")
    each = [] if same else [of("step_time_s", *time), of("energy_per_step_j", *energy)]
    names = ("step_time_s", "energy_per_step_j") if same else ("basis_time_s", "basis_energy_j")
    return [
        of("chips", "chips"),
        *each,
        of(names[0], *time, scaled=True),
        of("tokens_per_s", "tokens_per_s"),
        of("mfu", "mfu"),
        of(names[1], *energy, scaled=True),
        of("power_per_chip_w", "power_per_chip_w"),
        of("memory_per_chip_bytes", "memory_per_chip_bytes", "memory_low_bytes",
           "memory_high_bytes"),
        of("out_of_memory_probability", "out_of_memory_probability"),
        *_run_costs(asked),
    ]  # fmt: skip


def _run_costs(asked: Sequence[Asked]) -> list[Cost]:
    """Figures of whole training runs, where all plans have one."""
    runs = [one.evaluated.run for one in asked]
    names = ("days", "ideal_days", "energy_mwh", "cost", "electricity_cost", "co2_t")
    found = []
    for name in names:
        values = tuple(None if run is None else getattr(run, name) for run in runs)
        if any(value is not None for value in values):
            found.append(Cost(name=f"run_{name}", values=values))
    return found


def _waterfall(first: Asked, other: Asked, factor: float) -> Waterfall:
    """Parts that are zero in both plans are left out."""
    mine, theirs = first.result.time_s, other.result.time_s
    parts = {
        name: theirs[name] * factor - mine[name] for name in mine if mine[name] or theirs[name]
    }
    start, end = first.result.step_time_s, other.result.step_time_s * factor
    return Waterfall(name=other.name, start_s=start, end_s=end, parts=parts)


def _pair(left: Asked, right: Asked, mine: float, theirs: float) -> Pair:
    """Two plans, whose times and energies are scaled to the same tokens."""
    common = _shares_error(left, right)
    times = left.result.step_time_s * mine, right.result.step_time_s * theirs
    ends = [_ends(one, factor) for one, factor in ((left, mine), (right, theirs))]
    overlap = tie = noise = None
    if ends[0] is not None and ends[1] is not None:
        overlap = ends[0][0] <= ends[1][1] and ends[1][0] <= ends[0][1]
        if common:
            noise = tie_ratio(left.model, left.result.plan, right.result.plan, TIME)
            tie = is_tie(left.model, left.result, right.result, TIME)
        else:
            noise = exp(_independent(times, ends[0], ends[1]))
            tie = abs(log(times[0] / times[1])) <= log(noise)
    return Pair(
        left=left.name,
        right=right.name,
        overlap=overlap,
        tie=tie,
        common=common,
        noise=noise,
        dominates=_dominates(left, right, mine, theirs),
    )


def _shares_error(left: Asked, right: Asked) -> bool:
    """Whether most of the error of two predictions is the same."""
    one, other = left.model, right.model
    same = (one.job, one.cluster, one.assumptions) == (other.job, other.cluster, other.assumptions)
    return same and left.result.chips == right.result.chips


def _ends(one: Asked, factor: float) -> tuple[float, float] | None:
    low, high = one.result.step_time_low_s, one.result.step_time_high_s
    return None if low is None or high is None else (low * factor, high * factor)


def _independent(
    times: tuple[float, float], left: tuple[float, float], right: tuple[float, float]
) -> float:
    """Logarithm of the ratio within which two predictions with errors of their own tie.

    The sides of the two intervals that face each other, as logarithms, added as independent
    errors: sqrt(a^2 + b^2). The same either way round.
    """
    if times[0] <= times[1]:
        return hypot(log(left[1] / times[0]), log(times[1] / right[0]))
    return hypot(log(times[0] / left[0]), log(right[1] / times[1]))


def _dominates(left: Asked, right: Asked, mine: float, theirs: float) -> str:
    """The plan that is nowhere worse and somewhere better in time, energy and memory."""

    def of(result: PlanResult, factor: float) -> tuple[float, float, float]:
        time, energy = result.step_time_s * factor, result.energy_per_step_j * factor
        return time, energy, result.memory_per_chip_bytes

    one, other = of(left.result, mine), of(right.result, theirs)
    if one == other:
        return ""
    if all(a <= b for a, b in zip(one, other, strict=True)):
        return left.name
    return right.name if all(a >= b for a, b in zip(one, other, strict=True)) else ""
