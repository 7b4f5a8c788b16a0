"""What binds a plan, in one sentence, and the sentences that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from frozen_records import dataclass
from planner.base.units import show_bytes, show_percent, show_seconds
from planner.cost.memory.risk import headroom_note
from planner.explanation.judging import is_tie
from planner.explanation.reliefs import FASTER, Relief, reliefs
from planner.explanation.sensitivity.rebuilding import Rebuilding
from planner.explanation.steps.neighbors import Judged
from planner.objectives import TIME
from planner.results.plan import PlanResult
from planner.search.limits import Limits

CAUSES = {
    "compute": "arithmetic (matrix multiplications and attention)",
    "memory_bound": "memory-bound element-wise work",
    "tensor_parallel": "tensor-parallel communication",
    "context_parallel": "context-parallel communication",
    "expert_parallel": "expert-parallel communication",
    "pipeline_transfer": "pipeline transfers",
    "bubble": "the pipeline bubble",
    "data_parallel": "exposed data-parallel communication",
    "optimizer": "the optimizer step",
    "offload": "traffic to host memory",
    "host": "host and launch overhead",
}
"""The parts of a step (`planner.cost.breakdown.TIME_PARTS`) in words."""
KINDS = {
    "compute": "compute",
    "memory_bound": "memory bandwidth",
    "tensor_parallel": "communication",
    "context_parallel": "communication",
    "expert_parallel": "communication",
    "pipeline_transfer": "communication",
    "data_parallel": "communication",
    "bubble": "bubble",
    "optimizer": "memory bandwidth",
    "offload": "host link",
    "host": "host",
}
"""The resource that a part of the step takes."""
CAPACITY = "memory capacity"
KEPT_OUT = "Memory keeps out"
"""How the sentence about such a plan begins."""
LEAST_GAIN = 0.01
"""A plan that memory keeps out is told of from this share of the step time on."""
_AXES = {
    "tensor_parallel": ("tp",),
    "context_parallel": ("cp",),
    "expert_parallel": ("ep", "etp"),
    "pipeline_transfer": ("pp",),
    "data_parallel": ("fsdp", "dp"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What binds a plan.

    Attributes:
        kind: compute, memory bandwidth, communication, bubble, host link, host or memory capacity.
        part: The largest part of the step that this resource takes, one of
            `planner.cost.breakdown.TIME_PARTS`; of memory capacity the largest of all.
        share: Of the step time.
        axes, levels: Of communication: mesh axes of that part, and the network levels that they
            cross.
        relief: What would relieve it, in words: the machine or the plan that `gain` is for; empty
            where nothing was found.
        gain: Step time that the relief would save, over the step time.
        kept_out: The fastest plan one step away which only memory forbids, in words; empty where
            there is none that is faster.
        memory_gain: Step time that it would save, over the step time.
        memory_tie: Whether the two cannot be told apart, so that memory does not bind by it; None
            where there is none, or times are bounds.
        sentence: What binds, in one sentence.
    """

    kind: str
    part: str
    share: float
    axes: tuple[str, ...]
    levels: tuple[str, ...]
    relief: str
    gain: float
    kept_out: str
    memory_gain: float
    memory_tie: bool | None
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "axes": list(self.axes), "levels": list(self.levels)}


def binding_of(
    limit_bytes: float,
    result: PlanResult,
    near: Sequence[Judged],
    found: Sequence[Relief],
    *,
    memory_tie: bool | None = None,
) -> Binding:
    """What binds a plan: the resource of which twice as much would save the most time.

    Memory capacity binds where the plan does not fit, and where the fastest plan one step away
    that nothing but memory forbids, and that fits in twice the memory, would save more than any
    faster resource and does not tie with the plan. The pipeline bubble binds where it is the
    largest part of the step: no machine makes it a smaller part, and what speeds up the rest speeds
    it up as well.

    Args:
        limit_bytes: Bytes of a chip that may be filled.
        result: What the plan costs.
        near: The plans one step away.
        found: What faster resources would save.
        memory_tie: Whether that fastest plan which memory forbids ties with the plan.
    """
    largest = max(result.time_s, key=lambda name: result.time_s[name])
    kept = _kept_out(result, near)
    memory_gain = 0.0 if kept is None else 1 - _time(kept) / result.step_time_s
    best = max(found, key=lambda one: one.gain, default=None)
    gain = 0.0 if best is None else best.gain
    if result.memory_per_chip_bytes > limit_bytes:
        kind, part, relief, gain = CAPACITY, largest, "", 0.0
    elif largest == "bubble":
        kind, part, relief = "bubble", largest, "no bubble"
        gain = result.time_s[largest] / result.step_time_s
    elif (
        kept is not None
        and memory_gain > gain
        and not memory_tie
        and _fits_in(kept, FASTER * limit_bytes)
    ):
        kind, part, relief, gain = CAPACITY, largest, kept.change, memory_gain
    elif best is not None and best.gain > 0:
        kind, part, relief = best.kind, _part_of(result, best), best.change
    else:
        kind, part, relief, gain = KINDS[largest], largest, "", 0.0
    axes = tuple(axis for axis in _AXES.get(part, ()) if axis in result.levels)
    binding = Binding(
        kind=kind,
        part=part,
        share=result.time_s[part] / result.step_time_s,
        axes=axes,
        levels=tuple(dict.fromkeys(name for axis in axes for name in result.levels[axis])),
        relief=relief,
        gain=gain,
        kept_out="" if kept is None else kept.change,
        memory_gain=memory_gain,
        memory_tie=memory_tie,
        sentence="",
    )
    return replace(binding, sentence=_sentence(binding, limit_bytes, result, kept))


