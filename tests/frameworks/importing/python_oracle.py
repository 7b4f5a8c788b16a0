"""Recipes of Megatron-Bridge with some lines, and what Python makes of them with stand-ins."""

import warnings
from types import ModuleType
from typing import Any

from planner.frameworks.reading.python.recipe import python_recipe

TP = "tensor_model_parallel_size"
PATH = f"model.{TP}"
HEAD = """\
import asyncio, builtins, contextlib, copy, dataclasses, functools, operator, os, sys, types
from megatron.bridge.recipes.llama import llama3_8b_pretrain_config
from megatron.bridge.training.config import ConfigContainer
N = 4
def put(c, v=8): c.model.TP = v
def part(c): return c.model
"""
BODY = """
def recipe(given: int = 4) -> ConfigContainer:
    cfg = llama3_8b_pretrain_config()
    cfg.model.context_parallel_size = 1
"""


class Config:
    """A configuration whose parts are made when they are asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = type(self)()
        return self.__dict__[name]


def text_of(module: str, lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return f"{HEAD}{module}{BODY}{body}    return cfg\n".replace("TP", TP)


def in_python(text: str) -> Any:
    """What Python makes of it, with stand-ins for what other packages give."""
    stands = ModuleType("stands")
    fresh = type("Fresh", (Config,), {})  # whose attributes a recipe may set
    stands.__dict__.update(llama3_8b_pretrain_config=fresh, ConfigContainer=fresh)
    names = {**vars(stands)}
    kept = [one for one in text.splitlines() if not one.startswith("from megatron")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec("\n".join(kept), names)
    found = names["recipe"]()
    return getattr(found.model, TP)


def holds(module: str, lines: str, known: object = None) -> None:
    text = text_of(module, lines)
    made = in_python(text)
    found = python_recipe(text, "r.py", "recipe", "ConfigContainer")
    if known is not None or PATH in found.values:
        assert (found.values.get(PATH), made) == (made, made if known is None else known), text
    elif not found.unknown(PATH):
        assert isinstance(made, Config), text


SET = "cfg.model.TP = 2\n"
