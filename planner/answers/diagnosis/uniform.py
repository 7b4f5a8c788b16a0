"""Why no plan fits, by how much, and the smallest change that frees it; each remedy is checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from frozen_records import dataclass
from planner.answers.diagnosis.diagnosis import Reasons, less_used, slower, unfinished
from planner.answers.diagnosis.rules import of_framework, of_rules
from planner.answers.diagnosis.run_limits import endless, run_limit
from planner.base.messages import distinguished
from planner.base.units import show_bytes, show_percent, show_seconds, show_watts
from planner.cost.context import CostModel
from planner.cost.energy.boundaries import MEASURED
from planner.cost.evaluate import memory_table
from planner.frameworks.rules import DEVICES_RULE, TARGET, demands_of
from planner.plan import Plan, PlanTable
from planner.plan.words import recompute_words
from planner.question.options import SpaceOptions
from planner.results.parts import Diagnosis
from planner.search.columns import BOTH
from planner.search.deadline import OutOfTime
from planner.search.driver import Driver, Found
from planner.search.infeasible.more_memory import more_memory
from planner.search.infeasible.near_misses import NearMisses, Witness
from planner.search.infeasible.remedies import (
    fewer_chips,
    first_few,
    larger_batch,
    least_host,
    looser_limits,
    mfu_of,
    more_chips,
    other_options,
    other_precision,
    possible_on_any,
    usual_framework,
)
from planner.search.limits import Limits
from planner.search.uniform.engine import UniformSpace, least_memory
from solvers.solution import Status


@dataclass(frozen=True, kw_only=True)
class UniformReasons(Reasons):
    """Why no plan with uniform stages fits on exactly so many chips.

    Attributes:
        searched: What was searched; its deadline is that of the search for reasons too.
        chips: Chips asked for.
        found: The search that proved that nothing fits.
    """

    searched: UniformSpace
    chips: int
    found: Found

    @cached_property
    def space(self) -> UniformSpace:
        """That of exactly the chips asked for, with times and energies."""
        return replace(self.searched.on(self.chips), columns=BOTH)

    @cached_property
    def leanest(self) -> Found:
        """The plan that holds the fewest bytes, whatever fits."""
        roomy = Limits(memory_bytes=float("inf"), host_bytes=float("inf"))
        return least_memory(replace(self.space, limits=roomy))

    @cached_property
    def seen(self) -> Found:
        """The search that proved that nothing fits, where nothing about the run hides plans."""
        if self.space.model.run is None:
            return self.found
        return Driver().run(replace(self.space, limits=self.space.limits.without_run()))

    @property
    def _some_fit(self) -> bool:
        return self.seen.misses.fastest is not None or len(self.seen.points) > 0

    def of_run(self) -> Diagnosis | None:
        """Limits on the whole run leave no plan, of any number of chips that may be used."""
        if not self.searched.limits.on_run:
            return None
        space = self.searched if self.searched.chips else self.space
        return run_limit(space, _other_searches(self.space, self.chips))

    def of_rules(self) -> Diagnosis | None:
        """The job cannot run at all, or no plan obeys the rules."""
        space, chips = self.space, self.chips
        if refused := refused_jobs(space.model, chips, space.options):
            return Diagnosis(
                constraint="runnable-in",
                explanation="; ".join(refused),
                remedies=first_few(other_precision(space, chips), other_options(space, chips)),
            )
        if self._some_fit or len(self.leanest.points) or not _ended(self.leanest):
            return None
        return of_rules(space, chips, self.leanest)

    def of_memory(self) -> Diagnosis | None:
        """The leanest plan does not fit."""
        if self._some_fit:
            return None
        if not _ended(self.leanest):
            return _unfinished(self.space.limits)
        kept_out = _kept_out(self.space, self.chips, self.seen)
        return _memory(self.space, self.chips, self.leanest.plans, kept_out)

    def of_costs(self) -> Diagnosis:
        """The plans that come nearest to the limits break one, or each another."""
        misses = self.seen.misses
        if misses.endless or len(self.seen.points):
            return endless(self.space.model, self.chips)
        fastest, coolest = misses.fastest, misses.coolest
        if fastest is None or coolest is None:
            raise ValueError("no plan fits in memory: no limit on costs is the reason")
        return _cost_limit(self.space, self.chips, misses, fastest, coolest)


def _ended(found: Found) -> bool:
    return found.status in (Status.OPTIMAL, Status.INFEASIBLE)


def refused_jobs(model: CostModel, chips: int, options: SpaceOptions) -> list[str]:
    """Why what is to run the plans takes none of this job, whatever the plan; a line each."""
    plan = Plan(dp=chips, sharding="zero1" if chips > 1 else "ddp")
    table = PlanTable.from_plans([plan])
    refused = [
        demand
        for demand in demands_of(model, options.runnable_in)
        if demand.rule.of_job and not demand.holds(table)[0]
    ]
    elsewhere = {demand.target for demand in refused if demand.rule.of_other_chips}
    return [
        f"{demand.target.title}: {demand.rule.explain(demand.model, plan)}"
        for demand in refused
        if demand.rule.name != DEVICES_RULE or demand.target not in elsewhere
    ]


def _unfinished(limits: Limits) -> Diagnosis:
    """No plan meets the limits, but no time is left to find the leanest that the rules allow."""
    given = "" if limits.memory_bytes is None else f" of {show_bytes(limits.memory_bytes)}"
    return unfinished(
        ["memory", "divisibility"],
        f"no plan that the rules of divisibility allow fits in the memory limit{given}",
        "the leanest one",
    )


def _kept_out(space: UniformSpace, chips: int, found: Found) -> str:
    """The rules of targets that drop plans which fit; empty where there are none."""
    dropped = [
        f"{count:,} {stage} by {of_framework(name)}"
        for stage, counts in found.counts.items()
        for name, count in counts.items()
        if TARGET in name
    ]
    if not dropped or not _fits_without_targets(space, chips):
        return ""
    return f"; plans that fit are dropped by what is to run them: {'; '.join(dropped)}"


def _fits_without_targets(space: UniformSpace, chips: int) -> bool:
    try:
        return possible_on_any(space, chips)
    except OutOfTime:
        return False


def _memory(space: UniformSpace, chips: int, leanest: PlanTable, kept_out: str) -> Diagnosis:
    """What holds the fewest bytes does not fit on the chip, or what fits there not on the host.

    `kept_out` says which rules of targets drop plans that do fit, if any do.
    """
    model, limits = space.model, space.limits
    limit, host_limit = float(limits.bytes_of(model, leanest)[0]), limits.host_limit(model)
    needed = float(memory_table(model, leanest).peak[0])
    if limit == 0.0:
        return _no_room(space, chips, needed)
    plan, which, over = leanest, "the leanest plan", []
    if needed > limit:
        what = f"that may be filled on each {model.chip.name}"
        over = [("memory", needed, limit, what)]
    elif (fitting := _least_host(space, chips)) is not None:
        plan, which = fitting, "of the plans that fit on the chip the leanest on the host"
    host = float(memory_table(model, plan).host_peak[0])
    if host > host_limit:
        over.append(("host memory", host, host_limit, "of host memory that each chip has"))
    figures = ", and ".join(
        f"{' of the '.join(distinguished(need, have, show_bytes))} {what}"
        for _, need, have, what in over
    )
    excess = " and ".join(show_bytes(need - have) for _, need, have, _ in over)
    names = " and ".join(name for name, *_ in over)
    return Diagnosis(
        constraint=names,
        explanation=(
            f"{names}: {which} ({_said(plan.plan(0))}) needs {figures}: {excess} too much{kept_out}"
        ),
        needed=over[0][1],
        available=over[0][2],
        remedies=first_few(
            more_memory(space, chips),
            larger_batch(space, chips) if kept_out else iter(()),
            other_options(space, chips),
            usual_framework(space, chips),
            more_chips(space, chips),
        ),
    )


def _least_host(space: UniformSpace, chips: int) -> PlanTable | None:
    try:
        return least_host(space, chips)
    except OutOfTime:
        return None


def _no_room(space: UniformSpace, chips: int, needed: float) -> Diagnosis:
    """The framework's reserve leaves nothing of the chip's memory."""
    chip, framework = space.model.chip, space.model.framework
    return Diagnosis(
        constraint="memory",
        explanation=(
            f"memory: the reserve of {framework.name} alone "
            f"({show_bytes(framework.reserve_bytes)} for context and communication buffers) takes "
            f"all {show_bytes(chip.memory_bytes)} of each {chip.name}; the leanest plan needs "
            f"{show_bytes(needed)} more"
        ),
        needed=needed,
        available=0.0,
        remedies=first_few(other_options(space, chips), more_chips(space, chips)),
    )


def _said(plan: Plan) -> str:
    """The choices of a plan that decide its memory."""
    mesh = " ".join(f"{name} {size}" for name, size in plan.mesh.items() if size > 1) or "one chip"
    moved = f", offload {', '.join(plan.offload)}" if plan.offload else ""
    return f"{mesh}, micro-batch {plan.micro_batch}, recompute {recompute_words(plan)}{moved}"


def _cost_limit(
    space: UniformSpace, chips: int, misses: NearMisses, fastest: Witness, coolest: Witness
) -> Diagnosis:
    """Plans fit in memory, but none meets the limits on time, utilization and power."""
    limits = space.limits
    if misses.coolest_fast is None:
        return _too_slow(space, chips, fastest, misses)
    if misses.fastest_cool is None:
        return _too_hot(space, chips, coolest, misses.coolest_fast)
    cool, fast, power_w = misses.fastest_cool, misses.coolest_fast, limits.most_w
    drawn, most = distinguished(fast.power_w, power_w, show_watts)
    names = [
        name
        for name, limit in (("max-step-time", limits.step_time_s), ("min-mfu", limits.mfu))
        if limit is not None
    ]
    return Diagnosis(
        constraint=" and ".join([*names, "max-power"]),
        explanation=(
            f"the limits exclude each other: within {_allowed_time(limits)} the least power is "
            f"{drawn} {MEASURED[limits.power_boundary]}, the limit is {most}; within that "
            f"power the fastest plan takes {show_seconds(cool.time_s)}"
            + (f" (MFU {show_percent(mfu_of(space.model, cool))})" if limits.mfu else "")
        ),
        needed=fast.power_w,
        available=power_w,
        remedies=first_few(
            looser_limits(space.model, limits, fast),
            looser_limits(space.model, limits, cool),
            _other_searches(space, chips),
        ),
    )


def _allowed_time(limits: Limits) -> str:
    """The limits on time and utilization in words."""
    words = [] if limits.step_time_s is None else [f"a step of {show_seconds(limits.step_time_s)}"]
    words += [] if limits.mfu is None else [f"an MFU of at least {show_percent(limits.mfu)}"]
    return " and ".join(words)


def _too_slow(space: UniformSpace, chips: int, fastest: Witness, misses: NearMisses) -> Diagnosis:
    limits, model = space.limits, space.model
    remedies = first_few(
        *(looser_limits(model, limits, w) for w in (misses.fastest_cool, fastest) if w),
        _other_searches(space, chips),
    )
    if limits.step_time_s is not None and fastest.time_s > limits.step_time_s:
        return slower(limits.step_time_s, "the fastest plan", fastest.time_s, remedies)
    return less_used(limits.mfu or 0.0, "the best plan", mfu_of(model, fastest), remedies)


def _too_hot(space: UniformSpace, chips: int, coolest: Witness, fast: Witness) -> Diagnosis:
    limit = space.limits.most_w
    least, most = distinguished(coolest.power_w, limit, show_watts)
    given = _allowed_time(space.limits)
    more = f"; within {given} the least is {show_watts(fast.power_w)}" if given else ""
    return Diagnosis(
        constraint="max-power",
        explanation=(
            f"power: every plan draws at least {least} "
            f"{MEASURED[space.limits.power_boundary]}, the limit is {most}{more}"
        ),
        needed=coolest.power_w,
        available=limit,
        remedies=first_few(
            looser_limits(space.model, space.limits, fast), _other_searches(space, chips)
        ),
    )


def _other_searches(space: UniformSpace, chips: int) -> Iterator[str]:
    """Changes of anything but the limits on time, utilization and power."""
    limits = space.limits
    yield from more_memory(space, chips)
    yield from other_options(space, chips)
    if limits.step_time_s is not None or limits.run_s is not None:
        yield from more_chips(space, chips)
    if (
        limits.step_time_s is None
        or limits.on_run
        or limits.power_w is not None
        or limits.mfu is not None
    ):
        yield from fewer_chips(space, chips)
