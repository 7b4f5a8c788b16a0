"""Points of a study: the values of its axes, and the question that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import Origin, shown
from planner.base.progress import NotedProgress
from planner.base.units import plural
from planner.question.asked import BY_NAME
from planner.question.asked.values import value_words
from planner.question.changes.changes import fields_of, leaf_of
from planner.question.changes.texts import with_changes
from planner.question.kinds.kind import needed_in
from planner.question.records import cluster_named, model_named
from planner.question.request import Request, request_from
from planner.studies.sweep.question.study import FIX, Study

_TOLD_EVERY = 1000
_FIRST = 3  # values that a message tells a point by


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One question of a study.

    Attributes:
        place: Among all combinations, from 0.
        values: Of the axes, as they were written; those that are not given there are left out.
        request: The question.
    """

    place: int
    values: Mapping[str, Any]
    request: Request

    @property
    def family(self) -> str:
        """What its neighbours have in common: model and hardware."""
        return f"{self.request.model} on {self.request.hardware}"

    @property
    def asked(self) -> dict[str, Any]:
        """The fields that were given, JSON-ready."""
        return self.request.model_dump(mode="json", exclude_unset=True)


def counted(points: Iterator[Point], study: Study) -> Iterator[Point]:
    """The points of a study as they are.

    Raises:
        InputError: There is none, because conditions leave all of them out.
    """
    found = False
    for one in points:
        found = True
        yield one
    if not found:
        where = f"{study.file}: " if study.file else ""
        raise InputError(
            f"{where}where: no point is left: {plural(study.combinations, 'combination')} and "
            f"{plural(len(study.conditions), 'condition')}, which together none fulfils"
        )


def points_of(study: Study, on_progress: NotedProgress | None = None) -> Iterator[Point]:
    """The points that no condition leaves out, one at a time.

    Args:
        study: The study.
        on_progress: Told now and then how many combinations were looked at.

    Raises:
        InputError: A question cannot be asked; the first one, with its values.
    """
    names = study.names
    paths = [name for name in names if name not in BY_NAME and not name.startswith(FIX)]
    known = _Records(paths)
    for place, rows in enumerate(product(*(group.rows for group in study.groups))):
        if on_progress is not None and place % _TOLD_EVERY == 0:
            on_progress("questions", place, study.combinations, f"{place:,}")
        row = (value for part in rows for value in part)
        values = {name: one for name, one in zip(names, row, strict=True) if one is not None}
        try:
            request = _request(study.fixed, values)
            known.check(request)
            if _stays(study, values, request):
                yield Point(place=place, values=values, request=request)
        except InputError as error:
            raise InputError(_said(study, values, error)) from error


def _said(study: Study, values: Mapping[str, Any], error: InputError) -> str:
    """What is wrong with a point, one line per mistake, with what tells it from others."""
    first = [f"{name}={_typed(name, value)}" for name, value in list(values.items())[:_FIRST]]
    more = ", ..." if len(values) > _FIRST else ""
    where = f"{study.file}: " if study.file else ""
    point = f"at {', '.join(first)}{more}: " if first else ""
    return "\n".join(f"{where}{point}{line}" for line in str(error).split("\n"))


def _typed(name: str, value: Any) -> Any:
    """A value of a point; of a number in SI units with its unit."""
    return value_words(name, value) if isinstance(value, float) else value


def _request(fixed: Mapping[str, Any], values: Mapping[str, Any]) -> Request:
    """The question of a point.

    Raises:
        InputError: It cannot be asked.
    """
    fields = dict(fixed)
    changes = dict[str, Any]()
    fixes = dict[str, Any]()
    for name, value in values.items():
        if name in BY_NAME:
            fields[name] = value
        elif name.startswith(FIX):
            fixes[name.removeprefix(FIX)] = value
        else:
            changes[name] = value
    if changes:
        fields["set"] = with_changes(fields.get("set"), changes)
    if fixes:
        fields["fix"] = {**_fixed(fields.get("fix")), **fixes}
    return request_from(fields, Origin(), needed=needed_in(fields))


def _fixed(given: Any) -> Mapping[str, Any]:
    if given is None or isinstance(given, Mapping):
        return given or {}
    raise InputError(f"fix: {shown(given)} must be a mapping where fix.FIELD is an axis")


def _stays(study: Study, values: Mapping[str, Any], request: Request) -> bool:
    """Whether all conditions hold."""
    for condition in study.conditions:
        known = {
            name: getattr(request, name) if name in BY_NAME else values.get(name)
            for name in condition.names
        }
        if not condition.holds(known):
            return False
    return True


class _Records:
    """Names of models and clusters, and paths of `--set` that are axes, checked before a solve."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._seen = set[tuple[str, str]]()
        self._named = set[str]()

    def check(self, request: Request) -> None:
        """Looks names and paths up, once for each pair of a model and a cluster.

        Raises:
            InputError: One is unknown.
        """
        pair = (request.model, request.hardware)
        if request.pools is not None or pair in self._seen:
            return
        for load, name in ((model_named, request.model), (cluster_named, request.hardware)):
            if name not in self._named:
                load(name)
                self._named.add(name)
        leaves = fields_of(*pair)[0] if self._paths else []
        for path in self._paths:
            leaf_of(path, leaves)
        self._seen.add(pair)
