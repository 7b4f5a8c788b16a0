"""Primus: YAML with the fields of Megatron-LM's own arguments, and the name of a model file.

Names and defaults: AMD-AGI/Primus primus/configs/modules/megatron/trainer_base.yaml and
pre_trainer.yaml, fd1eeabbad (2026-08-22).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.megatron.dialects.recipe import Recipe, as_arguments
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import section

_DEFAULTS = {
    "micro_batch_size": 2,
    "global_batch_size": 16,
    "seq_length": 1024,
    "bf16": True,
    "use_distributed_optimizer": True,
}
_RENAMED = {"fp8": "fp8_format"}
_VARIABLE = re.compile(r"\$\{\w+:([^{}]*)\}")
_MODULES = ("pre_trainer", "sft_trainer", "post_trainer")


def primus(data: Mapping[str, Any], asked: Asked) -> Recipe:
    """A configuration of Primus for Megatron-LM as arguments.

    Raises:
        InputError: It has no module that trains.
    """
    modules = section(data, "modules")
    module = next((section(modules, name) for name in _MODULES if name in modules), None)
    if module is None:
        raise InputError(f"{asked.name}: modules: has none of {', '.join(_MODULES)}")
    given = {name: _filled(value) for name, value in section(module, "overrides").items()}
    if given.get("use_torch_fsdp2"):
        given.setdefault("use_distributed_optimizer", False)
    values = {**_DEFAULTS, **given}
    if values.get("bf16") and values.get("fp16"):
        values["bf16"] = "bf16" in given
    named = [(_RENAMED.get(name, name), value) for name, value in values.items()]
    left = [name for name in _DEFAULTS if name not in given]
    return Recipe(
        settings=as_arguments([(name, _switch(name, value)) for name, value in named]),
        command=Command(words=[]),
        is_command=False,
        states_model=False,
        model=str(_filled(module.get("model", ""))).removesuffix(".yaml"),
        assumed=tuple(
            Noted(name=name, value=str(_DEFAULTS[name]), reason="Primus's default") for name in left
        ),
    )


def _filled(value: Any) -> Any:
    """`${NAME:default}` as its default, a whole number where it is one."""
    if not isinstance(value, str):
        return value
    found = _VARIABLE.sub(lambda match: match[1], value)
    if found == value:
        return value
    if found in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[found]
    return int(found) if is_digits(found) and len(found) < 12 else found


def _switch(name: str, value: Any) -> Any:
    """Switches are also written as 0 and 1."""
    return bool(value) if name == "sequence_parallel" and value in (0, 1) else value
