"""Explicit stages of plan files that are read."""

from __future__ import annotations

from collections.abc import Sequence

from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.plan import Stage
from planner.question.files.plan_models import CountsModel, RecomputeModel, StageModel
from planner.question.files.plan_text import LAYER_KINDS

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
            stages.append(_stage(model, [kinds.count(kind) for kind in LAYER_KINDS]))
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
    apart = {name: getattr(given, name) or CountsModel() for name in LAYER_KINDS}
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
