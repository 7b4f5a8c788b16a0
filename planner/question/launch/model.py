"""Which model a launch trains: the one that is named, or the one of the database that agrees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from models_db import Model, list_models, load_model
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.frameworks.reading.settings import ModelOf
from planner.question.records import model_named

_MOST = 6
_RELEASE = re.compile(r"[-_]v[0-9]+\.[0-9]+$")
_TUNED = re.compile(r"[-_](instruct|it|chat|base)([-_][0-9]{4})?$")
_SOFT = "vocab_size"  # often a padded one: it only tells models apart that agree otherwise


def chosen_model(named: str | None, where: str) -> ModelOf:
    """A function from the dimensions that a launch states to its model.

    Args:
        named: Name or path of the model, None: the one of the database with these dimensions.
        where: What messages call the launch.
    """

    def of(
        dimensions: Mapping[str, Any],
        settings: Mapping[str, str] | None = None,
        called: str = "",
    ) -> Model:
        if named is None and called and (known := model_called(called)):
            return load_model(known)
        if named is None:
            return _agreeing(dimensions, where, called)
        model = model_named(named)
        lines = [
            f"{where}: {name} {_words(value)} contradicts {model.name}, which has "
            f"{_words(dimension(model, name))}{_see(name, settings or {})}"
            for name, value in dimensions.items()
            if name != _SOFT and not _agrees(model, name, value)
        ]
        if lines:
            raise InputError("\n".join(lines))
        return model

    return of


def dimension(model: Model, name: str) -> Any:
    """A field of a model by its dotted name; `moe.experts` of a dense model is 0, others None."""
    value: Any = model
    for step in name.split("."):
        value = None if value is None else getattr(value, step)
    return 0 if name == "moe.experts" and value is None else value


def _agrees(model: Model, name: str, value: Any) -> bool:
    own = dimension(model, name)
    return own == value or (name == "mlp.hidden" and own is None)


def _words(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else shown(value)


def _see(name: str, settings: Mapping[str, str]) -> str:
    return f" (see {settings[name]})" if name in settings else ""


def model_called(called: str) -> str:
    """The model of the database that a launch calls so, in any spelling; empty: none.

    >>> model_called("Meta-Llama-3-70B"), model_called("mixtral_8x7B_Chat"), model_called("x")
    ('llama3-70b', 'mixtral-8x7b', '')
    """
    wanted = _spelt(called)
    for name in list_models():
        spellings = {name, *load_model(name).aliases}
        if wanted in {_spelt(one.rpartition("/")[2]) for one in spellings}:
            return name
    return ""


def _spelt(name: str) -> str:
    """A name without marks, case, the version of its release, and what it was tuned to."""
    bare = _TUNED.sub("", _RELEASE.sub("", name.lower().removesuffix("-hf")))
    return re.sub(r"[^a-z0-9.]", "", bare.removeprefix("meta-"))


def agreeing(dimensions: Mapping[str, Any]) -> list[Model]:
    """The models of the database with these dimensions; the vocabulary only tells them apart."""
    found = [
        model
        for model in map(load_model, list_models())
        if all(_agrees(model, name, value) for name, value in dimensions.items() if name != _SOFT)
    ]
    rows = dimensions.get(_SOFT)
    return [model for model in found if model.vocab_size == rows] or found


def _agreeing(dimensions: Mapping[str, Any], where: str, called: str) -> Model:
    """The only model of the database with these dimensions.

    Raises:
        InputError: None or several have them, or the launch states none.
    """
    if not dimensions:
        what = f"trains {shown(called)}, which" if called else "does not say which model it trains;"
        rest = "the database has not; name one with --model" if called else "name it with --model"
        raise InputError(f"{where}: {what} {rest}")
    found = agreeing(dimensions)
    if len(found) == 1:
        return found[0]
    words = ", ".join(f"{name} {_words(value)}" for name, value in dimensions.items())
    if not found:
        raise InputError(f"{where}: no model of the database has {words}; name one with --model")
    names = " or ".join(model.name for model in found[:_MOST])
    raise InputError(f"{where}: is a launch of {names}; name it with --model")
