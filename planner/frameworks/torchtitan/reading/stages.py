"""The pipeline in settings of torchtitan.

Source: torchtitan/distributed/pipeline_parallel.py of v0.2.2 (73a0e69), `pipeline_llm` and
`generate_llm_fqn_per_model_part`: schedules of several stages per rank have two unless the layers
per stage say more; embedding and head count as the layers that `..._less_layers` says.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from models_db import Model
from planner.frameworks.reading.settings import LaunchSettings
from planner.frameworks.torchtitan.settings import SCHEDULES
from planner.plan import Stage
from planner.schedules import schedule_of

_START = "parallelism.pipeline_parallel_"
_MODULES = "parallelism.module_fqns_per_model_part"
_SCHEDULES = {name.lower(): schedule for schedule, name in SCHEDULES.items()}
_LAYER = re.compile(r"layers\.([0-9]{1,6})")


def pipeline_of(launch: LaunchSettings, model: Model, pp: int) -> dict[str, Any]:
    """Fields of the plan: schedule, interleaving, stages where no rule deals the layers."""
    name = launch.text(f"{_START}schedule", "1F1B")
    schedule = _SCHEDULES.get(name.lower(), "")
    ends = [launch.whole(f"{_START}{end}_stage_less_layers", 1, least=0) for end in _ENDS]
    per_stage = launch.whole(f"{_START}layers_per_stage")
    launch.taken.add(_MODULES)
    parts = launch.values.get(_MODULES, ())
    if pp == 1:
        return {}
    if launch.text(f"{_START}schedule_csv"):
        launch.unsupported(
            "schedule", f"{_START}schedule_csv", "is in another file", "schedule=1f1b"
        )
    if not schedule:
        what = f"{name} is none of {', '.join(SCHEDULES.values())}, which a plan has"
        launch.unsupported("schedule", f"{_START}schedule", what, "schedule=1f1b or interleaved")
        schedule = "1f1b"
    schedule = launch.fixed("schedule", schedule)
    if parts:
        sizes = _listed(launch, model, parts)
    else:
        chunks = pp * (2 if schedule_of(schedule).interleaves else 1)
        if per_stage:
            chunks = -(-(model.layers + sum(ends)) // per_stage)
        sizes = _dealt(launch, model.layers, chunks, ends)
    if len(sizes) % pp:
        launch.wrong(f"{_START}degree", f"{len(sizes)} stages are no multiple of pp {pp}")
    interleave = max(1, len(sizes) // pp)
    if not schedule_of(schedule).fits_interleave(np.array(interleave)):
        launch.wrong(f"{_START}schedule", f"{name} with {interleave} stages on a rank")
    stages = tuple(Stage(layers=size) for size in sizes)
    return {"schedule": schedule, "interleave": interleave, "stages": stages}


_ENDS = ("first", "last")


def _listed(launch: LaunchSettings, model: Model, parts: tuple[str, ...]) -> list[int]:
    """Layers of every part; they follow one another, from the embedding to the head."""
    found = [[int(number) for number in _LAYER.findall(part)] for part in parts]
    if [number for part in found for number in part] != list(range(model.layers)):
        count = sum(map(len, found))
        what = (
            f"its {count} layers are not those of {model.name}, 0 to {model.layers - 1}, in order"
        )
        launch.wrong(_MODULES, what)
    if "tok_embeddings" not in parts[0] or "norm" not in parts[-1]:
        launch.wrong(_MODULES, "tok_embeddings must stand in the first part, norm in the last")
    return [len(part) for part in found]


def _dealt(launch: LaunchSettings, layers: int, chunks: int, ends: list[int]) -> list[int]:
    """Layers per chunk, the first ones one more, less what embedding and head count for."""
    each, more = divmod(layers + sum(ends), chunks)
    sizes = [each + (chunk < more) for chunk in range(chunks)]
    sizes[0] -= ends[0]
    sizes[-1] -= ends[1]
    if each == 0 or min(sizes) < 0:
        launch.wrong(f"{_START}degree", f"{layers} layers are too few for {chunks} stages")
        launch.check()
    return sizes
