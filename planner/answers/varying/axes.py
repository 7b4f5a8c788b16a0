"""Fields that a question is asked for several values of: `memory.bandwidth=0.5x,1x,2x`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.base.numerals import number_of
from planner.base.units import parse_count, parse_quantity, unit_for
from planner.question.asked import BY_NAME
from planner.question.asked.usual import BATCH, RANGE
from planner.question.changes.changes import fields_of, leaf_of
from planner.question.changes.texts import Change, changes_in, with_changes
from planner.question.changes.values import quantity_of
from planner.question.request import ARGUMENTS, Request, request_from

_KINDS = ("word", "whole", "wholes", "quantity", "share", "number", "path", "name")
_MOST_AXES, _MOST_VALUES = 2, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A field and the values that it takes.

    Attributes:
        name: Its path, or the name of a field of the question.
        texts: The values, as they were written, in that order.
        of_question: Whether it is a field of the question.
        full_path: Of a field of a record, with the record.
        unit: Of a quantity, SI.
        continuous: Whether values between are possible.
        rises: Whether no plan gets slower as it grows.
    """

    name: str
    texts: tuple[str, ...]
    of_question: bool
    full_path: str = ""
    unit: str = ""
    continuous: bool = False
    rises: bool = False

    @property
    def by_factor(self) -> bool:
        """Whether all values are factors."""
        return all(Change(self.name, text).factor is not None for text in self.texts)

    def at(self, text: str) -> float:
        """Where a value of a continuous axis lies: its factor, or itself in SI units."""
        factor = Change(self.name, text).factor
        return parse_quantity(text, self.unit, self.name) if factor is None else factor

    def text(self, place: float) -> str:
        """The value at a place."""
        return f"{place!r}x" if self.by_factor else f"{place!r}{self.unit}"

    def shown(self, place: float) -> str:
        """The same for people."""
        if self.by_factor:
            return f"{place:.4g}x"
        size, unit = unit_for(place, self.unit) if self.unit else (1.0, "")
        return f"{place / size:.4g} {unit}".rstrip()


def axes_of(
    given: Mapping[str, Any] | Sequence[str], request: Request, origin: Origin = ARGUMENTS
) -> tuple[Axis, ...]:
    """The axes of a question.

    Args:
        given: `PATH=VALUE,VALUE`, or a mapping from paths to lists of values.
        request: The question, which names the records.
        origin: Names its fields in messages.

    Raises:
        InputError: One line per mistake.
    """
    texts = _texts(given)
    if not 1 <= len(texts) <= _MOST_AXES:
        raise InputError(f"vary: {len(texts)} fields are varied; allowed: 1 or {_MOST_AXES}")
    found, problems = [], []
    for name, values in texts.items():
        try:
            found.append(_axis(name, values, request))
        except InputError as error:
            ranged = BATCH in name.replace("-", "_") and any(RANGE in text for text in values)
            problems += [
                origin.blame(line, {BATCH}) if ranged else f"vary: {line}"
                for line in str(error).split("\n")
            ]
    problems += _clashes(found, request)
    if problems:
        raise InputError("\n".join(problems))
    return tuple(found)


def _clashes(axes: Sequence[Axis], request: Request) -> list[str]:
    """Fields that are changed as well as varied: one of the two would be dropped."""
    leaves = fields_of(request.model, request.hardware)[0] if request.set else []
    changed = {leaf_of(one.path, leaves).full_path: one for one in changes_in(request.set)}
    return [
        f"vary: {axis.name}: is changed by set too ({changed[axis.full_path]}); give one of the two"
        for axis in axes
        if axis.full_path in changed
    ]


