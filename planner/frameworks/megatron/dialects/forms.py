"""Which form a launch has that is not arguments of Megatron-LM, and what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from planner.frameworks.megatron.dialects.bridge import bridge
from planner.frameworks.megatron.dialects.bridge_commands import bridge_command, starts_recipe
from planner.frameworks.megatron.dialects.nemo import nemo
from planner.frameworks.megatron.dialects.nemo2 import is_recipe, nemo2
from planner.frameworks.megatron.dialects.neox import neox
from planner.frameworks.megatron.dialects.primus import primus
from planner.frameworks.megatron.dialects.recipe import Recipe
from planner.frameworks.reading.settings import Asked
from planner.frameworks.reading.texts import looks_like_shell
from planner.frameworks.reading.yaml_files import yaml_mapping

_NEOX = re.compile(r"""^[^\S\n]*+["']?(pipe|model)[-_]parallel[-_]size["']?\s*:""", re.M)
_NEMO = re.compile(r"^  (tensor|pipeline)_model_parallel_size\s*:", re.M)
_PRIMUS = re.compile(r"^ +framework:\s*megatron\s*$", re.M)
_BRIDGE = re.compile(
    r"^[^\S\n]*+cfg\.model\b|^def \w+\(.*->\s*ConfigContainer|^(from|import) megatron\.bridge\b",
    re.M,
)


_ARGUMENTS = re.compile(
    r"--(num-layers|hidden-size|micro-batch-size|num-attention-heads|tensor-model-parallel-size)\b"
)


def is_launch(text: str) -> bool:
    """Whether a text has one of these forms, or arguments of Megatron-LM."""
    command = bool(_ARGUMENTS.search(text)) or starts_recipe(text)
    return command or _form(text) is not None or is_python(text) or is_recipe(text)


def is_python(text: str) -> bool:
    """Whether it is a file of recipes of Megatron-Bridge."""
    return bool(_BRIDGE.search(text)) and not looks_like_shell(text)


def recipe_in(text: str, asked: Asked) -> Recipe | None:
    """A recipe in YAML or Python, or one that is started by its name; None: something else.

    Raises:
        InputError: It is one that cannot be read.
    """
    if is_python(text):
        return bridge(text, asked)
    if starts_recipe(text):
        return bridge_command(text, asked)
    if is_recipe(text):
        return nemo2(text, asked)
    form = _form(text)
    return None if form is None else form(yaml_mapping(text, asked.name), asked)


def _form(text: str) -> Callable[[Mapping[str, Any], Asked], Recipe] | None:
    if looks_like_shell(text):
        return None
    for pattern, form in ((_PRIMUS, primus), (_NEMO, nemo), (_NEOX, neox)):
        if pattern.search(text):
            return form
    return None
