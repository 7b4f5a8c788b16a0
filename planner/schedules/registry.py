"""Every pipeline schedule by name, and by the small integer that plan tables keep.

The integer is the place in the registry. Schedules of other packages, entry points of the group
`planner.schedules` that name an object of a subclass of `Schedule`, come after those that are built
in, and are looked for where a name is asked for that is not built in or where names are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, overload

import numpy as np

from planner.base.arrays import BoolArray, FloatArray, IntArray, counted
from planner.base.errors import InputError
from planner.base.registry import Registry
from planner.schedules import dualpipe, gpipe, interleaved, one_f_one_b, zb_v, zero_bubble
from planner.schedules.schedule import Schedule

GROUP = "planner.schedules"
"""Entry points of other packages."""

BUILT_IN: tuple[Schedule, ...] = (
    gpipe.SCHEDULE,
    one_f_one_b.SCHEDULE,
    interleaved.SCHEDULE,
    zero_bubble.SCHEDULE,
    dualpipe.SCHEDULE,
    zb_v.SCHEDULE,
)
_REGISTRY: Registry[Schedule] = Registry(GROUP, Schedule, BUILT_IN)
_SCHEDULES: list[Schedule] = list(BUILT_IN)
_CODES: dict[str, int] = {schedule.name: code for code, schedule in enumerate(BUILT_IN)}


def schedule_of(name: str) -> Schedule:
    """The schedule of a name.

    Raises:
        InputError: There is none, or the package that has it cannot be loaded.
    """
    return _SCHEDULES[code_of_schedule(name)]


def code_of_schedule(name: str) -> int:
    """The integer of a schedule in plan tables.

    Raises:
        InputError: There is none, or the package that has it cannot be loaded.
    """
    if name not in SCHEDULES:
        raise InputError(f"schedule: {name!r} is not one of {', '.join(SCHEDULES)}")
    return _CODES[name]


def schedule_at(code: int) -> Schedule:
    """The schedule of an integer that `code_of_schedule` gave."""
    return _SCHEDULES[code]


def known_schedules() -> tuple[Schedule, ...]:
    """Those that are built in, and those of other packages that were asked for."""
    return tuple(_SCHEDULES)


@cache
def _add_others() -> None:
    """Gives the schedules of other packages their codes.

    Raises:
        InputError: One of them cannot be loaded, or is no schedule.
    """
    for schedule in _REGISTRY.others().values():
        _CODES[schedule.name] = len(_SCHEDULES)
        _SCHEDULES.append(schedule)


def _every_name() -> list[str]:
    """The names of all schedules, those of other packages loaded."""
    _add_others()
    return [schedule.name for schedule in _SCHEDULES]


class _Names(Sequence[str]):
    """The names of all schedules: `SCHEDULES[code]` is a name, `SCHEDULES.index(name)` its code.

    To list them loads those of other packages.
    """

    def __contains__(self, name: object) -> bool:
        if name not in _CODES:
            _add_others()
        return name in _CODES

    @overload
    def __getitem__(self, code: int) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> tuple[str, ...]: ...
    def __getitem__(self, code: int | slice) -> str | tuple[str, ...]:
        if isinstance(code, slice):
            return tuple(_every_name()[code])
        return _SCHEDULES[code].name

    def __iter__(self) -> Iterator[str]:
        return iter(_every_name())

    def __len__(self) -> int:
        return len(_every_name())

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """The code of a name.

        Raises:
            ValueError: There is no such schedule.
        """
        try:
            return code_of_schedule(name)
        except InputError as error:
            raise ValueError(str(error)) from error


SCHEDULES = _Names()


@cache
def _values(attribute: str, count: int) -> Any:
    """(count,) an attribute of each, by code."""
    return np.array([getattr(schedule, attribute) for schedule in _SCHEDULES[:count]])


@cache
def _dealt_as(count: int) -> IntArray:
    """(count,) the first schedule with the same places and classes of stages, by code."""
    ways = [
        (type(one).chunks, type(one).place, type(one).every_stage, type(one).stage_classes)
        for one in _SCHEDULES[:count]
    ]
    return np.array([ways.index(way) for way in ways])


class ScheduleColumn:
    """The schedules of n plans, any shape of codes: which there are, and in which rows."""

    __slots__ = ("_present", "codes")

    def __init__(self, codes: IntArray) -> None:
        self.codes = codes
        self._present: tuple[Schedule, ...] | None = None

    @property
    def present(self) -> tuple[Schedule, ...]:
        """Those that any row has, by code."""
        if self._present is None:
            counts = counted(self.codes.ravel())
            self._present = tuple(_SCHEDULES[code] for code in np.flatnonzero(counts).tolist())
        return self._present

    def rows(self, schedule: Schedule) -> BoolArray:
        """Whether each row has a schedule."""
        return np.asarray(self.codes == _CODES[schedule.name])

    def any(self, attribute: str) -> bool:
        """Whether an attribute of the schedule is true of any row."""
        return any(getattr(schedule, attribute) for schedule in self.present)

    def values(self, attribute: str) -> Any:
        """An attribute of the schedule of each row."""
        return _values(attribute, len(_SCHEDULES))[self.codes]

    def rounds(self, m: FloatArray) -> FloatArray:
        """Times per step that a stage runs its layers: micro-batches over replicas of a layer."""
        return m / self.values("replicas") if self.any("bidirectional") else m

    @property
    def dealt_as(self) -> IntArray:
        """Codes of the first schedules that deal chunks to stages as those of the rows do."""
        found: IntArray = _dealt_as(len(_SCHEDULES))[self.codes]
        return found

    def overriding(self, method: str) -> list[tuple[Schedule, BoolArray]]:
        """The schedules with a method of their own, and their rows."""
        return [
            (schedule, self.rows(schedule))
            for schedule in self.present
            if getattr(type(schedule), method) is not getattr(Schedule, method)
        ]

    def of_each(self, method: str, *arrays: Any) -> Any:
        """What a method of elementwise arrays gives in the rows of each schedule.

        Args:
            method: Of `Schedule`.
            arrays: Its arguments, which broadcast with the codes.
        """
        if not self.present:
            return getattr(BUILT_IN[0], method)(*arrays)
        first, *others = self.present
        found = getattr(first, method)(*arrays)
        for schedule in others:
            found = np.where(self.rows(schedule), getattr(schedule, method)(*arrays), found)
        return found
