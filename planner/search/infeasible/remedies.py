"""Changes of a question that make a plan possible, each checked by a search or by a plan at hand.

Chip counts are excluded by the bounds of the search before any plan is looked at, many counts at
a time, so the nearest count that helps is found without searching those between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import numpy as np

from planner.assumptions.assumptions import calibrated
from planner.assumptions.software import FrameworkProfile, era_of_compiler
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.vocabulary import ANY
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.context import CostModel, one_format
from planner.cost.energy.energy import standing_w
from planner.cost.evaluate import memory_table
from planner.cost.job import LARGEST_BATCH, Job
from planner.frameworks.launching import default_target
from planner.frameworks.registry import default_framework
from planner.objectives import MEMORY, TIME
from planner.plan import PlanTable
from planner.plan.choices import fixed_words
from planner.question.options import SpaceOptions
from planner.search.columns import BOTH, column_of
from planner.search.deadline import NEVER, OutOfTime
from planner.search.infeasible.batches import batches_nearby
from planner.search.infeasible.near_misses import Witness
from planner.search.infeasible.numbers import rounded_down, rounded_up
from planner.search.infeasible.run_limits import column, looser_run
from planner.search.limits import Limits, by_count, model_flop
from planner.search.uniform.batch import Batch
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.nodes import Nodes
from planner.search.uniform.space import PartialPlans

_MOST = 4  # remedies
_WATTS = ((1e6, "MW"), (1e3, "kW"), (1.0, "W"))
_PARTIAL_PLANS_AT_A_TIME = 256
_PLANS_AT_A_TIME = 1024
_COUNTS_AT_FIRST = 8  # then twice as many at a time
_MOST_COUNTS = 1024
_MOST_SEARCHES = 24
_LARGER_BATCHES = (2, 4, 8)
_FARTHEST = 64  # times the chips asked for


def possible(space: UniformSpace, chips: int) -> bool:
    """Whether any plan on a chip count satisfies every constraint; may raise `OutOfTime`."""
    return first_possible(space, (chips,)) is not None


def possible_on_any(space: UniformSpace, chips: int) -> bool:
    """As `possible`, whatever is to run the plan."""
    return possible(replace(space, options=replace(space.options, runnable_in=())), chips)


def first_possible(space: UniformSpace, counts: Sequence[int]) -> int | None:
    """The first of some chip counts on which a plan satisfies every constraint, or None.

    Args:
        space: The question.
        counts: Chip counts, the preferred first.

    Raises:
        OutOfTime: The deadline of the search passed.
    """
    if space.model.assumptions.token_granularity:  # every count has its own shares
        return _first_sharing(space, counts[:_MOST_COUNTS])
    searched, at, size = 0, 0, _COUNTS_AT_FIRST
    while at < min(len(counts), _MOST_COUNTS):
        block = tuple(counts[at : at + size])
        nodes = space.on(*block).nodes()
        hopeful = _hopeful(space, nodes)
        for count in block:
            here = hopeful[nodes.partial_plans.chips[hopeful] == count]
            if len(here) == 0:
                continue
            if _any_plan(space, nodes.partial_plans.take(here)):
                return count
            searched += 1
            if searched == _MOST_SEARCHES:
                return None
        at, size = at + size, 2 * size
    return None


def _first_sharing(space: UniformSpace, counts: Sequence[int]) -> int | None:
    """As `first_possible`, where chips share the tokens of a step evenly."""
    for count in counts:
        here = space.on(count)
        nodes = here.nodes()
        hopeful = _hopeful(here, nodes)
        if len(hopeful) and _any_plan(here, nodes.partial_plans.take(hopeful)):
            return count
    return None


def _hopeful(space: UniformSpace, nodes: Nodes) -> IntArray:
    """Partial plans that no bound excludes, the most promising first."""
    model, limits = space.model, space.limits
    chips = nodes.partial_plans.chips
    if not limits.on_costs or len(chips) == 0:
        return np.argsort(nodes.partial_plans.columns["micro_batch"], kind="stable")
    times, energies = (column_of(nodes.corners, nodes.columns, one) for one in BOTH)
    assert times is not None
    soonest = times.min(axis=1)
    ok = limits.in_time(model, soonest, chips.astype(np.float64))
    rank = soonest
    if limits.power_w is not None:
        waiting_w = by_count(chips, lambda count: count * standing_w(model, count))
        ok &= waiting_w * (1 - 1e-9) <= limits.it_w(model, chips.astype(np.float64))
        with np.errstate(invalid="ignore"):  # of no plan, or of a run that never ends: the last
            rank = soonest if energies is None else (energies / times).min(axis=1)
    order = np.argsort(rank, kind="stable")
    return order[ok[order]]


def _batches(space: UniformSpace, partial_plans: PartialPlans) -> Iterator[Batch]:
    """The plans that fit on partial plans, some of these at a time."""
    for at in NEVER.parts(len(partial_plans), _PARTIAL_PLANS_AT_A_TIME):
        if (batch := space.batch(partial_plans.take(at))) is not None:
            yield batch


def _any_plan(space: UniformSpace, partial_plans: PartialPlans) -> bool:
    for batch in _batches(space, partial_plans):
        if batch.candidates is None or not space.limits.on_costs:
            return True
        times = column_of(batch.corners(bounded=True), batch.columns, TIME)
        assert times is not None
        soonest = times.min(axis=1)
        timely = space.limits.in_time(space.model, soonest, batch.candidates.chips)
        plans = np.flatnonzero(timely)
        for first in range(0, len(plans), _PLANS_AT_A_TIME):
            opened = batch.open(plans[first : first + _PLANS_AT_A_TIME], 0)
            if opened.allowed is None or opened.allowed.any():
                return True
    return False


def least_host(space: UniformSpace, chips: int) -> PlanTable | None:
    """The plan, a table of one row, that fits on the chip and needs the least of the host.

    Raises:
        OutOfTime: The deadline of the search passed.
    """
    roomy = replace(space.limits.without_costs(), host_bytes=float("inf"))
    wide = replace(space, limits=roomy, columns=(MEMORY,))
    partial_plans = wide.on(chips).nodes().partial_plans
    best, least = None, float("inf")
    for batch in _batches(wide, partial_plans):
        host = memory_table(space.model, batch.space.plans).host_peak
        row = int(np.argmin(host))
        if host[row] < least:
            best, least = batch.space.plans.take(np.array([row])), float(host[row])
    return best


def other_options(space: UniformSpace, chips: int) -> Iterator[str]:
    """Single changes of what is searched that make a plan possible on the same chips."""
    options = space.options
    for name, values in options.fixed.items():
        free = {key: value for key, value in options.fixed.items() if key != name}
        changed = replace(space.options, fixed=free)
        if possible(replace(space, options=changed), chips):
            yield f"without --fix {name}={fixed_words(name, values)}"
    wider = {
        "without --axes": replace(options, axes=None),
        **_fewer_targets(options),
        "--offload (state and activations may move to the host)": replace(options, offload=True),
    }
    for text, changed in wider.items():
        if changed != options and possible(replace(space, options=changed), chips):
            yield text


def other_precision(space: UniformSpace, chips: int) -> Iterator[str]:
    """bf16, where a plan is possible in it; only under the shipped constants, which it has too."""
    model, wider = space.model, "bf16"
    job, chip, given = model.job, model.chip, model.assumptions
    if job.precision == wider or wider not in chip.peak_flop_per_s:
        return
    if not _are_shipped(model):
        return
    others = calibrated(chip, job.era, wider, experts=job.expert_software, recipe=job.recipe)
    other, assumptions = one_format(
        replace(job, precision=wider, fp8_recipe=""),
        replace(others, collectives=given.collectives),
    )
    changed = replace(model, job=other, assumptions=assumptions)
    if possible(replace(space, model=changed), chips):
        yield f"--precision {wider}"


def _are_shipped(model: CostModel) -> bool:
    """Whether the constants are those that come with the planner."""
    job, given = model.job, model.assumptions
    shipped = calibrated(
        model.chip, job.era, job.precision, experts=job.expert_software, recipe=job.recipe
    )
    _, sent = one_format(job, replace(shipped, collectives=given.collectives))
    return given == sent


def usual_framework(space: UniformSpace, chips: int) -> Iterator[str]:
    """The framework that is usual on the chips, where one with fewer axes is told or assumed.

    Its plans are those that it launches, unless those of the question need no target.
    """
    model, options = space.model, space.options
    usual = default_framework(model.chip.vendor)
    more = [axis for axis in model.framework.lacks if axis not in usual.lacks]
    if not more or not _are_shipped(model):
        return
    target = default_target(usual.name, model.job.learns)
    targets = (target,) if options.runnable_in and target is not None else ()
    with suppress(InputError):  # it may not have the recipe of fp8 that is asked for
        changed = _run_by(model, usual)
        wide = replace(space, model=changed, options=replace(options, runnable_in=targets))
        if possible(wide, chips):
            yield f"--framework {usual.name} (which has {', '.join(more)})"


def _run_by(model: CostModel, framework: FrameworkProfile) -> CostModel:
    """The same job on the same machine in another framework, with the shipped constants."""
    chip, era = model.chip, era_of_compiler(model.chip) or framework.era
    job = replace(model.job, framework=framework, era=era)
    given = calibrated(chip, era, job.precision, experts=framework.experts, recipe=job.recipe)
    shipped = replace(given, collectives=model.assumptions.collectives)
    built = CostModel.build(job, model.cluster, shipped, model.torus_axes)
    return replace(
        built,
        facility=model.facility,
        clock_limit=model.clock_limit,
        tables=model.tables,
        run=model.run,
    )


def _fewer_targets(options: SpaceOptions) -> dict[str, SpaceOptions]:
    """The same with one target less or, of several, with none, by the change."""
    changes = {}
    for target in options.runnable_in:
        others = tuple(other for other in options.runnable_in if other != target)
        names = ",".join(other.name for other in others)
        words = f"--runnable-in {names}" if others else f"without --runnable-in {target.name}"
        changes[words] = replace(options, runnable_in=others)
    if len(options.runnable_in) > 1:
        changes[f"--runnable-in {ANY}"] = replace(options, runnable_in=())
    return changes


def more_chips(space: UniformSpace, chips: int) -> Iterator[str]:
    """The fewest chips above those asked for on which a plan is possible.

    Where too many counts would have to be searched for that, the first that doubling reaches.
    """
    cluster = space.model.cluster
    counts = cluster.chip_counts(min(cluster.max_chips, _FARTHEST * chips))
    count = first_possible(space, [n for n in counts if n > chips])
    if count is None:
        doubled = {chips << power for power in range(1, _FARTHEST.bit_length())}
        count = first_possible(space, [n for n in counts if n in doubled])
    if count is not None:
        yield f"--chips {count} (more chips)"


def fewer_chips(space: UniformSpace, chips: int) -> Iterator[str]:
    """The most chips below those asked for on which a plan is possible."""
    counts = [n for n in space.model.cluster.chip_counts(chips) if n < chips]
    count = first_possible(space, counts[::-1])
    if count is not None:
        yield f"--chips {count} (fewer chips)"


def other_batch(space: UniformSpace, chips: int) -> Iterator[str]:
    """The nearest global batch with which a plan is possible.

    Where chips share the tokens of a step, the largest half, quarter, ... of these.
    """
    job = space.model.job
    if space.model.assumptions.token_granularity:
        yield from _first_batch(space, chips, _fewer_tokens(job, chips))
    else:
        sizes = batches_nearby(space, chips)[:_MOST_SEARCHES].tolist()
        yield from _first_batch(space, chips, (replace(job, global_batch=n) for n in sizes))


def larger_batch(space: UniformSpace, chips: int) -> Iterator[str]:
    """The first doubling of the global batch with which a plan is possible, up to 8 times."""
    if space.model.assumptions.token_granularity:
        return
    job = space.model.job
    sizes = [times * job.global_batch for times in _LARGER_BATCHES]
    larger = (replace(job, global_batch=n) for n in sizes if n <= LARGEST_BATCH)
    yield from _first_batch(space, chips, larger)


def _first_batch(space: UniformSpace, chips: int, jobs: Iterable[Job]) -> Iterator[str]:
    """The batch of the first of some jobs with which a plan is possible."""
    for job in jobs:
        if possible(replace(space, model=replace(space.model, job=job)), chips):
            yield f"--batch-tokens {job.batch_tokens:.0f}"
            return


def _fewer_tokens(job: Job, chips: int) -> Iterator[Job]:
    """The job with a half, a quarter, ... of the tokens of a step."""
    tokens = job.batch_tokens // 2
    while tokens >= chips:
        yield replace(job, seq_len=tokens / chips)
        tokens //= 2


def looser_limits(model: CostModel, limits: Limits, witness: Witness) -> Iterator[str]:
    """The flags that allow a plan that exists, rounded to the side on which it stays allowed."""
    times, energies = np.array([witness.time_s]), np.array([witness.energy_j])
    chips = np.array([float(witness.chips)])
    run = column(witness.run)
    checks = limits.checks(model, times, energies, chips, run)
    broken = [name for name, ok in checks.items() if not ok[0]]
    flags, loose = [], limits
    if "step_time" in broken:
        text = rounded_up(witness.time_s)
        flags.append(f"--max-step-time {text}s")
        loose = replace(loose, step_time_s=float(text))
    if "mfu" in broken:
        text = rounded_down(_mfu(model, times, chips)[0])
        flags.append(f"--min-mfu {text}")
        loose = replace(loose, mfu=float(text))
    if "power" in broken:
        text, watts = power_limit(witness.power_w)
        flags.append(f"--max-power {text}")
        loose = replace(loose, power_w=watts)
    for name in broken:
        if run is not None and name in limits.run_limits:
            looser = looser_run(model, loose, name, run)
            flags.append(looser.flag)
            loose = looser.limits
    if flags and all(ok[0] for ok in loose.checks(model, times, energies, chips, run).values()):
        yield " ".join(flags)


def mfu_of(model: CostModel, witness: Witness) -> float:
    """Model-FLOP utilization of a plan that exists."""
    return float(_mfu(model, np.array([witness.time_s]), np.array([float(witness.chips)]))[0])


def _mfu(model: CostModel, times: FloatArray, chips: FloatArray) -> FloatArray:
    return model_flop(model) / (times * chips * peak_flop_per_s(model))


def power_limit(power_w: float) -> tuple[str, float]:
    """A limit on power as it is typed, `34.57kW`, that is not below watts; and its own watts."""
    scale, unit = next((w for w in _WATTS if power_w >= w[0]), _WATTS[-1])
    text = rounded_up(power_w / scale)
    return text + unit, float(text) * scale


def first_few(*remedies: Iterator[str]) -> tuple[str, ...]:
    """The first few remedies, each once, found before the deadline; none is looked for in vain."""
    found: dict[str, None] = {}
    with suppress(OutOfTime):
        for remedy in chain(*remedies):
            found[remedy] = None
            if len(found) == _MOST:
                break
    return tuple(found)
