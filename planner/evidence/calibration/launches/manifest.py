"""The manifest of a folder of short launches: what each runs, and which files it leaves.

measurements/manifest.yaml           this file
             plan.yaml               the plan whose step is to be predicted
             2-layers/measure.sh     a launch: its script, and what the framework needs
                      log-0.txt      its log, one per node; traces lie beside it
             nccl/measure.sh         nccl-tests, one text per collective
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.base.commands import path_typed
from planner.base.errors import InputError
from planner.base.files import is_folder, read_yaml_text
from planner.base.messages import Origin, one_line
from planner.base.mistakes import mistakes
from planner.question.files.plan_models import PlanModel
from planner.question.files.versions import OF_PLANS, check_version

NAME = "manifest.yaml"
PLAN = "plan.yaml"
SCRIPT = "measure.sh"
LOGS = "log-*.txt"
TRACES = ("**/*trace.json*", "**/torch_profile/*.json*", "**/*.sqlite")
NCCL = "nccl"
NCCL_LOGS = "*_perf*.txt"
Count = Annotated[int, Field(ge=1)]
Names = Annotated[str, Field(pattern=r"^[^/]")]
"""A pattern of names of files, seen from a folder."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LaunchModel(_Strict):
    """One short launch."""

    name: Annotated[str, Field(pattern=r"^[\w-]+$")] = Field(description="Its folder.")
    tells: str = Field(default="", description="What it tells apart, compared with the first.")
    nodes: Count = Field(description="Nodes that it runs on.")
    layers: Count = Field(description="Layers of the model that it trains.")
    global_batch_seqs: Count = Field(description="Sequences per step.")
    plan: PlanModel = Field(description="Its plan.")
    command: str = Field(description="What is typed on every node, in this folder.")
    logs: Names = Field(description="Its log, a pattern of names: one file per node.")
    traces: list[Names] = Field(description="Its profiler traces, patterns of names; optional.")


class NcclModel(_Strict):
    """The tests of collectives."""

    command: str = Field(description="What is typed, in this folder.")
    nodes: list[Count] = Field(description="Numbers of nodes, each with texts of its own.")
    logs: Names = Field(description="What the tests print, a pattern of names.")


class Manifest(_Strict):
    """The manifest of a folder."""

    schema_version: int = Field(description="Version of this form.")
    framework: str = Field(description="What runs the launches, of planner export --to.")
    chip: str = Field(description="Chip that is measured.")
    cluster: str = Field(description="Cluster that is measured.")
    recorded_steps: Count = Field(description="Steps in a trace that does not say how many.")
    plan: str = Field(description="File of the plan whose step is to be predicted.")
    launches: Annotated[list[LaunchModel], Field(min_length=1)]
    nccl: NcclModel | None = Field(default=None, description="Tests of collectives.")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder.

    Raises:
        InputError: There is none, or it is wrong; one line per mistake.
    """
    name = one_line(str(folder))
    writes = f"planner measure -o {path_typed(name)} writes it"
    if not is_folder(folder):
        raise InputError(f"measurements: {name} is no folder; {writes}")
    if not (folder / NAME).is_file():
        raise InputError(f"measurements: {name} has no {NAME}; {writes}")
    data, text = read_yaml_text(folder / NAME)
    origin = Origin(file=str(folder / NAME), content=text.content)
    check_version(data, origin, OF_PLANS)
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        known = (*Manifest.model_fields, *LaunchModel.model_fields, *PlanModel.model_fields)
        raise InputError("\n".join(mistakes(error, origin.label, known))) from error
