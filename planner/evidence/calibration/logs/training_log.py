"""What the log of a training run says of its steps, whatever framework printed it."""

from __future__ import annotations

import re
from statistics import median

from frozen_records import dataclass
from planner.base.errors import InputError

WARM_UP = 5
"""Steps at the beginning that do not count: compilation, autotuning, first collectives."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """One step as printed.

    Attributes:
        step: Its number, from 1.
        time_s: How long it took; None: not printed.
        tokens_per_s: Tokens per second and chip; None: not printed.
    """

    step: int
    time_s: float | None = None
    tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """The steps of a run, each once per rank that printed it.

    Attributes:
        steps: At least one.
        memory_bytes: Peak memory of a chip as the framework counts it; None: not printed.
    """

    steps: tuple[LoggedStep, ...]
    memory_bytes: float | None

    @property
    def last(self) -> int:
        """Number of its last step."""
        return max(one.step for one in self.steps)

    def step_time_s(self, tokens: float, chips: int) -> float:
        """Median seconds of a step after the first `WARM_UP`; of the later half of a short run.

        The median leaves out the few steps that a profiler slows.

        Args:
            tokens: Per step, over all chips.
            chips: Of the run.
        """
        first = WARM_UP if self.last > 2 * WARM_UP else self.last // 2
        counted = [one for one in self.steps if one.step > first]
        return median(_seconds(one, tokens, chips) for one in counted)


def _seconds(one: LoggedStep, tokens: float, chips: int) -> float:
    if one.time_s is not None:
        return one.time_s
    assert one.tokens_per_s, "a step has a time or a rate"
    return tokens / (one.tokens_per_s * chips)


def plain_lines(text: str) -> list[str]:
    """The lines of a log without the colours of terminals."""
    return _COLOUR.sub("", text).splitlines()


def log_of(label: str, text: str, steps: list[LoggedStep], memory: list[float]) -> TrainingLog:
    """The log of what was found in a text.

    Raises:
        InputError: It has no step; why, where the text tells.
    """
    if not steps:
        why = "has no line of a step"
        if not text.strip():
            why = "is empty"
        elif "OutOfMemoryError" in text or "out of memory" in text:
            why += ": the run ran out of memory"
        raise InputError(f"{label}: {why}")
    return TrainingLog(steps=tuple(steps), memory_bytes=max(memory, default=None))
