"""The plans one step away from a plan with explicit stages: one decision of one stage changed.

Layers move between neighbouring chunks, a layer more or less is recomputed, a stage takes the next
clock. A step that many stages could take alike is named for each of them: what it costs depends
on where it is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from planner.cost.context import CostModel
from planner.plan import RECOMPUTES, Plan, Stage
from planner.plan.layout_words import recomputed_by_chunk
from planner.question.options import SpaceOptions
from planner.search.uniform.space import recomputes

_KINDS = ("dense", "moe")
Change = tuple[str, Plan]


def stage_steps(model: CostModel, plan: Plan, options: SpaceOptions) -> Iterator[Change]:
    """Descriptions and plans that differ in one decision about stages.

    Args:
        model: Job, cluster, assumptions.
        plan: With explicit stages.
        options: The space; it says which recomputations there are.
    """
    stages = plan.stages or ()
    if sum(stage.layers for stage in stages) != model.job.model.layers:
        return
    yield from _moved(model, plan, stages)
    names = [RECOMPUTES[code] for code in recomputes(model, options)]
    yield from _recomputed(model, plan, stages, names)
    yield from _clocked(model, plan, stages)


def with_all(plan: Plan, **choices: Any) -> Plan:
    """The plan with some choices made alike on all of its explicit stages, if it has any."""
    if plan.stages is None:
        return plan
    return replace(plan, stages=tuple(replace(stage, **choices) for stage in plan.stages))


def _with(plan: Plan, changed: dict[int, Stage]) -> Plan:
    stages = tuple(changed.get(at, stage) for at, stage in enumerate(plan.stages or ()))
    return replace(plan, stages=stages)


def _noun(plan: Plan) -> str:
    return "chunk" if plan.interleave > 1 else "stage"


def _moved(model: CostModel, plan: Plan, stages: Sequence[Stage]) -> Iterator[Change]:
    """A layer moved over each boundary, either way; it recomputes like most of its new chunk."""
    kinds = model.job.model.layer_kinds
    ends = list(accumulate(stage.layers for stage in stages))
    for at, to in pairwise(range(len(stages))):
        for source, target, layer in ((at, to, ends[at] - 1), (to, at, ends[at])):
            if stages[source].layers <= (1 if 0 < source < len(stages) - 1 else 0):
                continue
            kind = _KINDS.index(kinds[layer])
            before = kinds[ends[source] - stages[source].layers : ends[source]].count(kinds[layer])
            left = _fewer(stages[source], kind, before - 1)
            more = replace(stages[target], layers=stages[target].layers + 1)
            what = f"a layer from {_noun(plan)} {source} to {target}"
            yield what, _with(plan, {source: left, target: more})


def _fewer(stage: Stage, kind: int, most: int) -> Stage:
    """A stage with a layer less, `most` of its kind left; those recomputed are among these."""
    full = min(stage.full[kind], most)
    some = min(stage.selective[kind], most - full)
    return replace(
        stage,
        layers=stage.layers - 1,
        full=_put(stage.full, kind, full),
        selective=_put(stage.selective, kind, some),
    )


def _put(counts: tuple[int, int], kind: int, count: int) -> tuple[int, int]:
    return (count, counts[1]) if kind == 0 else (counts[0], count)


def _recomputed(
    model: CostModel, plan: Plan, stages: Sequence[Stage], names: Sequence[str]
) -> Iterator[Change]:
    """One layer more or less recomputed in full, and one recomputation for all stages."""
    for name in names:
        if recomputed_by_chunk(plan) == name:
            continue
        plain = {"recompute": name, "selective": (0, 0), "full": (0, 0)}
        yield f"recompute {name}", with_all(plan, **plain)
    kinds = model.job.model.layer_kinds
    ends = list(accumulate(stage.layers for stage in stages))
    for at, stage in enumerate(stages):
        held = kinds[ends[at] - stage.layers : ends[at]]
        for kind, name in enumerate(_KINDS):
            free = held.count(name) - stage.full[kind] - stage.selective[kind]
            yield from _one_more_or_less(plan, at, kind, free)


def _one_more_or_less(plan: Plan, at: int, kind: int, free: int) -> Iterator[Change]:
    stage = (plan.stages or ())[at]
    if (stage.recompute or plan.recompute) != "none":
        return
    for change, possible in ((1, free > 0), (-1, stage.full[kind] > 0)):
        if possible:
            more = "more" if change > 0 else "less"
            what = f"a layer {more} recomputed in full on {_noun(plan)} {at}"
            full = _put(stage.full, kind, stage.full[kind] + change)
            yield what, _with(plan, {at: replace(stage, full=full)})


def _clocked(model: CostModel, plan: Plan, stages: Sequence[Stage]) -> Iterator[Change]:
    """The next clock below and above of each stage."""
    if not model.chip.clock_settable:
        return
    levels = model.clocks(wanted=True)
    for device in range(plan.pp):
        chunks = {at: stages[at] for at in range(device, len(stages), plan.pp)}
        own = stages[device].clock
        clock = plan.clock if own is None else own
        for level in [*levels[levels < clock][:1], *levels[levels > clock][-1:]]:
            changed = {at: replace(one, clock=float(level)) for at, one in chunks.items()}
            yield f"clock {level:g} on stage {device}", _with(plan, changed)
