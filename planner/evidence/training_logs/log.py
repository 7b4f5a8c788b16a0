"""What the log of a training run says of its steps, whatever framework printed it."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Mapping
from dataclasses import field, replace
from statistics import median

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import number_of
from planner.base.units import plural

WARM_UP = 5
"""Steps at the beginning that do not count: compilation, autotuning, first collectives."""
NUMBER = r"(?:-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|nan|-?inf)"
"""A printed number; those that are no time of a step are told from lines that are of none."""
_LEAST, _MOST = 1e-9, 1e9
"""Seconds of a step, or tokens or sequences per second, that can be meant."""
_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"\x28\xb5\x2f\xfd": ("zstd", "unzstd"),
    b"\xfd7zXZ\0": ("xz", "unxz"),
    b"BZh": ("bzip2", "bunzip2"),
    b"PK\3\4": ("zip", "unzip"),
}
"""The first bytes of compressed files: of which kind, and what unpacks them."""
_HEAD = 4096
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ENDLESS = re.compile(r"(?<![0-9])(?<![0-9],)[0-9](?:,?[0-9]){639}")  # once for each number: linear


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """One step as printed.

    Attributes:
        step: Its number, from 1.
        time_s: How long it took; None: not printed.
        tokens_per_s: Tokens per second and chip; None: not printed.
        sequences_per_s: Sequences per second of all chips; None: not printed.
        covers: Steps that the time is the mean of, this one the last.
        launch: Which launch of the run, from 0; a restart is the next one.
        sequences: Of its batch; None: not printed.
    """

    step: int
    time_s: float | None = None
    tokens_per_s: float | None = None
    sequences_per_s: float | None = None
    covers: int = 1
    launch: int = 0
    sequences: int | None = None

    def in_sequences(self, each: int) -> LoggedStep:
        """The step where what it counts are samples of several sequences."""
        rate, batch = self.sequences_per_s, self.sequences
        return replace(
            self,
            sequences_per_s=None if rate is None else rate * each,
            sequences=None if batch is None else batch * each,
        )

    def seconds(self, tokens: float, chips: int, sequences: float) -> float:
        """Seconds of the step, from its time or its rate; arguments as of `step_time_s`."""
        if self.time_s is not None:
            return self.time_s
        if self.tokens_per_s is not None:
            return tokens / (self.tokens_per_s * chips)
        assert self.sequences_per_s, "a step has a time or a rate"
        return sequences / self.sequences_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """The steps of a run, each once per rank that printed it.

    Attributes:
        steps: At least one.
        memory_bytes: Peak memory of a chip as the framework counts it; None: not printed.
        warm_up: Steps of each launch that do not count.
        skipped: Steps whose update was skipped; lines of such steps alone are not among `steps`.
        bad_steps: Numbers of the steps whose loss was NaN or infinite.
        loss_scale: The last one; None: not printed.
        stated: What the log says of the run, by `planner.plan.Plan`'s names of mesh axes, and
            `chips`, `seq_len`, `sequences` (of a step), `tokens` (of a step), `micro_batch`.
    """

    steps: tuple[LoggedStep, ...]
    memory_bytes: float | None
    warm_up: int = WARM_UP
    skipped: int = 0
    bad_steps: tuple[int, ...] = ()
    loss_scale: float | None = None
    stated: Mapping[str, float] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """Number of its last step."""
        return max(one.step for one in self.steps)

    @property
    def launches(self) -> int:
        """How often the run was started."""
        return len({one.launch for one in self.steps})

    @property
    def longest(self) -> int:
        """Steps of the longest launch."""
        return max(high - low + 1 for low, high in self._ranges().values())

    def _ranges(self) -> dict[int, tuple[int, int]]:
        """The first and the last step of each launch."""
        ranges: dict[int, tuple[int, int]] = {}
        for one in self.steps:
            first = one.step - one.covers + 1
            low, high = ranges.get(one.launch, (first, one.step))
            ranges[one.launch] = min(low, first), max(high, one.step)
        return ranges

    def counted(self, most: int = 0) -> tuple[LoggedStep, ...]:
        """The steps that count: of each launch those after the first `warm_up`.

        Where no launch is longer than twice that, the later half of the longest. A line counts
        where all of the steps that it covers do.

        Args:
            most: The first so many, behind the warm-up where it has as many; 0: all.
        """
        longest = self.longest
        if longest > 2 * self.warm_up:
            return self.warm()[: most or None]
        if most and len(warm := self.warm()) >= most:
            return warm[:most]
        lengths = {launch: high - low + 1 for launch, (low, high) in self._ranges().items()}
        return self._after({one: n // 2 for one, n in lengths.items() if n == longest})[
            : most or None
        ]

    def warm(self) -> tuple[LoggedStep, ...]:
        """The steps behind the warm-up of a launch, however few; of a long log long launches."""
        lengths = {launch: high - low + 1 for launch, (low, high) in self._ranges().items()}
        least = min(2 * self.warm_up + 1, self.longest)
        return self._after({one: self.warm_up for one, n in lengths.items() if n >= least})

    def _after(self, left_out: Mapping[int, int]) -> tuple[LoggedStep, ...]:
        """The steps of launches after so many at the beginning of each."""
        ranges = self._ranges()
        return tuple(
            one
            for one in self.steps
            if one.launch in left_out
            and one.step - one.covers + 1 - ranges[one.launch][0] >= left_out[one.launch]
        )

    def in_sequences(self, each: int) -> TrainingLog:
        """The log of a run whose samples are several sequences each, such as preference pairs."""
        counts = {
            name: value * each if name in ("micro_batch", "sequences") else value
            for name, value in self.stated.items()
        }
        return replace(
            self, stated=counts, steps=tuple(one.in_sequences(each) for one in self.steps)
        )

    def step_time_s(self, tokens: float, chips: int, sequences: float) -> float:
        """Median seconds of a step that counts; NaN where none does.

        The median leaves out the few steps that a profiler slows.

        Args:
            tokens: Per step, over all chips.
            chips: Of the run.
            sequences: Per step, over all chips.
        """
        found = [one.seconds(tokens, chips, sequences) for one in self.counted()]
        return median(found) if found else math.nan


class NoTimeError(InputError):
    """A log has lines of steps, none of which says how long a step took."""


@dataclass(slots=True)
class Reading:
    """What a reader collects line by line.

    Attributes:
        means: Whether a time is the mean of the steps since the line before.
        warm_up: As of `TrainingLog`.
    """

    means: bool = False
    warm_up: int = WARM_UP
    memory_bytes: list[float] = field(default_factory=list)
    stated: dict[str, float] = field(default_factory=dict)
    skipped: int = 0
    loss_scale: float | None = None
    _steps: list[LoggedStep] = field(default_factory=list)
    _bad: dict[int, None] = field(default_factory=dict)
    _launch: int = 0
    _seen: list[int] = field(default_factory=list)
    _unused: int = 0
    _untimed: tuple[int, float] | None = None

    def begins(self, after: int | None = None) -> None:
        """A launch begins, behind a step where the log says so."""
        if self._seen and self._steps:
            self._launch, self._seen = self._launch + 1, []
        if after is not None and not self._seen:
            self._seen = [after]

    def says(self, name: str, text: str) -> None:
        """Notes a number of the run; text that is none is left out."""
        digits = text.replace(",", "").strip()
        try:
            self.stated[name] = number_of(digits)
        except ValueError:
            return

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
        if len(self._seen) > 1 and step < self._seen[-2]:
            self.begins()
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
        self.skipped += skipped
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
                    launch=self._launch,
                    sequences=sequences,
                )
            )

    def loses(self, step: int, loss: float) -> None:
        """Notes the loss of a step, which may stand on a line of its own."""
        if not math.isfinite(loss):
            self._bad[step] = None

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
            steps=tuple(self._steps),
            memory_bytes=max(self.memory_bytes, default=None),
            warm_up=self.warm_up,
            skipped=self.skipped,
            bad_steps=tuple(self._bad),
            loss_scale=self.loss_scale,
            stated=self.stated,
        )


def text_in(content: bytes, label: str) -> str:
    """The text of a log, in UTF-8 or UTF-16; other bytes become question marks.

    Args:
        content: The file.
        label: What messages call it.

    Raises:
        InputError: It is compressed.
    """
    for mark, (kind, command) in _COMPRESSED.items():
        if content.startswith(mark):
            raise InputError(f"{label}: is compressed ({kind}); unpack it first: {command} {label}")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    head = content[:_HEAD]
    if head and head[1::2].count(0) > len(head) // 4:  # most of its upper bytes: without its mark
        return content.decode("utf-16-le", "replace")
    return content.decode("utf-8-sig", "replace")


def plain_lines(text: str) -> list[str]:
    """The lines of a log without the colours of terminals.

    Those with a number of more digits than Python reads whatever its settings are left out.
    """
    return [line for line in _COLOUR.sub("", text).splitlines() if not _ENDLESS.search(line)]


def ran_out(text: str) -> bool:
    """Whether a log says that memory did not suffice."""
    return any(words in text for words in ("OutOfMemoryError", "out of memory", "RESOURCE_EXHAUST"))


def number(text: str) -> float:
    """A printed number, NaN and infinity included."""
    return float(text.replace(",", ""))


def _why_none(text: str) -> str:
    if not text.strip():
        return "is empty"
    return "has no line of a step" + (": the run ran out of memory" if ran_out(text) else "")
