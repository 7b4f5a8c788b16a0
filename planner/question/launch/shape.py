"""A model from its shape: of the database where one has it, else one like it with other numbers.

What a launch leaves to the reader is chosen here, and each choice is noted with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from models_db import Model, ModelError, list_models, load_model
from planner.base.errors import InputError
from planner.base.messages import shown
from planner.base.units import plural
from planner.frameworks.reading.imported import Noted
from planner.question.changes.changes import changes_of
from planner.question.launch.model import _agrees, agreeing, dimension, model_called

_KINDS = (
    "mlp.gated", "moe.experts", "attention.kind", "norm.kind", "positions.kind", "parallel_block",
    "norm.embedding",
)  # fmt: skip
"""What stays that of the model which is most like it, the first of them differing last of all."""
_PLAIN = {
    "window": None, "mtp_modules": 0, "attention.qk_norm": "none", "attention.sinks": False,
    "attention.bias": (), "norm.per_layer": 2, "norm.embedding": False, "parallel_block": False,
}  # fmt: skip
"""What a model has that a launch says nothing of."""
_NUMBERS = (
    "layers", "hidden", "heads", "kv_heads", "head_dim", "vocab_size", "tied_embeddings",
    "mlp.hidden", "moe.experts", "moe.experts_per_token", "moe.expert_hidden",
)  # fmt: skip
_MUST = ("layers", "hidden", "heads")


@dataclass(slots=True, kw_only=True, frozen=True)
class ShapeModels:
    """The models of a launch whose name nobody gives: what was chosen, and why.

    Attributes:
        where: What messages call the launch.
        words: Text in which a model's name tells two of one shape apart.
        noted: What was chosen, filled in when it is.
        changes: What of the model differs from the one of the database, as `--set` takes it.
    """

    where: str
    words: str
    noted: list[Noted] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def __call__(
        self,
        dimensions: Mapping[str, Any],
        settings: Mapping[str, str] | None = None,
        called: str = "",
    ) -> Model:
        """The model; see `planner.frameworks.reading.settings.ModelOf`.

        Raises:
            InputError: The launch says too little of it, or no model is like it.
        """
        name = model_called(called) if called else ""
        if name and all(
            _agrees(load_model(name), one, value)
            for one, value in dimensions.items()
            if one != "vocab_size"
        ):
            return load_model(name)
        if missing := [one for one in _MUST if one not in dimensions]:
            what = (
                f"trains {shown(called)}, which is no model of the database, and says"
                if called
                else "says"
            )
            raise InputError(f"{self.where}: {what} no {missing[0]}; name its model with --model")
        if found := agreeing(dimensions):
            return self._of_several(found)
        return self._like(dimensions)

    def _of_several(self, found: list[Model]) -> Model:
        """One of models of one shape: the one that the text names, else the first."""
        spelt = re.sub(r"[^a-z0-9.]", "", self.words.lower())
        named = [one for one in found if re.sub(r"[^a-z0-9.]", "", one.name) in spelt]
        chosen = (named or found)[0]
        others = ", ".join(one.name for one in found if one is not chosen)
        differ = len({one.vocab_size for one in found}) > 1
        rest = f"; so has {others}" if others else ""
        rest += ", with another vocabulary, of which it says nothing" if differ else ""
        self.noted.append(Noted(name="model", value=chosen.name, reason=f"it has its shape{rest}"))
        return chosen

    def _like(self, dimensions: Mapping[str, Any]) -> Model:
        """A model with these dimensions, made of the one of the database that is most like it."""
        wanted = {**dimensions, "attention.kind": _attention(dimensions)}
        for near in sorted(map(load_model, list_models()), key=lambda one: _distance(one, wanted)):
            if any(not _agrees(near, one, wanted[one]) for one in ("mlp.gated",) if one in wanted):
                continue
            changes = {
                name: value
                for name, value in wanted.items()
                if name in _NUMBERS
                and value is not None
                and not _agrees(near, name, value)
                and dimension(near, name) not in (None, 0)
            }
            texts = [f"model.{name}={_word(value)}" for name, value in changes.items()]
            try:
                model = load_model(near.name, changes_of(tuple(texts), near.name, "").model)
            except (InputError, ModelError):
                continue
            self._note(near, changes, wanted)
            return model
        raise InputError(
            f"{self.where}: no model of the database is like its own; --model names one"
        )

    def _note(self, near: Model, changes: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        said = ", ".join(f"{name} {_word(value)}" for name, value in changes.items())
        reason = f"its shape is that of no model; {near.name} is nearest, and has not {said}"
        self.noted.append(Noted(name="model", value=f"{near.name} with its numbers", reason=reason))
        left = [
            f"{one} {_word(wanted[one])}"
            for one in _KINDS
            if one in wanted and one not in changes and not _agrees(near, one, wanted[one])
        ]
        if left:
            reason = f"{plural(len(left), 'field')} of the model that stay those of {near.name}"
            self.noted.append(Noted(name="model", value=", ".join(left), reason=reason))
        self.changes.extend(f"model.{name}={_word(value)}" for name, value in changes.items())


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _attention(dimensions: Mapping[str, Any]) -> str:
    """The kind of attention that head counts say."""
    if given := dimensions.get("attention.kind"):
        return str(given)
    heads, kv_heads = dimensions.get("heads"), dimensions.get("kv_heads")
    if kv_heads in (None, heads):
        return "mha"
    return "mqa" if kv_heads == 1 else "gqa"


def _distance(model: Model, wanted: Mapping[str, Any]) -> tuple[float, ...]:
    """How unlike a model is: kinds that differ, then numbers that differ, then by how much."""
    kinds = sum(
        (1 + len(_KINDS) - at) ** 2
        for at, name in enumerate(_KINDS)
        if name in wanted and not _same_kind(model, name, wanted[name])
    )
    kinds += sum(
        dimension(model, name) != plain for name, plain in _PLAIN.items() if name not in wanted
    )
    numbers = [
        name for name in _NUMBERS if wanted.get(name) and not _agrees(model, name, wanted[name])
    ]
    size = abs(model.layers * model.hidden**2 / (wanted["layers"] * wanted["hidden"] ** 2) - 1)
    return (kinds, len(numbers), size)


def _same_kind(model: Model, name: str, value: Any) -> bool:
    if name == "moe.experts":
        return bool(dimension(model, name)) == bool(value)
    return _agrees(model, name, value)


def noted_of(models: object) -> tuple[Iterable[Noted], Iterable[str]]:
    """What a function from dimensions to models noted, and its changes."""
    if isinstance(models, ShapeModels):
        return models.noted, models.changes
    return (), ()
