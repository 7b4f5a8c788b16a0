"""What binds a plan, in one sentence, and the sentences that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.cost.context import CostModel
from planner.explanation.neighbors import Judged
from planner.memory_risk import headroom_note
from planner.results import PlanResult
from planner.search.limits import Limits
from planner.units import show_bytes, show_percent, show_seconds

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
"""What binds where a part takes the most time."""
CAPACITY = "memory capacity"
LEAST_GAIN = 0.01
"""A plan that memory keeps out counts from this share of the step time on."""
_AXES = {
    "tensor_parallel": ("tp",),
    "context_parallel": ("cp",),
    "expert_parallel": ("ep",),
    "pipeline_transfer": ("pp",),
    "data_parallel": ("fsdp", "dp"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What binds a plan.

    Attributes:
        kind: compute, memory bandwidth, communication, bubble, host link, host or memory capacity.
        part: The largest part of the step, one of `planner.cost.breakdown.TIME_PARTS`.
        share: Of the step time.
        axes, levels: Of communication: mesh axes, and the network levels that they cross.
        gain: Step time that the fastest plan which only memory forbids would save, over the step
            time; 0 where there is none.
        sentence: All of it in one sentence.
    """

    kind: str
    part: str
    share: float
    axes: tuple[str, ...]
    levels: tuple[str, ...]
    gain: float
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "axes": list(self.axes), "levels": list(self.levels)}


def binding_of(
    model: CostModel, result: PlanResult, limits: Limits, near: Sequence[Judged]
) -> Binding:
    """What binds a plan: the memory of a chip, or what takes the largest part of the step.

    Memory capacity binds where the plan itself does not fit, or where a plan one step away that
    nothing but memory forbids would be faster by `LEAST_GAIN` or more.

    Args:
        model: Job, cluster, assumptions.
        result: What the plan costs.
        limits: What it has to obey.
        near: The plans one step away.
    """
    part, seconds = max(result.time_s.items(), key=lambda item: item[1])
    share = seconds / result.step_time_s
    axes = tuple(axis for axis in _AXES.get(part, ()) if axis in result.levels)
    levels = tuple(dict.fromkeys(name for axis in axes for name in result.levels[axis]))
    where = f" ({', '.join(axes)} on {', '.join(levels)})" if levels else ""
    largest = f"{CAUSES[part]}{where} takes {show_percent(share)} of the step"
    kept_out = _kept_out(result, near)
    gain = 0.0 if kept_out is None else 1 - _time(kept_out) / result.step_time_s
    limit = limits.chip_bytes(model)
    kind = KINDS[part]
    if result.memory_per_chip_bytes > limit:
        kind = CAPACITY
        held = f"{show_bytes(result.memory_per_chip_bytes)} of {show_bytes(limit)}"
        sentence = f"Memory capacity binds: the plan does not fit ({held}); {largest}."
    elif kept_out is not None and gain >= LEAST_GAIN:
        kind = CAPACITY
        assert kept_out.refusal is not None
        sentence = (
            f"Memory capacity binds: {kept_out.change} would take {show_percent(gain)} off the "
            f"step, but it does not fit ({kept_out.refusal.words}); {largest}."
        )
    else:
        sentence = f"{_BINDS[kind]} binds: {largest}."
    return Binding(
        kind=kind, part=part, share=share, axes=axes, levels=levels, gain=max(gain, 0.0),
        sentence=sentence,
    )  # fmt: skip


_BINDS = {
    "compute": "Compute",
    "memory bandwidth": "Memory bandwidth",
    "communication": "Communication",
    "bubble": "The pipeline bubble",
    "host link": "The link to host memory",
    "host": "The host",
}


def _time(one: Judged) -> float:
    assert one.result is not None
    return one.result.step_time_s


def _kept_out(result: PlanResult, near: Sequence[Judged]) -> Judged | None:
    """The fastest plan one step away that memory alone forbids, where it is faster."""
    refused = [
        one
        for one in near
        if one.result is not None and one.refusal is not None and one.refusal.reason == "memory"
    ]
    fastest = min(refused, key=_time, default=None)
    return fastest if fastest is not None and _time(fastest) < result.step_time_s else None


def sentences(
    model: CostModel, best: PlanResult, limits: Limits, binding: Binding
) -> tuple[str, ...]:
    """What binds a plan and what comes next, in a few sentences with figures."""
    lines = [binding.sentence, _next_sentence(best), *_hidden_sentence(best)]
    limit = limits.chip_bytes(model)
    share = best.memory_per_chip_bytes / limit
    lines.append(
        f"The fullest chip holds {show_bytes(best.memory_per_chip_bytes)} of the "
        f"{show_bytes(limit)} that may be filled ({show_percent(share)}"
        + ("; memory is close to binding)." if share > 0.9 else ").")
    )
    if best.lacks_headroom:
        note = headroom_note(best.memory_per_chip_bytes, model.chip.memory_bytes)
        lines.append(f"{note[0].upper()}{note[1:]}.")
    return tuple(lines)


def _hidden_sentence(best: PlanResult) -> list[str]:
    """How much communication hides, where some does."""
    sent = sum(best.communication_s.values())
    hidden = sent - sum(best.time_s[name] for name in best.communication_s)
    if hidden <= 0.005 * best.step_time_s:
        return []
    share = show_percent(hidden / sent)
    return [f"Of {show_seconds(sent)} of communication {share} hides behind other work."]


def _next_sentence(best: PlanResult) -> str:
    """What takes time beside the largest part of a step."""
    parts = sorted(best.time_s.items(), key=lambda item: -item[1])[1:3]
    rest = [
        f"{CAUSES[name]} ({show_percent(part / best.step_time_s)})" for name, part in parts if part
    ]
    if not rest:
        return "Nothing else takes time, or what does is hidden behind it."
    return f"Next {'are' if len(rest) > 1 else 'is'} {' and '.join(rest)}."
