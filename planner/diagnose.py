"""Why no plan fits, by how much, and the smallest change that frees it; each remedy is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from planner.cost.context import CostModel
from planner.plan import RECOMPUTES, SHARDINGS
from planner.results import Diagnosis
from planner.search.batch import leanest_plan
from planner.search.engine import Found, Search
from planner.search.limits import Limits, usable_bytes
from planner.search.meshes import enumerate_meshes
from planner.search.options import SpaceOptions
from planner.units import show_bytes, show_percent, show_seconds, show_watts

_REMEDIES = 4
_NEAR = 32  # chip counts tried on each side
_RULES = {
    "axes": "the axes and values that were asked for",
    "heads": "attention heads or MLP width that tp does not divide",
    "sequence": "a sequence length that cp does not divide",
    "layers": "layers that pp does not divide",
    "batch": "a global batch that the data ranks do not divide",
}


def diagnose(
    model: CostModel, chips: int, options: SpaceOptions, limits: Limits, found: Found
) -> Diagnosis:
    """What forbids every plan on exactly `chips` chips.

    Args:
        model: Job, cluster, assumptions.
        chips: Chips asked for.
        options, limits: What was searched, and within what.
        found: The search that proved that nothing fits.
    """
    meshes = found.counts["meshes"]
    if meshes.get("searched", 0) == 0 and meshes.get("memory", 0) == 0:
        return _no_mesh(model, chips, options, limits, meshes)
    cost_limits = {"step_time": limits.step_time_s, "power": limits.power_w, "mfu": limits.mfu}
    if found.counts["candidates"].get("evaluated", 0) and any(cost_limits.values()):
        return _cost_limit(model, chips, options, limits)
    return _memory(model, chips, options, limits)


def _no_mesh(
    model: CostModel,
    chips: int,
    options: SpaceOptions,
    limits: Limits,
    counts: dict[str, int],
) -> Diagnosis:
    dropped = {name: counts[name] for name in _RULES if counts.get(name)}
    worst = max(dropped, key=lambda name: dropped[name]) if dropped else "axes"
    reasons = "; ".join(f"{count:,} by {_RULES[name]}" for name, count in dropped.items())
    return Diagnosis(
        constraint="divisibility",
        explanation=(
            f"none of the {counts.get('considered', 0):,} ways to write {chips:,} chips as "
            f"tp x cp x pp x data ranks can run {model.job.model.name}: {reasons or worst}"
        ),
        remedies=(
            *_nearest_counts(model, chips, options, limits),
            *_nearest_batch(model, chips, options, limits),
            *_mild(model, chips, options, limits),
        ),
    )


def _nearest_counts(
    model: CostModel, chips: int, options: SpaceOptions, limits: Limits
) -> Iterator[str]:
    """The nearest chip counts below and above on which a plan exists."""
    counts = model.cluster.chip_counts(min(2 * chips + 256, model.cluster.max_chips))
    below = [count for count in reversed(counts) if count < chips][:_NEAR]
    above = [count for count in counts if count > chips][:_NEAR]
    for side in (below, above):
        for count in side:
            if _possible(model, count, options, limits):
                yield f"--chips {count}"
                break


def _nearest_batch(
    model: CostModel, chips: int, options: SpaceOptions, limits: Limits
) -> Iterator[str]:
    """The nearest global batch that `chips` data ranks divide, where that helps."""
    job = model.job
    for multiple in (job.global_batch // chips, job.global_batch // chips + 1):
        changed = replace(model, job=replace(job, global_batch=max(multiple, 1) * chips))
        if _possible(changed, chips, options, limits):
            yield f"--batch-tokens {changed.job.batch_tokens}"
            break


def _memory(model: CostModel, chips: int, options: SpaceOptions, limits: Limits) -> Diagnosis:
    needed, plan = leanest_plan(model, enumerate_meshes(model, (chips,), options), options)
    limit = limits.chip_bytes(model)
    mesh = " ".join(f"{name} {size}" for name, size in plan.mesh.items() if size > 1) or "one chip"
    mesh += f", micro-batch {plan.micro_batch}, recompute {plan.recompute}"
    return Diagnosis(
        constraint="memory",
        explanation=(
            f"memory: the leanest plan ({mesh}) needs {show_bytes(needed)} of the "
            f"{show_bytes(limit)} that may be filled on each {model.chip.name}: "
            f"{show_bytes(needed - limit)} too much"
        ),
        needed=needed,
        available=limit,
        remedies=tuple(_checked(model, chips, options, limits)),
    )


def _cost_limit(model: CostModel, chips: int, options: SpaceOptions, limits: Limits) -> Diagnosis:
    """The best that can be reached without the limit that forbids everything."""
    free = replace(limits, step_time_s=None, power_w=None, mfu=None)
    search = Search(model=model, options=options, limits=free)
    found = search.run((chips,))
    fastest = float(found.points[:, 0].min())
    peak_mfu = _mfu(model, chips, fastest)
    if limits.step_time_s is not None and fastest > limits.step_time_s:
        return Diagnosis(
            constraint="max-step-time",
            explanation=(
                f"step time: the fastest plan takes {show_seconds(fastest)}, the limit is "
                f"{show_seconds(limits.step_time_s)}"
            ),
            needed=fastest,
            available=limits.step_time_s,
            remedies=(f"--max-step-time {fastest * 1.0001:.4g}", *_more_chips(model, chips)),
        )
    if limits.mfu is not None and peak_mfu < limits.mfu:
        return Diagnosis(
            constraint="min-mfu",
            explanation=(
                f"utilization: the best plan reaches an MFU of {show_percent(peak_mfu)}, the limit "
                f"is {show_percent(limits.mfu)}"
            ),
            needed=limits.mfu,
            available=peak_mfu,
            remedies=(f"--min-mfu {peak_mfu * 0.9999:.3g}", *_fewer_chips(model, chips)),
        )
    power = float((found.points[:, 1] / found.points[:, 0]).min())
    limit = limits.power_w or 0.0
    return Diagnosis(
        constraint="max-power",
        explanation=(
            f"power: the plans on the front of time and energy draw at least {show_watts(power)}, "
            f"the limit is {show_watts(limit)}"
        ),
        needed=power,
        available=limit,
        remedies=_fewer_chips(model, chips),
    )


def _mfu(model: CostModel, chips: int, step_time_s: float) -> float:
    from planner.cost.breakdown import peak_flop_per_s  # noqa: PLC0415
    from planner.cost.traffic import model_flop_per_token  # noqa: PLC0415

    needed = model.job.batch_tokens * model_flop_per_token(model.job, model.shapes)
    return needed / (step_time_s * chips * peak_flop_per_s(model))


def _more_chips(model: CostModel, chips: int) -> tuple[str, ...]:
    counts = model.cluster.chip_counts(min(2 * chips + 64, model.cluster.max_chips))
    more = [count for count in counts if count >= 2 * chips]
    return (f"--chips {more[0]} (more chips)",) if more else ()


def _fewer_chips(model: CostModel, chips: int) -> tuple[str, ...]:
    fewer = [count for count in model.cluster.chip_counts(chips) if count <= chips // 2]
    return (f"--chips {fewer[-1]} (fewer chips)",) if fewer else ()


def _checked(model: CostModel, chips: int, options: SpaceOptions, limits: Limits) -> Iterator[str]:
    """The first remedies that make a plan possible, smallest change first."""
    yield from _mild(model, chips, options, limits)
    more = _enough_chips(model, chips, lambda n: _possible(model, n, options, limits))
    if more is not None:
        yield f"--chips {more} (more chips)"


def _mild(model: CostModel, chips: int, options: SpaceOptions, limits: Limits) -> Iterator[str]:
    """Single changes to the question that make a plan possible on the same chips."""
    given = 0
    for text, changed_options, changed_limits in _changes(model, options, limits):
        if given == _REMEDIES - 1:
            break
        if _possible(model, chips, changed_options, changed_limits):
            given += 1
            yield text


def _changes(
    model: CostModel, options: SpaceOptions, limits: Limits
) -> Iterator[tuple[str, SpaceOptions, Limits]]:
    """Single changes to what was asked, from the mildest on."""
    for name, values in options.fixed.items():
        free = {key: value for key, value in options.fixed.items() if key != name}
        names = {"recompute": RECOMPUTES, "sharding": SHARDINGS}.get(name)
        shown = ",".join(names[v] if names else str(v) for v in sorted(values))
        yield f"without --fix {name}={shown}", replace(options, fixed=free), limits
    if options.axes is not None:
        yield "without --axes", replace(options, axes=None), limits
    if limits.memory_bytes is not None and limits.memory_bytes < usable_bytes(model):
        roomy = replace(limits, memory_bytes=None)
        yield f"--max-memory {usable_bytes(model) / 1e9:.4g}GB", options, roomy
    if not options.offload:
        yield (
            "--offload (state and activations may move to the host)",
            replace(options, offload=True),
            limits,
        )


def _possible(model: CostModel, chips: int, options: SpaceOptions, limits: Limits) -> bool:
    """Whether any plan exists, by a search that stops at the first one."""
    search = Search(model=model, options=options, limits=limits)
    return search.any_plan((chips,))


def _enough_chips(model: CostModel, chips: int, possible: Callable[[int], bool]) -> int | None:
    """The smallest of a growing series of chip counts on which a plan exists, or None."""
    limit = min(model.cluster.max_chips, 64 * chips)
    counts = [count for count in model.cluster.chip_counts(limit) if count > chips]
    low, step = 0, 1
    while low < len(counts):
        if possible(counts[low]):
            return counts[low]
        low += step
        step = min(step * 2, max(len(counts) // 16, 1))
    return None
