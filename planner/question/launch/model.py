"""Which model a launch trains: the one that is named, or the one of the database that agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models_db import Model, list_models, load_model
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.frameworks.reading.settings import ModelOf
from planner.question.records import model_named

_MOST = 6
_SOFT = "vocab_size"  # often a padded one: it only tells models apart that agree otherwise


def chosen_model(named: str | None, where: str) -> ModelOf:
    """A function from the dimensions that a launch states to its model.

    Args:
        named: Name or path of the model, None: the one of the database with these dimensions.
        where: What messages call the launch.
    """

    def of(dimensions: Mapping[str, Any], settings: Mapping[str, str] | None = None) -> Model:
        if named is None:
            return _agreeing(dimensions, where)
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


def _agreeing(dimensions: Mapping[str, Any], where: str) -> Model:
    """The only model of the database with these dimensions.

    Raises:
        InputError: None or several have them, or the launch states none.
    """
    if not dimensions:
        raise InputError(f"{where}: does not say which model it trains; name it with --model")
    models = map(load_model, list_models())
    found = [
        model
        for model in models
        if all(_agrees(model, name, value) for name, value in dimensions.items() if name != _SOFT)
    ]
    if len(found) > 1:
        rows = dimensions.get(_SOFT)
        found = [model for model in found if model.vocab_size == rows] or found
    if len(found) == 1:
        return found[0]
    words = ", ".join(f"{name} {_words(value)}" for name, value in dimensions.items())
    if not found:
        raise InputError(f"{where}: no model of the database has {words}; name one with --model")
    names = " or ".join(model.name for model in found[:_MOST])
    raise InputError(f"{where}: is a launch of {names}; name it with --model")
