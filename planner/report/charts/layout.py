"""Layers of every pipeline stage, with what they compute again and the clock of the stage."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Plan, Stage
from planner.plan.layout_words import (
    ChunkLayers,
    chunk_layers,
    clocks_by_stage,
    explicit_stages,
    layers_by_chunk,
    recomputed_by_chunk,
    shardings_by_stage,
)
from planner.report.drawing.chart import Axis, Bar, Chart, Key, Mark, Words
from planner.report.drawing.style.looks import look_of

_KINDS = (
    ("none", "no recomputation"),
    ("selective", "selective recomputation"),
    ("full", "full recomputation"),
)
_MOST_WORDS = 24
"""Stages above which there is room for words."""
_MOST_TICKS = 16
_HALF = 0.36


def layout_chart(plan: Plan) -> Chart:
    """A stack of layers per stage, chunk on chunk with interleaving; its clock above it.

    Args:
        plan: With an explicit layout.
    """
    stages = explicit_stages(plan)
    chunks = [chunk_layers(stage, plan) for stage in stages]
    devices = range(min(plan.pp, len(stages)))
    stacks = [_stack(at, list(enumerate(chunks))[at :: plan.pp], plan) for at in devices]
    heights = [max((bar.top for bar in stack), default=0.0) for stack in stacks]
    most = max(heights)
    held = [(kind, words) for kind, words in _KINDS if any(getattr(c, kind) for c in chunks)]
    marks: list[Mark] = [bar for stack in stacks for bar in stack]
    labelled = len(stacks) <= _MOST_WORDS
    if labelled:
        marks += [
            Words(x=at, y=height + 0.05 * most, words=_clock(stages[at], plan))
            for at, height in enumerate(heights)
        ]
    return Chart(
        title="Layers and clock of every pipeline stage",
        subtitle=layers_by_chunk(plan),
        x=Axis(label="stage", low=-0.5, high=len(stacks) - 0.5, ticks=_ticks(len(stacks))),
        y=Axis(label="transformer layers", low=0.0, high=1.15 * max(most, 1)),
        marks=tuple(marks),
        legend=tuple(_key(kind, words) for kind, words in held),
        notes=("Above each stage: its clock over nominal.",) if labelled else (),
        description=_description(plan),
        header=(_noun(plan), "layers", *(words for _, words in held), "sharding", "clock"),
        rows=tuple(
            (
                f"{at}",
                f"{chunk.layers}",
                *(f"{getattr(chunk, kind)}" for kind, _ in held),
                stage.sharding or plan.sharding,
                _clock(stage, plan),
            )
            for at, (stage, chunk) in enumerate(zip(stages, chunks, strict=True))
        ),
        height=0.4,
    )


def _noun(plan: Plan) -> str:
    return "chunk" if plan.interleave > 1 else "stage"


def _look(kind: str) -> tuple[str, str]:
    """Kept layers look like arithmetic, recomputed ones like what is done again."""
    return look_of({"none": "compute", "selective": "recompute_selective"}.get(kind, "recompute"))


def _key(kind: str, words: str) -> Key:
    tone, hatch = _look(kind)
    return Key(words=words, tone=tone, hatch=hatch, kind="bar")


def _stack(device: int, chunks: Sequence[tuple[int, ChunkLayers]], plan: Plan) -> list[Bar]:
    """The layers of a stage's chunks, one on the other."""
    bars, low = [], 0
    for at, chunk in chunks:
        for kind, words in _KINDS:
            count = getattr(chunk, kind)
            if not count:
                continue
            tone, hatch = _look(kind)
            bars.append(
                Bar(
                    left=device - _HALF,
                    right=device + _HALF,
                    bottom=low,
                    top=low + count,
                    tone=tone,
                    hatch=hatch,
                    detail=f"{_noun(plan)} {at}: {count} of {chunk.layers} layers with {words}",
                )
            )
            low += count
    return bars


def _clock(stage: Stage, plan: Plan) -> str:
    return f"{plan.clock if stage.clock is None else stage.clock:g}"


def _ticks(count: int) -> tuple[tuple[float, str], ...]:
    step = -(-count // _MOST_TICKS)
    return tuple((float(at), f"{at}") for at in range(0, count, step))


def _description(plan: Plan) -> str:
    return (
        f"Layers: {layers_by_chunk(plan)}. Recomputation: {recomputed_by_chunk(plan)}. Sharding: "
        f"{shardings_by_stage(plan)}. Clock: {clocks_by_stage(plan)} of nominal."
    )
