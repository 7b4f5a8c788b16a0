"""What the log of a training run says of its steps, whatever framework printed it."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from statistics import median

from frozen_records import dataclass
from planner.base.errors import InputError

WARM_UP = 5
"""Steps at the beginning that do not count: compilation, autotuning, first collectives."""
NUMBER = r"(?:-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|nan|-?inf)"
"""A printed number; those that are no time of a step are told from lines that are of none."""
_ROUNDED = 0.02
"""Numbers of a log with three digits are off by up to half a per cent each."""
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
class Launch:
    """What a log says of one launch of a run, which goes from a start to the next.

    Attributes:
        number: As of `LoggedStep.launch`.
        memory_bytes: Peak memory of a chip as the framework counts it; None: not printed.
        skipped: Steps whose update was skipped; lines of such steps alone are no `LoggedStep`.
        bad_steps: Numbers of the steps whose loss was NaN or infinite.
        loss_scale: The last one; None: not printed.
        stated: What it says of itself, by `planner.plan.Plan`'s names of mesh axes, and `chips`,
            `seq_len`, `sequences` (of a step), `tokens` (of a step), `micro_batch`; one that says
            nothing is as the one before.
    """

    number: int = 0
    memory_bytes: float | None = None
    skipped: int = 0
    bad_steps: tuple[int, ...] = ()
    loss_scale: float | None = None
    stated: Mapping[str, float] = field(default_factory=dict)

    def in_sequences(self, each: int) -> Launch:
        """The launch where what it counts are samples of several sequences."""
        counts = {
            name: value * each if name in ("micro_batch", "sequences") else value
            for name, value in self.stated.items()
        }
        return replace(self, stated=counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """The steps of a run, each once per rank that printed it.

    Attributes:
        steps: At least one.
        launches: Those that have steps, at least one.
        warm_up: Steps of each launch that do not count.
    """

    steps: tuple[LoggedStep, ...]
    launches: tuple[Launch, ...]
    warm_up: int = WARM_UP

    @property
    def memory_bytes(self) -> float | None:
        """The most of its launches."""
        said = [one.memory_bytes for one in self.launches if one.memory_bytes is not None]
        return max(said, default=None)

    @property
    def skipped(self) -> int:
        """Of all launches."""
        return sum(one.skipped for one in self.launches)

    @property
    def bad_steps(self) -> tuple[int, ...]:
        """Of all launches."""
        return tuple(dict.fromkeys(step for one in self.launches for step in one.bad_steps))

    @property
    def loss_scale(self) -> float | None:
        """That of its last launch."""
        return self.launches[-1].loss_scale

    @property
    def last(self) -> int:
        """Number of its last step."""
        return max(one.step for one in self.steps)

    def only(self, steps: Iterable[LoggedStep]) -> TrainingLog:
        """The log with some of its steps alone, and the launches that they are of."""
        kept = tuple(steps)
        numbers = {one.launch for one in kept}
        launches = tuple(one for one in self.launches if one.number in numbers)
        return replace(self, steps=kept, launches=launches)

    def length(self, launch: int) -> int:
        """Steps of a launch."""
        low, high = self._ranges()[launch]
        return high - low + 1

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
        return replace(
            self,
            launches=tuple(one.in_sequences(each) for one in self.launches),
            steps=tuple(one.in_sequences(each) for one in self.steps),
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


def same(said: float, known: float) -> bool:
    """Whether two numbers of a run are one, of which those that are not whole were rounded."""
    if said == int(said) and known == int(known):
        return said == known
    return abs(said / known - 1) <= _ROUNDED


def ran_out(text: str) -> bool:
    """Whether a log says that memory did not suffice."""
    return any(words in text for words in ("OutOfMemoryError", "out of memory", "RESOURCE_EXHAUST"))


def number(text: str) -> float:
    """A printed number, NaN and infinity included."""
    return float(text.replace(",", ""))