def _part_of(result: PlanResult, relief: Relief) -> str:
    """The largest part of a step that a resource takes; of communication: over its level."""
    parts = [name for name, kind in KINDS.items() if kind == relief.kind]
    if relief.level:
        parts = [
            name
            for name in parts
            if any(relief.level in result.levels.get(axis, ()) for axis in _AXES[name])
        ] or parts
    return max(parts, key=lambda name: result.time_s[name])


def _sentence(binding: Binding, limit_bytes: float, result: PlanResult, kept: Judged | None) -> str:
    """What binds, what would relieve it and by how much, and how much of the step it takes."""
    name = "Memory capacity" if binding.kind == CAPACITY else _BINDS[binding.kind]
    where = f" ({', '.join(binding.axes)} on {', '.join(binding.levels)})" if binding.levels else ""
    takes = f"{CAUSES[binding.part]}{where} takes {show_percent(binding.share)} of the step"
    if result.memory_per_chip_bytes > limit_bytes:
        held = f"{show_bytes(result.memory_per_chip_bytes)} of {show_bytes(limit_bytes)}"
        return f"{name} binds: the plan does not fit ({held}); {takes}."
    if binding.kind == "bubble" or not binding.relief:
        return f"{name} binds: {takes}."
    saves = f"would take {show_percent(binding.gain)} off the step"
    if binding.kind == CAPACITY:
        assert kept is not None
        return f"{name} binds: {_kept_words(kept, binding.gain)}; {takes}."
    article = "a " if binding.kind == "compute" else ""
    return f"{name} binds: {article}{binding.relief} {saves}; {takes}."


_BINDS = {
    "compute": "Compute",
    "memory bandwidth": "Memory bandwidth",
    "communication": "Communication",
    "bubble": "The pipeline bubble",
    "host link": "The link to host memory",
    "host": "The host",
}


def _kept_words(kept: Judged, gain: float) -> str:
    assert kept.refusal is not None
    return (
        f"{kept.change} would take {show_percent(gain)} off the step, but it does not fit "
        f"({kept.refusal.words})"
    )


def _time(one: Judged) -> float:
    assert one.result is not None
    return one.result.step_time_s


def _fits_in(one: Judged, limit_bytes: float) -> bool:
    return one.result is not None and one.result.memory_per_chip_bytes <= limit_bytes


def _kept_out(result: PlanResult, near: Sequence[Judged]) -> Judged | None:
    """The fastest plan one step away that memory alone forbids, where it is faster."""
    refused = [
        one
        for one in near
        if one.result is not None and one.refusal is not None and one.refusal.reason == "memory"
    ]
    fastest = min(refused, key=_time, default=None)
    return fastest if fastest is not None and _time(fastest) < result.step_time_s else None


def why_of(
    made: Rebuilding, best: PlanResult, limits: Limits, near: Sequence[Judged]
) -> tuple[Binding, tuple[str, ...]]:
    """What binds a plan; that and what comes next in a few sentences with figures.

    Args:
        made: The model, and how to make it again.
        best: What the plan costs.
        limits: What it has to obey.
        near: The plans one step away.
    """
    model = made.model
    limit = limits.bytes_of_plan(model, best.plan)
    kept = _kept_out(best, near)
    tie = None
    if kept is not None and kept.result is not None:
        tie = is_tie(model, best, kept.result, TIME)
    binding = binding_of(limit, best, near, reliefs(made, best), memory_tie=tie)
    lines = [
        binding.sentence,
        *_memory_sentence(best, binding, near),
        _next_sentence(best, binding.part),
        *_hidden_sentence(best),
    ]
    share = best.memory_per_chip_bytes / limit
    lines.append(
        f"The fullest chip holds {show_bytes(best.memory_per_chip_bytes)} of the "
        f"{show_bytes(limit)} that may be filled ({show_percent(share)}"
        + ("; memory is close to binding)." if share > 0.9 else ").")
    )
    if best.lacks_headroom:
        note = headroom_note(best.memory_per_chip_bytes, model.chip.memory_bytes)
        lines.append(f"{note[0].upper()}{note[1:]}.")
    return binding, tuple(lines)


def _memory_sentence(best: PlanResult, binding: Binding, near: Sequence[Judged]) -> list[str]:
    """The faster plan that memory keeps out, where something else binds."""
    kept = _kept_out(best, near)
    if kept is None or binding.kind == CAPACITY or binding.memory_gain < LEAST_GAIN:
        return []
    words = _kept_words(kept, binding.memory_gain)
    what = "a plan that ties with this one" if binding.memory_tie else "a faster plan"
    return [f"{KEPT_OUT} {what}: {words}."]


def _hidden_sentence(best: PlanResult) -> list[str]:
    """How much communication hides, where some does."""
    sent = sum(best.communication_s.values())
    hidden = sent - sum(best.time_s[name] for name in best.communication_s)
    if hidden <= 0.005 * best.step_time_s:
        return []
    share = show_percent(hidden / sent)
    words = f"Of {show_seconds(sent)} of communication, that of all axes added up,"
    return [f"{words} {share} hides behind other work."]


def _next_sentence(best: PlanResult, named: str) -> str:
    """What takes time beside the part that was named."""
    others = {name: seconds for name, seconds in best.time_s.items() if name != named}
    parts = sorted(others.items(), key=lambda item: -item[1])[:2]
    rest = [
        f"{CAUSES[name]} ({show_percent(part / best.step_time_s)})" for name, part in parts if part
    ]
    if not rest:
        return "Nothing else takes time, or what does is hidden behind it."
    return f"Next {'are' if len(rest) > 1 else 'is'} {' and '.join(rest)}."
