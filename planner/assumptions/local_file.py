"""A local calibration: constants that `planner calibrate` fitted to a user's own measurements.

    based_on: default                the shipped calibration that it changes
    chips, eras                      where it was measured; elsewhere its constants are not used
    constants                        the changed ones, with prior, sigma (of the logarithm) and n

A constant of an era (`era.NAME...`) belongs to that era; the site factor holds for the eras that
were measured, everything else for the chips.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from frozen_records import dataclass
from hardware_db import (
    Calibration,
    Chip,
    Cluster,
    FrozenMap,
    HardwareError,
    Quantity,
    Source,
    load_calibration,
)
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.assumptions.experts import ExpertSoftware
from planner.assumptions.file_kinds import another_kind
from planner.assumptions.fitted import is_hidden_share
from planner.base.errors import InputError
from planner.base.files import read_yaml_text
from planner.base.messages import MOST_MISTAKES, Origin, did_you_mean, one_line, shown
from planner.base.mistakes import mistakes

SITE_FACTOR = "site_factor.local"
"""Path of the multiplier of the whole step; 1 where a file has none."""
POWER = {"busy_w": "power.busy_share_of_tdp", "wait_w": "power.wait_share_of_tdp",
         "idle_w": "power.idle_share_of_tdp"}  # fmt: skip
"""Field of a chip to the constant that a file may hold instead, as a share of the power limit."""
_SOURCE = "local"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _day(value: Any) -> Any:
    """A date as text; YAML reads one without quotes as a date."""
    return value.isoformat() if isinstance(value, datetime.date) else value


class ConstantModel(_Strict):
    """One changed constant."""

    value: Number = Field(description="Posterior value.")
    unit: str = Field(description="Unit, as in the shipped calibration.")
    kind: str = Field(default="measured", description="How the number is known.")
    source: str = Field(default=_SOURCE, description="Key of `sources`.")
    prior: Number = Field(description="Value before the measurements.")
    sigma: Share = Field(description="Standard deviation of its logarithm, after them.")
    n: Annotated[int, Field(ge=1)] = Field(description="Measurements that it rests on.")
    note: str | None = Field(default=None, description="What moved it.")


class InputModel(_Strict):
    """A file, or a device, that was measured."""

    file: str = Field(description="Name of the file, or `device`.")
    kind: str = Field(description="runs, nccl, gemm or measured.")
    sha256: str = Field(description="Hash of its content.")
    rows: Annotated[int, Field(ge=0)] = Field(description="Measurements used.")


class SourceModel(_Strict):
    """Where numbers come from."""

    title: str
    document: str


class LocalModel(_Strict):
    """A local calibration as written in a file."""

    name: str = Field(default="local", description="Label.")
    title: str = Field(default="Local calibration", description="Label in words.")
    note: str | None = Field(default=None, description="What to know about it.")
    based_on: str = Field(description="Shipped calibration whose constants it changes.")
    date: Annotated[str, BeforeValidator(_day)] = Field(
        description="Day of the fit, as YYYY-MM-DD."
    )
    planner: str = Field(default="", description="Version that wrote it.")
    chips: Annotated[list[str], Field(min_length=1)] = Field(description="Chips measured.")
    eras: list[str] = Field(default=[], description="Software eras of the runs.")
    runs: Annotated[int, Field(ge=0)] = Field(
        default=0, description="Training runs that the site factor rests on."
    )
    inputs: list[InputModel] = Field(default=[], description="What it was fitted to.")
    constants: dict[str, Any] = Field(description="Changed constants by dotted path.")
    sources: dict[str, SourceModel] = Field(default={}, description="Where they come from.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCalibration:
    """A local calibration over the shipped one.

    Attributes:
        file: Its path as the user wrote it.
        chips, eras: Where it was measured.
        runs: Training runs that its site factor rests on.
        constants: Dotted path to the changed constants.
        calibration: The shipped calibration with the changes.
    """

    file: str
    chips: tuple[str, ...]
    eras: tuple[str, ...]
    runs: int
    constants: Mapping[str, ConstantModel]
    calibration: Calibration

    def holds_for(self, chip: Chip) -> bool:
        """Whether the chip was measured."""
        return chip.name in self.chips

    def is_measured(self, era: str) -> bool:
        """Whether runs with the software were measured; a file that names none holds for all."""
        return not self.eras or era in self.eras

    def site_factor(self, chip: Chip, era: str) -> float:
        """The multiplier of the whole step; 1 where chip or era were not measured."""
        if not self.holds_for(chip) or not self.is_measured(era):
            return 1.0
        return self.constants[SITE_FACTOR].value if SITE_FACTOR in self.constants else 1.0

    def assumptions(
        self,
        chip: Chip,
        era: str,
        precision: str,
        experts: ExpertSoftware | None = None,
        recipe: str = "",
    ) -> Assumptions:
        """`calibrated` with the local constants where they hold.

        Raises:
            InputError: The chip has no rate at that precision, or the era is unknown.
        """
        if not self.holds_for(chip):
            return calibrated(chip, era, precision, experts=experts, recipe=recipe)
        local = calibrated(chip, era, precision, self.calibration, experts, recipe)
        return replace(
            local,
            name=f"{local.name} with {Path(self.file).name}",
            site_factor=local.site_factor * self.site_factor(chip, era),
            local_runs=self.runs if self.is_measured(era) else 0,
        )

    def powers(self, chip: Chip) -> dict[str, float]:
        """Fields of a chip to its powers that were measured, in watts; none of another chip."""
        if not self.holds_for(chip):
            return {}
        return {
            field: self.constants[path].value * chip.tdp_w
            for field, path in POWER.items()
            if path in self.constants
        }

    def on_cluster(self, cluster: Cluster) -> Cluster:
        """The cluster with the powers of its chip that were measured."""
        measured = self.powers(cluster.chip)
        if not measured:
            return cluster
        return replace(cluster, chip=replace(cluster.chip, **measured))  # type: ignore[arg-type]

    def use(self, chip: Chip, era: str) -> tuple[str, str]:
        """What an answer says of the file: how much of it was used, and why."""
        name, where = one_line(self.file), ", ".join(self.chips)
        if not self.holds_for(chip):
            return f"{name}: not used", f"measured on {where}, not on {chip.name}"
        eras = ", ".join(self.eras)
        used = [
            path
            for path in self.constants
            if path != SITE_FACTOR and (not path.startswith("era.") or path.split(".")[1] == era)
        ]
        words = [f"{len(used)} local constant{'' if len(used) == 1 else 's'}"] if used else []
        if SITE_FACTOR not in self.constants:
            return f"{name}: {', '.join(words) or 'not used'}", f"measured on {where}"
        if not self.is_measured(era):
            words.append("no site factor")
            return f"{name}: {', '.join(words)}", f"measured on {where} with {eras}, not with {era}"
        words.append(f"site factor {self.site_factor(chip, era):.3f}")
        return f"{name}: {', '.join(words)}", f"measured on {where} with {eras or era}"


def read_local(name: str, field: str = "calibration") -> LocalCalibration:
    """The local calibration in a file.

    Args:
        name: Path of the YAML file.
        field: What names it, for messages.

    Raises:
        InputError: The file cannot be read or used; one line per mistake.
    """
    label = one_line(name)
    data, text = read_yaml_text(Path(name))
    origin = Origin(file=name, content=text.content)
    if mistaken := another_kind(data, "a local calibration", "table"):
        raise InputError(f"{field}: {label}: {mistaken}")
    try:
        model = LocalModel.model_validate(data)
    except ValidationError as error:
        lines = mistakes(error, origin.label, LocalModel.model_fields)
        raise InputError("\n".join(lines)) from error
    base = _base(model.based_on, origin)
    constants, problems = _constants(model, base)
    if problems:
        raise InputError("\n".join(map(text.located, problems)))
    return LocalCalibration(
        file=name,
        chips=tuple(model.chips),
        eras=tuple(model.eras),
        runs=model.runs,
        constants=constants,
        calibration=changed(base, constants, model.name, model.title),
    )


def _dotted(path: Any) -> str:
    return ".".join(str(step) for step in path) or "file"


def _base(name: str, origin: Origin) -> Calibration:
    try:
        return load_calibration(name)
    except HardwareError as error:
        raise InputError(f"{origin.label(['based_on'])}: {error}") from error


def changed(
    base: Calibration, constants: Mapping[str, ConstantModel], name: str, title: str
) -> Calibration:
    """A calibration with other values for some constants, marked as local."""
    values = {path: constant.value for path, constant in constants.items()}
    quantities = {
        path: Quantity(
            value=constant.value,
            unit=constant.unit,
            kind="measured",
            sources=(_SOURCE,),
            note=constant.note or "",
        )
        for path, constant in constants.items()
    }
    source = Source(key=_SOURCE, title=title, reference="planner calibrate")
    return Calibration(
        name=name,
        title=title,
        values=FrozenMap({**base.values, **values}),
        quantities=FrozenMap({**base.quantities, **quantities}),
        sources=FrozenMap({**base.sources, _SOURCE: source}),
    )


def _constants(model: LocalModel, base: Calibration) -> tuple[dict[str, ConstantModel], list[str]]:
    """The changed constants by path, and what is wrong with them."""
    found: dict[str, ConstantModel] = {}
    problems: list[str] = []
    for path, leaf in _leaves(model.constants, ""):
        label = f"constants.{path}"
        try:
            constant = ConstantModel.model_validate(leaf)
        except ValidationError as error:
            known = ConstantModel.model_fields
            problems += mistakes(error, lambda p, at=label: f"{at}.{_dotted(p)}", known)  # type: ignore[misc]
        else:
            problems += [f"{label}: {text}" for text in _unfit(path, constant, base)]
            found[path] = constant
        if len(problems) > MOST_MISTAKES:
            problems[MOST_MISTAKES:] = ["and more"]
            break
    if not found and not problems:
        problems.append("constants: is empty; a local calibration changes at least one")
    return found, problems


def _unfit(path: str, constant: ConstantModel, base: Calibration) -> list[str]:
    """Why a constant cannot stand in a file, if it cannot."""
    if path == SITE_FACTOR:
        unit = "1"
    elif path in base.values:
        unit = base.quantities[path].unit
    else:
        return [f"is no constant of {base.name}{did_you_mean(path, base.values)}"]
    lines = []
    if constant.unit != unit:
        lines.append(f"unit: {shown(constant.unit)} given, {unit!r} required here")
    share = path.startswith(("gemm_eff", "attention_eff", "memory_eff")) or path.endswith(
        ("scale_up_efficiency", "scale_out_efficiency")
    )
    if share and constant.value > 1.5:
        lines.append(f"value: {constant.value:g}: must be at most 1.5, a share of the peak")
    if is_hidden_share(path) and constant.value > 1:
        lines.append(f"value: {constant.value:g}: must be at most 1, a share of communication")
    return lines


def _leaves(node: Any, path: str) -> list[tuple[str, Any]]:
    """Paths and quantities of a tree; what is no mapping is left to the validation."""
    if isinstance(node, dict) and "value" not in node and "unit" not in node:
        found = []
        for key, child in node.items():
            found += _leaves(child, f"{path}.{key}" if path else str(key))
        return found
    return [(path, node)]
