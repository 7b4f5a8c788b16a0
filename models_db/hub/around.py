"""A language model inside a configuration: where it stands, and the parts around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from frozen_records import dataclass
from models_db.errors import ModelError
from models_db.hub.fields import Fields, shown
from models_db.hub.scope import TEXT, Scope, plain_defaults
from models_db.hub.table import Row, row_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What stands around a language model.

    Attributes:
        key: the key of the language model, such as "text_config"; "" where it is the whole file.
        inner: its configuration.
        usual: its type where it says none, or "".
        row: the row of the type around it, or None.
        name: that type, or "".
    """

    key: str
    inner: Mapping[str, Any]
    usual: str
    row: Row | None
    name: str = ""

    @property
    def nested(self) -> bool:
        """Whether there is something around the language model."""
        return bool(self.key) or self.row is not None

    @property
    def prefix(self) -> str:
        """Where the keys of the language model stand."""
        return f"{self.key}." if self.key else ""


def around_of(data: Mapping[str, Any], origin: str, read_as: str | None) -> Around:
    """Where the language model of a file stands.

    Args:
        data: the whole file.
        origin: the file, as messages name it.
        read_as: the type to read it as; a row of a whole model then has its language model inside.

    Raises:
        ModelError: what should be its configuration is none.
    """
    said = data.get("model_type") if read_as is None else read_as
    row = row_of(said) if isinstance(said, str) else None
    if row is not None and TEXT not in row.inside:
        row = None  # a language model alone, perhaps inside another file
    key, usual = row.inside.get(TEXT, ("", "")) if row else ("text_config", "")
    inner = data.get(key) if key else None
    if not key or (row is None and inner is None):
        return Around(key="", inner={}, usual="", row=None)
    if inner is None and usual:  # older files keep the language model beside the other parts
        flat = {name: value for name, value in data.items() if name != "model_type"}
        return Around(key="", inner=flat, usual=usual, row=row, name=str(said))
    if not isinstance(inner, dict):
        raise ModelError(f"{origin}: {key}: {shown(inner)} where an object belongs")
    return Around(key=key, inner=inner, usual=usual, row=row, name=str(said))


def has_text(model_type: str) -> bool:
    """Whether a type has a language model inside."""
    row = row_of(model_type)
    return row is not None and TEXT in row.inside


def outer_scope(around: Around, data: Mapping[str, Any], text: Fields) -> Scope | None:
    """The scope of what stands around a language model; None where nobody knows it.

    Args:
        around: where the language model stands.
        data: the whole file.
        text: keys of the language model, whose mistakes are added to.
    """
    if around.row is None:
        return None
    fields = Fields(data, around.name, plain_defaults(around.row))
    fields.mistakes = text.mistakes
    return Scope(fields, around.row)
