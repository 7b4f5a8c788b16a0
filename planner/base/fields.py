"""What types of fields are made of: numbers of other libraries, shares, words of a closed set.

A Python caller may pass a numpy number or a `pathlib.Path`; everything else is as strict as
pydantic's strict mode.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from numbers import Integral, Real
from typing import Annotated, Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from frozen_records import dataclass
from planner.base.messages import not_one_of, repeated, shown, too_long
from planner.base.numerals import lost
from planner.base.units import parse_share, pattern_of

_PERCENT = re.compile(pattern_of("share"))
_MOST = 4  # wrong words of one list that are reported


def plain(value: Any) -> Any:
    """Numbers and paths of other libraries as Python's own; anything else as it is."""
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def plain_whole(value: Any) -> Any:
    """As `plain`; a floating-point number that is whole, such as 1e9, is the whole number."""
    number = plain(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def as_number(value: Any) -> Any:
    """As `plain`; of text, which is no number here, that which is only too long says so."""
    if isinstance(value, str) and (refused := too_long(value)):
        raise refusal(refused)
    if isinstance(value, str) and (refused := lost(value)):
        raise refusal(f"{shown(value)} {refused}")
    return plain(value)


def _percent(value: Any) -> Any:
    """A percentage, such as `40%`, as the share that it is; any other text is no number."""
    number = as_number(value)
    text = isinstance(number, str) and _PERCENT.fullmatch(number.strip().removeprefix("-"))
    return parse_share(number, "share") if text else number


def number_schema(quantity: str, number: dict[str, Any], *examples: Any) -> WithJsonSchema:
    """A number, or text that `planner.base.units` reads as one."""
    text = {"type": "string", "pattern": pattern_of(quantity)}
    shown = {"examples": list(examples)} if examples else {}
    return WithJsonSchema({"anyOf": [number, text], **shown})


def share_schema(least: float) -> WithJsonSchema:
    """The JSON Schema of a share from `least` to 1, both included."""
    return number_schema("share", {"type": "number", "minimum": least, "maximum": 1}, 0.4, "40%")


POSITIVE = {"type": "number", "exclusiveMinimum": 0}
Percent = BeforeValidator(_percent)
Share = Annotated[
    float,
    Field(gt=0, le=1, allow_inf_nan=False),
    Percent,
    number_schema("share", {**POSITIVE, "maximum": 1}, 0.4, "40%"),
]


def refusal(text: str) -> PydanticCustomError:
    """What a validator raises: the message says itself what the value was."""
    return PydanticCustomError("worded", "{text}", {"text": text})


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """A closed set of words: checked here, listed in the JSON Schema for editors.

    Listing all may take longer than asking for one (`planner.base.registry`).
    """

    names: Collection[str]
    several: bool
    empty: bool = False  # none of them is a value too
    text: int = 0  # the field takes text too: at least so many words with commas between them
    by_name: bool = False  # listed in alphabetical order
    meant: Mapping[str, str] = field(default_factory=dict)  # by words that are read as another one
    hinted: Collection[str] = ()  # of `planner.base.messages.not_one_of`

    @property
    def in_order(self) -> list[str]:
        """All words."""
        return sorted(self.names) if self.by_name else list(self.names)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        word = {"type": "string", "enum": self.in_order}
        if not self.several:
            return word
        one = rf"\s*({'|'.join(self.in_order)})\s*"
        several = {"type": "array", "items": word}
        with_commas = {"type": "string", "pattern": f"^{one}(,{one}){{{self.text - 1},}}$"}
        return {"anyOf": [several, with_commas]} if self.text else several

    def _checked(self, value: Any) -> Any:
        words = value if self.several else (value,)
        wrong = [word for word in words if not isinstance(word, str) or word not in self.names]
        if wrong:
            lines = (not_one_of(word, self.in_order, self.hinted) for word in wrong[:_MOST])
            raise refusal("\n".join(lines))
        if self.several and (twice := repeated(value)):
            raise refusal(f"{twice[0]!r} is named twice; name it once")
        if self.several and not value and not self.empty:
            raise refusal(f"[] names none of {', '.join(self.in_order)}")
        return value if self.several else self.meant.get(value, value)


def choice(
    names: Collection[str],
    *,
    by_name: bool = False,
    meant: Mapping[str, str] | None = None,
    hinted: Collection[str] = (),
) -> Any:
    """A text field that holds one of some words, listed in alphabetical order if wanted.

    `meant`: the words that it holds where some others of `names` are given. `hinted`: words that
    are refused elsewhere with a reason, which a misspelt one may mean too.
    """
    return _Words(names, several=False, by_name=by_name, meant=meant or {}, hinted=hinted)


def choices(names: Collection[str], *, text: int = 0, empty: bool = False) -> Any:
    """A list whose entries are among some words; or, if wanted, text of at least `text` of them.

    Only an `empty` one may have no entries.
    """
    return _Words(names, several=True, text=text, empty=empty)


def schema_of(form: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a form, which Pydantic before 2.14 does not complete for it."""
    for each in _forms(form):
        each.model_rebuild()
    return form.model_json_schema()


def _forms(hint: Any) -> Iterator[type[BaseModel]]:
    """The forms in a type, and in their fields."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
        for each in hint.model_fields.values():
            yield from _forms(each.annotation)
    for part in get_args(hint):
        yield from _forms(part)
