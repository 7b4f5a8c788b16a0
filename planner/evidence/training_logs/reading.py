"""What a reader of logs collects line by line, and to which launch each line belongs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import number_of
from planner.base.units import plural
from planner.evidence.training_logs.log import (
    WARM_UP,
    Launch,
    LoggedStep,
    TrainingLog,
    ran_out,
    same,
)

_LEAST, _MOST = 1e-9, 1e9
"""Seconds of a step, or tokens or sequences per second, that can be meant."""


class NoTimeError(InputError):
    """A log has lines of steps, none of which says how long a step took."""


@dataclass(slots=True)
class _Found:
    """What was found of a launch; `passed` once a line of a step was."""

    stated: dict[str, float] = field(default_factory=dict)
    memory_bytes: float | None = None
    skipped: int = 0
    bad: dict[int, None] = field(default_factory=dict)
    loss_scale: float | None = None
    passed: bool = False

    def repeats(self, other: _Found) -> bool:
        """Whether it states nothing but what another one does."""
        return all(
            name in other.stated and same(said, other.stated[name])
            for name, said in self.stated.items()
        )

    def holds(self, memory_bytes: float) -> None:
        """Notes peak memory of a chip."""
        self.memory_bytes = max(memory_bytes, self.memory_bytes or 0.0)


@dataclass(slots=True)
class Reading:
    """What a reader collects line by line.

    What a run prints of itself stands above its steps: behind a step it is the beginning of the
    next launch, unless it repeats what the launch has said and the steps go on (ranks print late).

    Attributes:
        means: Whether a time is the mean of the steps since the line before.
        warm_up: As of `TrainingLog`.
    """

    means: bool = False
    warm_up: int = WARM_UP
    _steps: list[LoggedStep] = field(default_factory=list)
    _before: list[_Found] = field(default_factory=list)
    _now: _Found = field(default_factory=_Found)
    _next: _Found = field(default_factory=_Found)
    _seen: list[int] = field(default_factory=list)
    _unused: int = 0
    _untimed: tuple[int, float] | None = None

    def begins(self, after: int | None = None) -> None:
        """A launch begins, behind a step where the log says so."""
        if self._now.passed:
            self._before.append(self._now)
            self._now, self._next, self._seen = self._next, _Found(), []
        if after is not None and not self._seen:
            self._seen = [after]

    def says(self, name: str, text: str) -> None:
        """Notes a number of the run above its steps; text that is none is left out."""
        digits = text.replace(",", "").strip()
        try:
            self._ahead.stated[name] = number_of(digits)
        except ValueError:
            return

    def has(self, name: str, number: float) -> None:
        """Notes a number of the launch that the last step is of."""
        self._now.stated[name] = number

    def holds(self, memory_bytes: float) -> None:
        """Notes peak memory of a chip in the launch that the last step is of."""
        self._now.holds(memory_bytes)

    def will_hold(self, memory_bytes: float) -> None:
        """Notes peak memory of a chip above the steps."""
        self._ahead.holds(memory_bytes)

    def skips(self, loss_scale: float | None) -> None:
        """Notes that the update of a step was skipped, and the loss scale after it."""
        self._now.skipped += 1
        self.scales(loss_scale)

    def scales(self, loss_scale: float | None) -> None:
        """Notes a loss scale; None: not printed."""
        self._now.loss_scale = self._now.loss_scale if loss_scale is None else loss_scale

    @property
    def _ahead(self) -> _Found:
        """The launch that what stands above steps is of."""
        return self._next if self._now.passed else self._now

    def states(self, line: str, patterns: Mapping[str, re.Pattern[str]]) -> None:
        """Notes the numbers of the run in a line, each the first group of its pattern."""
        for name, pattern in patterns.items():
            if said := pattern.search(line):
                self.says(name, said[1])

    def passes(self, step: int) -> int:
        """Notes that a line is of a step; returns how many steps it covers.

        The number of a step that falls below the last but one belongs to a restart. Ranks that
        print late repeat the last number or the one before.
        """
        falls = len(self._seen) > 1 and step < self._seen[-2]
        if falls or not self._next.repeats(self._now):
            self.begins()
        elif self._next.memory_bytes is not None:
            self._now.holds(self._next.memory_bytes)
        self._now.passed, self._next = True, _Found()
        before = [one for one in self._seen if one < step]
        if step not in self._seen:
            self._seen = sorted([*self._seen, step])[-3:]
        return step - before[-1] if self.means and before else 1

    def takes(
        self,
        step: int,
        *,
        time_s: float | None = None,
        tokens_per_s: float | None = None,
        sequences_per_s: float | None = None,
        sequences: int | None = None,
        loss: float | None = None,
        skipped: int = 0,
    ) -> None:
        """Notes a step; one whose time cannot be meant, such as zero, is passed over.

        Args:
            step, time_s, tokens_per_s, sequences_per_s, sequences: As of `LoggedStep`.
            loss: Of the step; None: not printed.
            skipped: Of the steps that the line covers, how many had their update skipped. They
                run forward and backward: only where all were, the line does not count.
        """
        covers = self.passes(step)
        self._now.skipped += skipped
        if loss is not None:
            self.loses(step, loss)
        said = [one for one in (time_s, tokens_per_s, sequences_per_s) if one is not None]
        if skipped >= covers:
            self._unused += 1
        elif not said or not _LEAST <= said[0] <= _MOST:
            self._untimed = self._untimed or (step, said[0] if said else math.nan)
        else:
            self._steps.append(
                LoggedStep(
                    step=step,
                    time_s=time_s,
                    tokens_per_s=tokens_per_s,
                    sequences_per_s=sequences_per_s,
                    covers=covers,
                    launch=len(self._before),
                    sequences=sequences,
                )
            )

    def loses(self, step: int, loss: float) -> None:
        """Notes the loss of a step, which may stand on a line of its own."""
        if not math.isfinite(loss):
            self._now.bad[step] = None

    def log(self, label: str, text: str) -> TrainingLog:
        """The log of what was found in a text.

        Raises:
            InputError: It has no step; why, where the text tells.
        """
        if not self._steps and self._untimed is not None:
            step, said = self._untimed
            raise NoTimeError(
                f"{label}: has no step with a time that can be meant: step {step} has {said:.6g}"
            )
        if not self._steps and self._unused:
            raise NoTimeError(
                f"{label}: the update of each of its {plural(self._unused, 'step')} was skipped; "
                "read more of them"
            )
        if not self._steps:
            raise InputError(f"{label}: {_why_none(text)}")
        return TrainingLog(
            steps=tuple(self._steps), launches=tuple(self._launches()), warm_up=self.warm_up
        ).only(self._steps)

    def _launches(self) -> Iterator[Launch]:
        """Each launch; what one says of itself is so of those behind it that say nothing."""
        stated: Mapping[str, float] = {}
        for number, one in enumerate([*self._before, self._now]):
            stated = one.stated or stated
            yield Launch(
                number=number,
                memory_bytes=one.memory_bytes,
                skipped=one.skipped,
                bad_steps=tuple(one.bad),
                loss_scale=one.loss_scale,
                stated=stated,
            )


def _why_none(text: str) -> str:
    if not text.strip():
        return "is empty"
    return "has no line of a step" + (": the run ran out of memory" if ran_out(text) else "")