def _texts(given: Mapping[str, Any] | Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values by path."""
    if not isinstance(given, Mapping):
        texts, given = [given] if isinstance(given, str) else given, {}
        for text in texts:
            path, _, values = text.partition("=")
            if not path.strip() or not all(value.strip() for value in values.split(",")):
                raise InputError(f"vary: {shown(text)} is not PATH=VALUE,VALUE, e.g. pes=66,132")
            if path.strip() in given:
                raise InputError(f"vary: {path.strip()} is given twice")
            given[path.strip()] = values.split(",")
    many = {name: [values] if isinstance(values, str) else values for name, values in given.items()}
    return {name: tuple(str(value).strip() for value in values) for name, values in many.items()}


def _axis(name: str, texts: tuple[str, ...], request: Request) -> Axis:
    if name.replace("-", "_") == BATCH:
        texts = doubled(texts)
    if twice := [text for at, text in enumerate(texts) if text in texts[:at]]:
        raise InputError(f"{name}: {twice[0]} is given twice")
    if not 1 < len(texts) <= _MOST_VALUES:
        count = f"{len(texts)} value{'s' * (len(texts) > 1)}"
        raise InputError(f"{name}: {count}; give 2 to {_MOST_VALUES} different ones")
    field = BY_NAME.get(name.replace("-", "_"))
    if field is not None and field.kind in _KINDS:
        return Axis(name=field.name, texts=texts, of_question=True)
    leaf = leaf_of(name, fields_of(request.model, request.hardware)[0])
    if leaf.form not in ("number", "word", "switch"):
        raise InputError(f"{name}: is a list, which is not varied; planner solve --set takes one")
    axis = Axis(
        name=name,
        texts=texts,
        of_question=False,
        full_path=leaf.full_path,
        unit=leaf.unit,
        continuous=leaf.form == "number" and not leaf.whole,
        rises=leaf.path.endswith("bandwidth") or leaf.path.startswith("peak."),
    )
    if not axis.continuous:
        return axis
    factors = [Change(name, text).factor for text in texts]
    if None in factors and len(set(factors)) > 1:
        raise InputError(f"{name}: factors and values are mixed; give all as factors, or none")
    places = [
        quantity_of(leaf, text, name) if factor is None else factor
        for text, factor in zip(texts, factors, strict=True)
    ]
    if min(places) <= 0:
        raise InputError(f"{name}: {min(places):g} is not above 0, between which values are found")
    order = sorted(range(len(texts)), key=places.__getitem__)
    return Axis(**{**_fields(axis), "texts": tuple(texts[at] for at in order)})


def doubled(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Batches, ascending, in which `1Mi..16Mi` is 1, 2, 4, 8 and 16 Mi.

    Raises:
        InputError: A range is empty.
    """
    found: list[str] = []
    for text in texts:
        low, dots, high = text.partition(RANGE)
        if not dots:
            found.append(text)
            continue
        ends = [parse_count(end, BATCH) for end in (low, high) if end.strip()]
        if len(ends) < 2 or not 0 < ends[0] < ends[1]:
            raise InputError(
                f"{BATCH}: {shown(text)} is not a range from a number above 0 up, e.g. 1Mi..16Mi"
            )
        least, most = ends
        count = int(log2(most / least)) + 1
        found += [_binary(least * 2**power) for power in range(min(count, _MOST_VALUES + 1))]
    return tuple(sorted(found, key=lambda text: parse_count(text, BATCH)))


def _binary(count: float) -> str:
    """`1Mi`, `96Ki`, `1000`: a count as `parse_count` reads it."""
    for size, unit in ((2**20, "Mi"), (2**10, "Ki")):
        if count % size == 0:
            return f"{count / size:.15g}{unit}"
    return f"{count:.15g}"


def _fields(axis: Axis) -> dict[str, Any]:
    return {name: getattr(axis, name) for name in axis.__slots__}


def request_at(request: Request, values: Mapping[Axis, str]) -> Request:
    """The question with one value of each axis.

    Raises:
        InputError: A value is none.
    """
    asked = request.model_dump(mode="json", exclude_unset=True)
    changes = {axis.name: text for axis, text in values.items() if not axis.of_question}
    fields = {axis.name: text for axis, text in values.items() if axis.of_question}
    numbers: dict[str, Any] = {
        name: number_of(text) if BY_NAME[name].kind in ("share", "number") else text
        for name, text in fields.items()
    }
    return request_from({**asked, **numbers, "set": with_changes(request.set, changes)})
