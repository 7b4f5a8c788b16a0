"""Workloads of a user: a YAML file of einsums, checked against a form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planner.assumptions.file_kinds import another_kind
from planner.base.errors import InputError
from planner.base.fields import refusal, schema_of
from planner.base.files import YAML_SUFFIXES, read_yaml_text
from planner.base.messages import Origin, did_you_mean, not_one_of, one_line, shown
from planner.base.mistakes import mistakes
from planner.studies.rack.model.workloads import WORKLOADS, Einsum, Workload, workload_named

_MOST = 10**12  # products of three sizes stay far within floating point
_MOST_EINSUMS = 200
_FORM = ConfigDict(extra="forbid", strict=True)
Size = Annotated[int, Field(ge=1, le=_MOST)]
Name = Annotated[str, Field(min_length=1, max_length=40)]


class EinsumModel(BaseModel):
    """A multiplication (rows x inner) @ (inner x outputs) per item of the batch."""

    model_config = _FORM
    name: Name = Field(description="Label, unique in its workload.")
    rows: Size = Field(default=1, description="Rows per item: tokens, or pixels of the output.")
    inner: Size = Field(description="Inner dimension: inputs, or input channels x window.")
    outputs: Size = Field(description="Columns: outputs, or output channels.")
    copies: Size = Field(default=1, description="Independent multiplications per item (heads).")
    has_weights: bool = Field(
        default=True, description="Whether the second operand is parameters, else activations."
    )
    splits_inner: bool = Field(
        default=False,
        description="Whether Megatron's tensor parallelism splits the inner dimension.",
    )
    input_elements: Annotated[int, Field(ge=0, le=_MOST)] = Field(
        default=0,
        description="Distinct input elements per item where windows overlap; 0: rows x inner.",
    )
    inputs: list[Name] = Field(
        default=[],
        description="Einsums before it whose outputs it reads; none: the input.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> EinsumModel:
        if self.input_elements > self.rows * self.inner * self.copies:
            raise refusal(
                f"input_elements {self.input_elements:,} is more than rows x inner x copies, "
                f"{self.rows * self.inner * self.copies:,}"
            )
        return self


class WorkloadModel(BaseModel):
    """A list of einsums in the order of their execution."""

    model_config = _FORM
    name: Name = Field(description="Label, and the key in JSON.")
    title: str = Field(default="", max_length=200, description="One line for people.")
    einsums: list[EinsumModel] = Field(min_length=1, max_length=_MOST_EINSUMS)
    batch: Size | None = Field(
        default=None, description="Items in all; null: one per data-parallel rank."
    )
    word_bytes: Annotated[float, Field(gt=0, le=16, allow_inf_nan=False)] = Field(
        default=1.0, description="Bytes of a weight or activation."
    )
    gradient_bytes: Annotated[float, Field(gt=0, le=16, allow_inf_nan=False)] = Field(
        default=4.0, description="Bytes of a gradient on the wire."
    )

    @model_validator(mode="after")
    def _is_ordered(self) -> WorkloadModel:
        before: list[str] = []
        for einsum in self.einsums:
            if einsum.name in before:
                raise refusal(f"two einsums are named {shown(einsum.name)}")
            for name in einsum.inputs:
                if name not in before:
                    hint = did_you_mean(name, before)
                    raise refusal(
                        f"einsum {shown(einsum.name)} reads {shown(name)}, which is no einsum "
                        f"before it{hint}"
                    )
            before.append(einsum.name)
        if not any(einsum.has_weights for einsum in self.einsums):
            raise refusal("no einsum has weights, so there is nothing to share or fetch")
        return self


def workload_from(name: str) -> Workload:
    """A workload by name, or that of a user's YAML file.

    Raises:
        InputError: The name is unknown, or the file is wrong; one line per mistake.
    """
    if not name.strip():
        raise InputError(f"workload: is empty; use {', '.join(sorted(WORKLOADS))} or a YAML file")
    if not (name.endswith(YAML_SUFFIXES) or "/" in name or "\\" in name):
        if name in WORKLOADS or ":" in name:
            return workload_named(name)
        raise InputError(f"workload: {not_one_of(name, (*sorted(WORKLOADS), 'FILE.yaml'))}")
    return read_workload(Path(name))


def read_workload(path: Path) -> Workload:
    """The workload of a YAML file.

    Raises:
        InputError: The file cannot be read or used; one line per mistake.
    """
    label = one_line(str(path))
    data, text = read_yaml_text(path)
    if mistaken := another_kind(data, "a workload", "workload"):
        raise InputError(f"workload: {label}: {mistaken}")
    known = {*WorkloadModel.model_fields, *EinsumModel.model_fields}
    try:
        model = WorkloadModel.model_validate(data)
    except ValidationError as error:
        origin = Origin(file=str(path), content=text.content)
        lines = mistakes(error, origin.label, known)
        raise InputError("\n".join(lines)) from error
    return workload_of(model)


def workload_of(model: WorkloadModel) -> Workload:
    """The workload that a checked file describes."""
    einsums = tuple(
        Einsum(**{**einsum.model_dump(), "inputs": tuple(einsum.inputs)})
        for einsum in model.einsums
    )
    first = einsums[0]
    return Workload(
        name=model.name,
        title=model.title or model.name,
        einsums=einsums,
        input_elements=first.input_elements or first.rows * first.inner * first.copies,
        batch=model.batch,
        word_bytes=model.word_bytes,
        gradient_bytes=model.gradient_bytes,
        note="from a file",
    )


def workload_schema() -> dict[str, Any]:
    """The JSON Schema of a workload file."""
    return schema_of(WorkloadModel)
