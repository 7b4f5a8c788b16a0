"""Layers of every pipeline stage, with what they compute again and the clock of the stage."""

from __future__ import annotations

from collections.abc import Sequence

from planner.plan import Plan, Stage
from planner.report.chart import Axis, Bar, Chart, Key, Mark, Words
from planner.layout_words import (
    ChunkLayers,
    chunk_layers,
    clocks_by_stage,
    explicit_stages,
    layer_words,
    recomputed_by_chunk,
    shardings_by_stage,
)
from planner.report.looks import look_of

_KINDS = (
    ("none", "no recomputation"),
    ("selective", "selective recomputation"),
    ("full", "full recomputation"),
)
_MOST_WORDS = 24
"""Chunks above whose bars there is room for words."""
_MOST_TICKS = 16
_HALF = 0.36


def layout_chart(plan: Plan) -> Chart:
    """A stack of layers per stage (per chunk, with interleaving); its clock above it.

    Args:
        plan: With an explicit layout.
    """
    stages = explicit_stages(plan)
    chunks = [chunk_layers(stage, plan) for stage in stages]
    noun = "chunk" if plan.interleave > 1 else "stage"
    most = max(chunk.layers for chunk in chunks)
    held = [(kind, words) for kind, words in _KINDS if any(getattr(c, kind) for c in chunks)]
    marks: list[Mark] = [bar for at, chunk in enumerate(chunks) for bar in _stack(at, chunk, noun)]
    choices = [(stage.sharding or plan.sharding, _clock(stage, plan)) for stage in stages]
    if len(stages) <= _MOST_WORDS:
        marks += [
            Words(x=at, y=chunk.layers + 0.05 * most, words=words)
            for at, (chunk, (_, words)) in enumerate(zip(chunks, choices, strict=True))
        ]
    return Chart(
        title=f"Layers and clock of every pipeline {noun}",
        subtitle=layer_words(chunk.layers for chunk in chunks),
        x=Axis(
            label=f"{noun}, in the order of the layers",
            low=-0.5,
            high=len(stages) - 0.5,
            ticks=_ticks(len(stages)),
        ),
        y=Axis(label="transformer layers", low=0.0, high=1.15 * max(most, 1)),
        marks=tuple(marks),
        legend=tuple(
            Key(words=words, tone=_look(kind)[0], hatch=_look(kind)[1], kind="bar")
            for kind, words in held
        ),
        notes=("Above each bar: the clock over nominal." if len(stages) <= _MOST_WORDS else "",),
        description=_description(plan, chunks, noun),
        header=(noun, "layers", *(words for _, words in held), "sharding", "clock"),
        rows=tuple(
            (f"{at}", f"{chunk.layers}", *(f"{getattr(chunk, kind)}" for kind, _ in held), *how)
            for at, (chunk, how) in enumerate(zip(chunks, choices, strict=True))
        ),
        height=0.4,
    )


def _look(kind: str) -> tuple[str, str]:
    """Kept layers look like arithmetic, recomputed ones like what is done again."""
    return look_of({"none": "compute", "selective": "recompute_selective"}.get(kind, "recompute"))


def _stack(at: int, chunk: ChunkLayers, noun: str) -> list[Bar]:
    bars, low = [], 0
    for kind, words in _KINDS:
        count = getattr(chunk, kind)
        if not count:
            continue
        tone, hatch = _look(kind)
        bars.append(
            Bar(
                left=at - _HALF,
                right=at + _HALF,
                bottom=low,
                top=low + count,
                tone=tone,
                hatch=hatch,
                detail=f"{noun} {at}: {count} of {chunk.layers} layers with {words}",
            )
        )
        low += count
    return bars


def _clock(stage: Stage, plan: Plan) -> str:
    return f"{plan.clock if stage.clock is None else stage.clock:g}"


def _ticks(count: int) -> tuple[tuple[float, str], ...]:
    step = -(-count // _MOST_TICKS)
    return tuple((float(at), f"{at}") for at in range(0, count, step))


def _description(plan: Plan, chunks: Sequence[ChunkLayers], noun: str) -> str:
    layers = layer_words(chunk.layers for chunk in chunks)
    return (
        f"Layers per {noun}: {layers}. Recomputation: {recomputed_by_chunk(plan)}. Sharding: "
        f"{shardings_by_stage(plan)}. Clock: {clocks_by_stage(plan)} of nominal."
    )
