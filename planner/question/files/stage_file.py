"""Explicit stages as plan files write them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.plan import Stage
from planner.question.files.plan_models import CountsModel, RecomputeModel, StageModel

_KINDS = ("dense", "moe")
_WORDS = ("dense", "mixture-of-experts")


def stages_of(
    models: Sequence[StageModel], layer_kinds: Sequence[str], origin: Origin
) -> tuple[Stage, ...]:
    """The stages that a file describes.

    Args:
        models: As written.
        layer_kinds: Of every layer of the model; read only where counts do not say of which kind.
        origin: Names the fields of the file in messages.

    Raises:
        InputError: Counts of a stage with both kinds of layers do not say of which; a line each.
    """
    stages, problems, first = [], [], 0
    for index, model in enumerate(models):
        kinds = layer_kinds[first : first + model.layers]
        first += model.layers
        try:
            stages.append(_stage(model, [kinds.count(kind) for kind in _KINDS]))
        except InputError as error:
            field = origin.label(["plan", "stages", index, "recompute"])
            problems.append(f"{field}: {error}")
    if problems:
        raise InputError("\n".join(problems))
    return tuple(stages)


def _stage(model: StageModel, layers: list[int]) -> Stage:
    given = model.recompute or RecomputeModel()
    if given.flat and all(layers):
        has = " and ".join(f"{n} {kind}" for n, kind in zip(layers, _WORDS, strict=True))
        counts = f"full: {given.full}" if given.full else f"selective: {given.selective}"
        raise InputError(f"the stage has {has} layers; say of which, e.g. {{moe: {{{counts}}}}}")
    apart = {name: getattr(given, name) or CountsModel() for name in _KINDS}
    if given.flat:
        apart["moe" if layers[1] else "dense"] = CountsModel(
            selective=given.selective, full=given.full
        )
    return Stage(
        layers=model.layers,
        recompute=given.rest,
        selective=(apart["dense"].selective, apart["moe"].selective),
        full=(apart["dense"].full, apart["moe"].full),
        sharding=model.sharding,
        clock=model.clock,
        pool=model.pool,
    )


def stage_fields(stage: Stage) -> dict[str, Any]:
    """A stage as plain data; what is the plan's is left out."""
    fields = {
        "layers": stage.layers,
        "recompute": _recompute_fields(stage) or stage.recompute,
        "sharding": stage.sharding,
        "clock": stage.clock,
        "pool": stage.pool,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _recompute_fields(stage: Stage) -> dict[str, Any]:
    """Counts by kind and recomputation with what holds for the rest; empty without counts."""
    counts = {
        kind: {name: number for name, number in (("selective", some), ("full", full)) if number}
        for kind, some, full in zip(_KINDS, stage.selective, stage.full, strict=True)
    }
    found: dict[str, Any] = {kind: each for kind, each in counts.items() if each}
    if found and stage.recompute is not None:
        found["rest"] = stage.recompute
    return found
