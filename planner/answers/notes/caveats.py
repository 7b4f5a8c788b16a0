"""What a user should know about an evaluated plan beside the rules that it breaks."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from planner.answers.notes.unmodelled import unmodelled
from planner.assumptions.software import FrameworkProfile
from planner.base.messages import distinguished
from planner.base.units import show_bytes
from planner.cost.context import CostModel
from planner.cost.memory.risk import headroom_note
from planner.frameworks.registry import default_framework, framework_of, target_of
from planner.frameworks.rules import applicable
from planner.frameworks.rules.alike import CUDA_VENDORS
from planner.plan import Plan, PlanTable, code_of
from planner.plan.words import recompute_words, sharding_words
from planner.results.plan import PlanResult
from planner.schedules import schedule_of
from planner.search.limits import Limits
from planner.search.uneven.aligned import is_aligned
from planner.search.uniform.meshes import equal_chunks


def caveats(model: CostModel, result: PlanResult, limits: Limits) -> list[str]:
    """What does not fit, is outside the search, or is predicted less surely; a line each."""
    return [
        *_memory_warnings(model, result, limits),
        *_headroom_warnings(model, result),
        *_frozen_warnings(model),
        *_clock_warnings(model, result.plan),
        *_framework_warnings(model),
        *unmodelled(model),
        *_chunk_warnings(model, result.plan),
        *schedule_of(result.plan.schedule).caveats(model.assumptions),
        *_stage_warnings(model, result.plan),
    ]


def _memory_warnings(model: CostModel, result: PlanResult, limits: Limits) -> list[str]:
    """What does not fit: on the chip, on its share of the host."""
    memories = (
        (
            "memory",
            result.memory_per_chip_bytes,
            limits.bytes_of_plan(model, result.plan),
            "that may be filled",
        ),
        (
            "host memory",
            result.host_memory_bytes,
            model.chip.host_memory_bytes,
            "that the host has for each chip",
        ),
    )
    return [
        f"{name}: {' of '.join(distinguished(held, limit, show_bytes))} {which}"
        for name, held, limit, which in memories
        if held > limit
    ]


def _headroom_warnings(model: CostModel, result: PlanResult) -> list[str]:
    """A chip so full that the allocator may slow the step down."""
    if not result.lacks_headroom:
        return []
    return [f"headroom: {headroom_note(result.memory_per_chip_bytes, model.chip.memory_bytes)}"]


def _frozen_warnings(model: CostModel) -> list[str]:
    """Time that quantized weights take and the step does not count."""
    job = model.job
    if not job.widens_for_products or model.assumptions.widening_bytes:
        return []
    return [
        f"frozen-weights: {job.frozen_weights} is expanded to 16 bits before each product; memory "
        "counts one such matrix, the step time does not count the expansion"
    ]


def _clock_warnings(model: CostModel, plan: Plan) -> list[str]:
    """Clocks between the levels that a search tries."""
    clocks = {plan.clock, *(stage.clock for stage in plan.stages or () if stage.clock is not None)}
    levels = model.levels.tolist()
    return [
        f"clock: {clock:g} is none of the levels that the search tries on {model.chip.name}: "
        f"{', '.join(f'{level:g}' for level in levels)}"
        for clock in sorted(clocks.difference(levels))
        if model.chip.clock_settable
    ]


def _framework_warnings(model: CostModel) -> list[str]:
    """A framework whose constants were fitted on other chips than these."""
    framework, chip = model.job.framework, model.chip
    usual = default_framework(chip.vendor)
    named = any(_has_chips_of_its_own(profile) for profile in (framework, usual))
    elsewhere = named or chip.vendor not in CUDA_VENDORS
    if framework == usual or not elsewhere or model.assumptions.mlp_blocks:
        return []
    if not _runs(model, usual):
        return [f"framework: the constants of {framework.name} were fitted on other chips"]
    return [
        f"framework: {framework.name} is not the usual one on {chip.vendor} chips, which is "
        f"{usual.name}; its constants were fitted on other chips"
    ]


def _has_chips_of_its_own(profile: FrameworkProfile) -> bool:
    """Whether a framework is the usual one on chips of some makers, on which it was fitted."""
    framework = framework_of(profile.name)
    return framework is not None and bool(framework.vendors)


def _runs(model: CostModel, framework: FrameworkProfile) -> bool:
    """Whether no rule of a framework refuses the chips, whatever the plan."""
    judged = replace(model, job=replace(model.job, framework=framework))
    rules = applicable(framework, target_of(framework.name))
    one = PlanTable.from_plans([Plan()])
    return all(rule.holds(judged, one).all() for rule in rules if rule.of_other_chips)


def _chunk_warnings(model: CostModel, plan: Plan) -> list[str]:
    """Interleaved chunks that are gathered again, or whose unequal rounds the time does not see."""
    if plan.interleave == 1:
        return []
    lines, framework = [], model.framework
    if 0 < framework.most_chunks < plan.interleave and plan.sharding == "zero3":
        lines.append(
            f"interleave: {framework.name} keeps {framework.most_chunks} chunks of a stage "
            f"gathered, not {plan.interleave}; the gathers that it repeats are not counted"
        )
    chunks = plan.pp * plan.interleave
    estimate = "the step time is an estimate, which may be up to {} % too low"
    if plan.stages is not None:
        sizes = tuple(stage.layers for stage in plan.stages)
        if len(set(sizes)) > 1:
            words = estimate.format(12 if is_aligned(sizes, plan.pp) else 15)
            lines.append(f"interleave: the {chunks} chunks have unequal layers; {words}")
    elif not equal_chunks(model, chunks, code_of("split", plan.split)):
        lines.append(
            f"interleave: {model.job.model.layers} layers make no {chunks} equal chunks; "
            f"{estimate.format(25)}"
        )
    return lines


def _stage_warnings(model: CostModel, plan: Plan) -> list[str]:
    """What stages choose for themselves and the framework cannot launch, or cannot run."""
    return [*_empty_stages(plan), *(f"stages: {line}" for line, _ in not_launchable(model, plan))]


def _empty_stages(plan: Plan) -> list[str]:
    """Chunks without a layer, neither the first nor the last, which only pass activations on."""
    empty = [at for at, stage in enumerate((plan.stages or ())[1:-1], start=1) if not stage.layers]
    if not empty:
        return []
    which = "chunks" if plan.interleave > 1 else "stages"
    return [
        f"stages: {which} {', '.join(map(str, empty))} hold no layer; frameworks build pipelines "
        "with a layer at least on all but the first and the last"
    ]


def not_launchable(model: CostModel, plan: Plan) -> list[tuple[str, str]]:
    """What of the stages of a plan a framework has no setting for, and a flag that avoids it."""
    profile, framework = model.framework, framework_of(model.framework.name)
    if plan.stages is None or (framework is not None and framework.preset):
        return []
    found, name = [], profile.name
    if not profile.takes_lists and plan.pp > 1:
        line = f"{name} deals out layers by a rule, it takes no list of them"
        found.append((line, "--layout uniform"))
    if len({stage.sharding or plan.sharding for stage in plan.stages}) > 1:
        line = f"{name} has one sharding for all stages, not {sharding_words(plan)}"
        found.append((line, f"--fix sharding={_most_common(plan)}"))
    at_once = framework is not None and framework.recomputes_by_stage(model, plan)
    if recompute_words(plan) == "by stage" and not at_once:
        alike = profile.recomputes_alike
        line = f"{name} recomputes {alike} in one way, the same on all stages; these differ"
        found.append((line, "--fix recompute=none or --fix recompute=full"))
    return found


def _most_common(plan: Plan) -> str:
    """The sharding of the most stages."""
    counts = Counter(stage.sharding or plan.sharding for stage in plan.stages or ())
    return max(counts, key=lambda name: counts[name])
