"""The settings of a function of a config_registry.py, which returns a `Trainer.Config`.

Names: torchtitan models/*/config_registry.py of 0.3.0 (PyPI).
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from planner.base.errors import InputError
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.python.paths import ALL, SOME
from planner.frameworks.reading.settings import Asked
from planner.frameworks.torchtitan.models import FLAVORS
from planner.frameworks.torchtitan.reading.names import OTHER_SECTIONS, READ
from planner.frameworks.torchtitan.reading.registry import PARTLY_NVFP4
from planner.frameworks.torchtitan.reading.text import Settings, word

if TYPE_CHECKING:
    from planner.frameworks.reading.python.recipe import PythonRecipe

_RETURNS = re.compile(r"(?m)^def \w+\(.*->\s*\"?Trainer\.Config\b")
_SHIPPED = "config_registry.py"
_POLICIES = {"FullAC.Config": "full", "SelectiveAC.Config": "selective"}
_CONVERTERS = {
    "Float8LinearConverter.Config": "float8",
    "MXFP8LinearConverter.Config": "mxfp8",
    "NVFP4LinearConverter.Config": "nvfp4",
}


def is_registry(text: str) -> bool:
    """Whether a text is Python with such functions."""
    return bool(_RETURNS.search(text))


def function_settings(text: str, asked: Asked) -> tuple[Settings, Command, bool]:
    """The settings of a function as `section.name` with values as text, and whether it tunes.

    Raises:
        InputError: It is no such function, or one that trains adapters.
    """
    from planner.frameworks.reading.python.recipe import python_recipe  # noqa: PLC0415  (only where a recipe is read)

    found = python_recipe(text, asked.name, asked.function, "Config")
    classes = [name for name, _ in found.calls]
    if "LoRAConverter.Config" in classes:
        raise InputError(f"{asked.name}: {found.name} trains adapters; --job lora plans such")
    settings: Settings = {
        name: tuple(map(word, value)) if isinstance(value, list) else (word(value),)
        for name, value in found.values.items()
        if name.partition(".")[0] in {*READ, *OTHER_SECTIONS} and "." in name and value is not None
    }
    settings["model.name"] = (_module(found.name, asked.name),)
    settings["model.flavor"] = (_flavor(found),)
    settings["activation_checkpoint.mode"] = (
        _POLICIES.get(found.built.get("activation_checkpoint", ""), "none"),
    )
    if converter := _converter(found):
        settings["model.converters"] = (converter,)
    left = (line for path, line in found.computed.items() if _counts(path, found))
    command = Command(words=[], notes=tuple(dict.fromkeys((*found.notes, *left))))
    return settings, command, "ChatDataLoader.Config" in classes


def _counts(path: str, found: PythonRecipe) -> bool:
    """Whether what is not known is a setting that a plan may follow from, or holds some."""
    if path.startswith(SOME):
        return any(path.rpartition(".")[2] in names.split() for names in READ.values())
    section, _, name = path.partition(".")
    if section == ALL or (section in READ and name in ("", ALL)):
        return path not in found.built
    return name in READ.get(section, "").split()


def _module(function: str, path: str) -> str:
    """The package of the models: the folder of the file, else how the function's name begins."""
    modules = {one.module for one in FLAVORS}
    parts = PurePath(path).parts
    if len(parts) > 1 and parts[-1] == _SHIPPED and parts[-2] in modules:
        return parts[-2]
    bare = function.removeprefix("sft_")
    return max((one for one in modules if bare.startswith(one)), key=len, default="")


def _flavor(found: PythonRecipe) -> str:
    return next((text for name, text in reversed(found.calls) if name == "model_registry"), "")


def _converter(found: PythonRecipe) -> str:
    """What the last model is converted to; NVFP4 of listed modules leaves out the last layers."""
    names = [name for name, _ in found.calls]
    last = len(names) - 1 - names[::-1].index("model_registry") if "model_registry" in names else 0
    kind = next((_CONVERTERS[name] for name in names[last:] if name in _CONVERTERS), "")
    partly = kind == "nvfp4" and "nvfp4_bf16_tail_fqns" in names
    return PARTLY_NVFP4 if partly else kind
