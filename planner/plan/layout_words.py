"""The stages of a plan in words: layers, recomputation, sharding and clocks, equal ones together.

An explicit layout has a `Stage` for every chunk of the pipeline, in order; chunks of one device
agree in sharding and clock, so that those stand for stages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from frozen_records import dataclass
from planner.base.units import plural
from planner.plan.clocks import clocks_of
from planner.plan.layout_text import short_layout_text
from planner.plan.plan import Plan, Stage
from planner.plan.recomputations import modules_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkLayers:
    """Layers of one chunk of a pipeline by what they compute again."""

    none: int
    selective: int
    full: int

    @property
    def layers(self) -> int:
        """All of them."""
        return self.none + self.selective + self.full


def chunk_layers(stage: Stage, plan: Plan) -> ChunkLayers:
    """The layers of a chunk; those that its counts leave recompute as its `recompute` says.

    Layers of which modules recompute are selective.
    """
    counts = {"none": 0, "selective": sum(stage.selective), "full": sum(stage.full)}
    rest = stage.recompute or plan.recompute
    counts["selective" if modules_of(rest) else rest] += stage.layers - sum(counts.values())
    return ChunkLayers(**counts)


def explicit_stages(plan: Plan) -> tuple[Stage, ...]:
    """The chunks of a plan with an explicit layout; none of another."""
    return plan.stages or ()


def layers_by_chunk(plan: Plan) -> str:
    """How the layers are dealt: the rule, or `7,8*14,7 (stages in order)`, 14 times 8 after 7."""
    if plan.stages is None:
        return plan.split
    what = "chunks" if plan.interleave > 1 else "stages"
    return f"{short_layout_text([stage.layers for stage in plan.stages])} ({what} in order)"


def recomputed_by_chunk(plan: Plan) -> str:
    """`full on 12 of 126 layers (stages 0-3)`; of a uniform plan its one recomputation."""
    if plan.stages is None:
        return plan.recompute
    ways = {stage.recompute or plan.recompute for stage in plan.stages}
    if len(ways) == 1 and modules_of(word := ways.pop()):
        return word
    chunks = [chunk_layers(stage, plan) for stage in plan.stages]
    layers = sum(chunk.layers for chunk in chunks)
    words = []
    for name in ("selective", "full"):
        held = [getattr(chunk, name) for chunk in chunks]
        if sum(held) == layers:
            return name
        if any(held):
            where = _places([at for at, count in enumerate(held) if count], plan)
            words.append(f"{name} on {sum(held)} of {plural(layers, 'layer')}{where}")
    return "; ".join(words) or "none"


def shardings_by_stage(plan: Plan) -> str:
    """`zero1`, or `zero2 (stages 0-2), zero1 (stages 3-7)`."""
    return _by_value([stage.sharding or plan.sharding for stage in _devices(plan)], plan.sharding)


def clocks_by_stage(plan: Plan) -> str:
    """`1`, or `1 (stage 0), 0.9 (stages 1-7)`, of nominal."""
    return _by_value([f"{clock:g}" for clock in clocks_of(plan)[: plan.pp]], f"{plan.clock:g}")


def _devices(plan: Plan) -> tuple[Stage, ...]:
    """A chunk of every device: the first ones of the pipeline are on one device each."""
    return explicit_stages(plan)[: plan.pp]


def _by_value(values: Sequence[str], otherwise: str) -> str:
    """Every value with the stages that have it; one alone without them."""
    if len(set(values)) <= 1:
        return values[0] if values else otherwise
    places = {
        value: [at for at, one in enumerate(values) if one == value]
        for value in dict.fromkeys(values)
    }
    return ", ".join(f"{value} ({_stages(at, 'stage')})" for value, at in places.items())


def _places(at: Sequence[int], plan: Plan) -> str:
    if len(explicit_stages(plan)) == 1:
        return ""
    return f" ({_stages(at, 'chunk' if plan.interleave > 1 else 'stage')})"


def _stages(at: Sequence[int], noun: str) -> str:
    """`stages 0-3, 7`."""
    runs: list[list[int]] = []
    for number in at:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"{noun}{'s' if len(at) > 1 else ''} {', '.join(words)}"


def pools_by_stage(plan: Plan) -> str:
    """`dgx-a100-80-hdr 7 + dgx-h100-ndr 8 (stages in order)`; empty on one kind of chips."""
    runs = [(name, len(list(group))) for name, group in groupby(s.pool for s in plan.stages or ())]
    if not runs or any(name is None for name, _ in runs):
        return ""
    return f"{' + '.join(f'{name} {times}' for name, times in runs)} (stages in order)"
