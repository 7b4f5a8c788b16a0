"""Layers of every stage and chunk in arguments of Megatron-LM.

Sources: megatron/training/arguments.py (`validate_args`: one of three ways to say chunks, none of
two beside first and last stages), megatron/core/transformer/transformer_block.py
(`get_num_layers_to_build`), d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from models_db import Model
from planner.base.errors import InputError
from planner.frameworks.reading.settings import LaunchSettings
from planner.plan import Stage
from planner.plan.layout_text import parse_layout, prediction_modules

Stages = tuple[Stage, ...] | None

_PER_CHUNK = "--num-layers-per-virtual-pipeline-stage"
_CHUNKS = "--num-virtual-stages-per-pipeline-rank"
_NO_OVERLAP = "--no-overlap-p2p-communication"
_LAYOUT = "--pipeline-model-parallel-layout"
_FIRST = "--decoder-first-pipeline-num-layers"
_LAST = "--decoder-last-pipeline-num-layers"
_ENDS = ("--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")


def chunks_of(launch: LaunchSettings, model: Model, pp: int) -> tuple[int, Stages, str]:
    """Chunks per stage, the layers of each where no rule of a plan deals them, and the rule.

    Raises:
        InputError: The layers do not divide, or two ways to divide them are given.
    """
    given = [name for name in (_PER_CHUNK, _CHUNKS, _LAYOUT) if name in launch.values]
    if len(given) > 1:
        launch.wrong(given[1], f"stands beside {given[0]}; Megatron-LM takes one of them")
    ends = [launch.on(name) for name in _ENDS]
    first, last = launch.whole(_FIRST), launch.whole(_LAST)
    if (first or last) and any(ends):
        launch.wrong(_FIRST if first else _LAST, f"stands beside {_ENDS[not ends[0]]}; keep one")
    _check_group(launch, pp)
    layout = launch.text(_LAYOUT)
    others = [name for name in (_FIRST, _LAST, *_ENDS) if name in launch.values]
    if layout and others:
        launch.wrong(_LAYOUT, f"stands beside {others[0]}; keep one")
    counted = model.layers + sum(ends)
    interleave = _interleave(launch, pp, counted)
    launch.check()
    if layout:
        found = _laid_out(launch, layout, model, pp)
        _check_interleaved(launch, pp, found[0], _LAYOUT)
        return found
    _check_interleaved(launch, pp, interleave, given[0] if given else _CHUNKS)
    launch.check()
    if first or last:
        sizes = _first_and_last(launch, model.layers, pp, first, last)
    else:
        if counted % (pp * interleave):
            what = "layers" if counted == model.layers else "layers, embedding and loss"
            chunks = f"{interleave} chunks on each of {pp} stages" if interleave > 1 else f"pp {pp}"
            launch.wrong("--pipeline-model-parallel-size", f"{counted} {what} over {chunks}")
            launch.check()
        if not any(ends):
            return interleave, None, "even"
        if all(ends):
            return interleave, None, "even-counted"
        sizes = [counted // pp] * pp
    dealt = _dealt(launch, sizes, interleave)
    if not (first or last):
        dealt[0] -= ends[0]
        dealt[-1] -= ends[1]
    return interleave, tuple(Stage(layers=count) for count in dealt), "even"


def _check_group(launch: LaunchSettings, pp: int) -> None:
    name = "--microbatch-group-size-per-virtual-pipeline-stage"
    if (group := launch.whole(name, pp)) != pp:
        launch.warnings.append(f"{name}: {group}; the prediction has groups of pp = {pp}")
    if launch.on(_NO_OVERLAP):
        launch.warnings.append(f"{_NO_OVERLAP}: the prediction hides messages between stages")


def _interleave(launch: LaunchSettings, pp: int, counted: int) -> int:
    """Chunks per stage where no layout says them."""
    chunks = launch.whole(_CHUNKS, 1)
    if per_chunk := launch.whole(_PER_CHUNK):
        if any(name in launch.values for name in (_FIRST, _LAST)):
            launch.wrong(_PER_CHUNK, f"Megatron-LM wants {_CHUNKS} where end stages differ")
        elif counted % (pp * per_chunk):
            launch.wrong(
                _PER_CHUNK, f"{counted} layers over pp {pp} are no multiple of {per_chunk}"
            )
        else:
            chunks = counted // (pp * per_chunk)
    return chunks


def _check_interleaved(launch: LaunchSettings, pp: int, interleave: int, name: str) -> None:
    """Several chunks on a stage need a pipeline; one of 3 stages where messages are not hidden."""
    least = 3 if _NO_OVERLAP in launch.values else 2
    if interleave > 1 and pp < least:
        beside = f" beside {_NO_OVERLAP}" if least > 2 else ""
        what = f"says {interleave} chunks on each stage, which needs pp of at least {least}{beside}"
        launch.wrong(name, f"{what}, not pp {pp}")


def _laid_out(launch: LaunchSettings, text: str, model: Model, pp: int) -> tuple[int, Stages, str]:
    try:
        layers, modules = parse_layout(text, predictions=True), prediction_modules(text)
    except InputError as error:
        launch.wrong(_LAYOUT, str(error).removeprefix("layout: "))
        launch.check()
        raise
    if sum(layers) != model.layers:
        launch.wrong(_LAYOUT, f"has {sum(layers)} layers; {model.name} has {model.layers}")
    if len(layers) % pp:
        launch.wrong(_LAYOUT, f"has {len(layers)} chunks, no multiple of pp {pp}")
    _check_modules(launch, modules, pp)
    launch.check()
    return len(layers) // pp, tuple(Stage(layers=count) for count in layers), "even"


def _check_modules(launch: LaunchSettings, modules: tuple[int, ...], pp: int) -> None:
    """Modules of multi-token prediction (m) stand together, in a last chunk of a stage.

    Source: core/transformer/pipeline_parallel_layer_layout.py (`validate_layer_layout`).
    """
    told = launch.whole("--mtp-num-layers", 0, least=0)
    if sum(modules) != told:
        what = f"has {sum(modules)} modules of multi-token prediction (m), --mtp-num-layers {told}"
        launch.wrong(_LAYOUT, what)
    elif any(modules) and max(modules) < told:
        launch.wrong(_LAYOUT, "has modules of multi-token prediction (m) in several chunks")
    elif any(modules[: len(modules) - pp]):
        what = "has modules of multi-token prediction (m) before the last chunk of their stage"
        launch.wrong(_LAYOUT, what)


def _first_and_last(
    launch: LaunchSettings, layers: int, pp: int, first: int, last: int
) -> list[int]:
    """Layers per stage: what the ends leave divides over the others."""
    others = pp - bool(first) - bool(last)
    left = layers - first - last
    if others < 0 or left < 0 or (left % others if others else left):
        launch.wrong(_FIRST if first else _LAST, f"{left} layers are left for {others} stages")
        launch.check()
    middle = [left // others] * others if others else []
    return [*([first] if first else []), *middle, *([last] if last else [])]


def _dealt(launch: LaunchSettings, sizes: list[int], interleave: int) -> list[int]:
    """Layers per chunk in the order of the pipeline; every stage divides into its chunks."""
    if wrong := [size for size in sizes if size % interleave]:
        launch.wrong(_CHUNKS, f"{wrong[0]} layers of a stage are no multiple of {interleave}")
        launch.check()
    return [size // interleave for _ in range(interleave) for size in sizes]
