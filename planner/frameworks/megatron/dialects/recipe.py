"""A launch as arguments of Megatron-LM, whatever its form was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted

Settings = Mapping[str, tuple[str, ...]]
ADAPTERS = (
    "trains adapters beside frozen weights, whose launches are not read; --job lora plans such"
)
"""Why a launch is refused that would be read as one that trains all weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A launch as arguments.

    Attributes:
        settings: Arguments of Megatron-LM with their values.
        command: What started it, with the chips and what was left out.
        is_command: Whether these arguments stand in the text as they are.
        states_model: Whether the arguments say the model; else its name does.
        model: The name that the launch gives the model, if any.
        dimensions: Dimensions that no argument says, by the names of `models_db.Model`.
        accumulation: Micro-batches of a step on every data rank; 0: the batch says it.
        assumed: What the form leaves to its own defaults.
        job: Fields of the job that no argument says.
    """

    settings: Settings
    command: Command
    is_command: bool = True
    states_model: bool = True
    model: str = ""
    dimensions: Mapping[str, Any] = field(default_factory=dict)
    accumulation: int = 0
    assumed: tuple[Noted, ...] = ()
    job: Mapping[str, Any] = field(default_factory=dict)


def as_arguments(values: Iterable[tuple[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Names of fields as arguments: a switch that is off, or nothing, is left out.

    >>> as_arguments([("num_layers", 4), ("bf16", True), ("fp16", False), ("load", None)])
    {'--num-layers': ('4',), '--bf16': ()}
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, value in values:
        flag = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            found.pop(flag, None)
        elif value is True:
            found[flag] = ()
        elif isinstance(value, list):
            found[flag] = tuple(map(str, value))
        elif isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            found[flag] = (str(int(value)),)
        elif isinstance(value, str | int | float):
            found[flag] = (str(value),)
    return found
