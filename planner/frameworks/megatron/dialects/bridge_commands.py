"""Commands of Megatron-Bridge that start a recipe by its name, with what they change in it.

Options: NVIDIA-NeMo/Megatron-Bridge scripts/training/run_recipe.py, 067f987df0. Whatever follows
as KEY=VALUE takes precedence over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from planner.base.errors import InputError
from planner.base.messages import did_you_mean, shown
from planner.frameworks.megatron.dialects.bridge import recipe_of
from planner.frameworks.megatron.dialects.named_recipes import BRIDGE, recipe_names
from planner.frameworks.megatron.dialects.recipe import ADAPTERS, Recipe
from planner.frameworks.reading.commands import command_in
from planner.frameworks.reading.edits import Setting
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import looks_like_shell

_COMMAND = re.compile(r"\brun_recipe\.py\b")
_SELECTED = ("--recipe", "--model", "--mode", "--dataset")
_OPTIONS = {
    "-ms": "train.train_iters", "--max_steps": "train.train_iters",
    "-gb": "train.global_batch_size", "--global_batch_size": "train.global_batch_size",
    "-mb": "train.micro_batch_size", "--micro_batch_size": "train.micro_batch_size",
    "-sl": "dataset.seq_length", "--seq_length": "dataset.seq_length",
    **{
        option: f"model.{name}"
        for short, name in (
            ("-tp", "tensor_model_parallel_size"),
            ("-pp", "pipeline_model_parallel_size"),
            ("-cp", "context_parallel_size"),
            ("-vp", "virtual_pipeline_model_parallel_size"),
            ("-ep", "expert_model_parallel_size"),
            ("-etp", "expert_tensor_parallel_size"),
        )
        for option in (short, f"--{name}")
    },
}  # fmt: skip
_SECTIONS = {
    **dict.fromkeys(("micro_batch_size", "global_batch_size"), "train"),
    **dict.fromkeys(
        ("use_distributed_optimizer", "use_megatron_fsdp", "data_parallel_sharding_strategy",
         "overlap_param_gather"), "ddp",
    ),
    "ckpt_format": "checkpoint",
}  # fmt: skip
"""Of fields that are not of the model."""
_CHUNKS = "virtual_pipeline_model_parallel_size"
_OVERRIDE = re.compile(r"[+~]{0,2}([A-Za-z_][\w.]*)=(.*)", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_WHOLE = re.compile(r"-?[0-9]{1,18}")


def starts_recipe(text: str) -> bool:
    """Whether a script starts a recipe of Megatron-Bridge by its name."""
    return bool(_COMMAND.search(text)) and looks_like_shell(text)


def bridge_command(text: str, asked: Asked) -> Recipe:
    """The recipe that a command starts, with what it changes, as arguments of Megatron-LM.

    Raises:
        InputError: It names none that is known, or one that trains adapters.
    """
    known = (*_SELECTED, *_OPTIONS)
    command = command_in(text, asked.name, known, "run_recipe.py", asked.beside, asked.arguments)
    name = _selected(command.words, asked.name)
    values = dict(_changes(command.words, asked.name))
    if (length := values.get("dataset.seq_length")) is not None:
        values["model.seq_length"] = length  # which the runner keeps the same
    from planner.frameworks.reading.python.recipe import PythonRecipe  # noqa: PLC0415  (only where a recipe is read)

    found = PythonRecipe(name=name, values=values, built={}, bases=(name,))
    return recipe_of(found, asked.name, command)


def as_override(setting: Setting) -> Setting:
    """A changed setting of Megatron-LM as KEY=VALUE, which says what is off or none too."""
    name = _CHUNKS if _CHUNKS in setting.names else setting.names[0]
    if name.isupper():
        return setting  # a variable of the environment
    value = "null" if setting.value is None else setting.value
    if setting.switch:
        value = "false" if setting.value is None else "true"
    called = f"{_SECTIONS.get(name, 'model')}.{name}"
    return replace(setting, names=(called,), value=value, switch=False)


def _selected(words: list[str], name: str) -> str:
    """The full name of the recipe.

    Raises:
        InputError: It is not known, or trains adapters.
    """
    mode = _value(words, "--mode")
    found = _value(words, "--recipe")
    if not found:
        found = f"{_value(words, '--model')}_{mode}_config"
    if mode in ("lora", "dora") or re.search(r"peft|lora|dora", found):
        raise InputError(f"{name}: {found} {ADAPTERS}")
    names = recipe_names(BRIDGE)
    if found not in names:
        hint = did_you_mean(found, names)
        raise InputError(
            f"{name}: recipe: {shown(found)} is none of the {len(names)} that are known of "
            f"{BRIDGE.commit}{hint}"
        )
    return found


def _value(words: list[str], option: str) -> str:
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option:
            return value if equals else words[at + 1] if at + 1 < len(words) else ""
    return ""


def _changes(words: list[str], name: str) -> Iterator[tuple[str, Any]]:
    """Fields with what options say, then what KEY=VALUE says.

    Raises:
        InputError: What an option says is not known.
    """
    for option, field in _OPTIONS.items():
        if text := _value(words, option):
            if not _WHOLE.fullmatch(text):
                raise InputError(f"{name}: {option}: {text!r} is not a whole number")
            yield field, int(text)
    for word in words:
        if (match := _OVERRIDE.fullmatch(word)) and "." in match[1]:
            yield match[1], _plain(match[2])


def _plain(text: str) -> Any:
    """A value as the runner reads it: a whole number, a truth value, nothing, or text."""
    text = text.strip("\"'")
    return int(text) if _WHOLE.fullmatch(text) else _WORDS.get(text.lower(), text)
