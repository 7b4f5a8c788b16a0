"""What the row of a published run says is computed again: how many layers, or which modules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from models_db import Model
from planner.base.errors import InputError
from planner.base.vocabulary import MODULES
from planner.evidence.runs.habits import Habits
from planner.evidence.runs.profiles import Profile
from planner.frameworks.megatron.reading.recompute import modules_apart
from planner.plan import Stage
from planner.plan.recomputations import modules_of, modules_words
from planner.plan.recomputations import recomputation as in_order

_COUNTED = (
    r"num-ckpt-layers=([0-9]+)|recompute-method block --recompute-num-layers ([0-9]+)"
    r"|full recompute of ([0-9]+) layers|(?<![0-9])([0-9]+) of [0-9]+ layers checkpointed"
)
_EVERY = r"selective every ([0-9])\w\w layer"
"""How flags and notes count layers that are recomputed in full."""
_LISTED = r"recompute(?:-modules)? ([a-z_]+(?: [a-z_]+)*)"
"""Modules as Megatron-LM is told them, and as publications list them."""
_WORDS = (
    (r"recompute=(?:norm,act|sel)\b", frozenset({"layernorm", "moe_act"})),
    (r"recompute=moe\b", frozenset({"moe"})),
)
"""What tables of runs of Megatron-LM call the modules that recompute."""
_NARROWED = ("", "selective")
"""What the column `recompute` says where flags may name modules."""


def recomputation(
    row: Mapping[str, str], model: Model, profile: Profile, habits: Habits, filled: dict[str, str]
) -> str:
    """As flags name modules, those that layers of the model have; else as the column says.

    Else as in the scripts of the source; none where the software's recipes say so; else full.

    Raises:
        InputError: The column says none, or a module that no layer has.
    """
    said = row["recompute"]
    if said in _NARROWED and (named := modules_named(row.get("flags", ""))):
        return modules_words(named & modules_apart(model))
    if said:
        return _had(in_order(said), model)
    saves = profile.era.startswith(("megatron-core", "nanotron")) or "single-node" in row["source"]
    value = habits.recompute or profile.recompute or ("none" if saves else "full")
    filled["recompute"] = value
    return value


def _had(word: str, model: Model) -> str:
    """A recomputation as it is.

    Raises:
        InputError: It names a module that no layer of the model has.
    """
    apart = modules_apart(model)
    if idle := [name for name in modules_of(word) if name not in apart]:
        own = ", ".join(name for name in MODULES if name in apart)
        raise InputError(f"recompute: no layer has {', '.join(idle)} apart; those it has: {own}")
    return word


@cache
def modules_named(text: str) -> frozenset[str]:
    """The modules that a text says recompute; none where it lists another one."""
    for pattern, modules in _WORDS:
        if re.search(pattern, text, re.IGNORECASE):
            return modules
    found = re.search(_LISTED, text, re.IGNORECASE)
    listed = frozenset(found[1].split()) if found else frozenset()
    return listed if listed <= {*MODULES} else frozenset()


def checkpointed(row: Mapping[str, str], model: Model, layers: int) -> tuple[Stage, ...] | None:
    """One stage that recomputes some of its layers in full, as flags and notes count them.

    None where they count none. Which layers of a stage they are, its time does not feel.
    """
    number = _layers_said(f"{row.get('flags', '')}; {row.get('notes', '')}", layers)
    if not 0 < number <= layers:
        return None
    experts = model.layer_kinds[:number].count("moe")
    return (Stage(layers=layers, recompute="none", full=(number - experts, experts)),)


@cache
def _layers_said(text: str, layers: int) -> int:
    """How many layers a text says are recomputed in full; 0: it counts none."""
    if every := re.search(_EVERY, text, re.IGNORECASE):
        return layers // int(every[1])
    said = re.search(_COUNTED, text, re.IGNORECASE)
    return next((int(n) for n in said.groups() if n), 0) if said else 0
