"""Seconds between the failures of a job: laws that the simulation draws from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.messages import first_lines, shown
from planner.base.numerals import beyond
from planner.base.units import parse_seconds

Gaps = Callable[[np.random.Generator, int], FloatArray]
"""Draws n gaps in seconds."""


def exponential(mean_s: float) -> Gaps:
    """Failures without memory: what the closed forms assume."""
    return lambda random, n: random.exponential(mean_s, n)


def weibull(mean_s: float, shape: float) -> Gaps:
    """Gaps whose failure rate falls with the time since the last failure where shape < 1.

    B. Schroeder and G. Gibson, "A large-scale study of failures in high-performance computing
    systems", DSN 2006, section 5.3, fit shapes of 0.7 to 0.8 to the nodes of clusters.
    """
    scale = mean_s / math.gamma(1.0 + 1.0 / shape)
    return lambda random, n: scale * random.weibull(shape, n)


def empirical(gaps_s: Sequence[float]) -> Gaps:
    """Gaps of a list, each drawn as often as it stands there (B. Efron's bootstrap, 1979)."""
    listed = np.asarray(gaps_s, dtype=np.float64)
    return lambda random, n: random.choice(listed, n)


def gaps_of(mean_s: float, shape: float = 1.0, gaps_s: Sequence[float] = ()) -> Gaps:
    """The law of a mean and a shape, of which 1 is exponential; of a list where one is given."""
    if gaps_s:
        return empirical(gaps_s)
    return exponential(mean_s) if shape == 1.0 else weibull(mean_s, shape)


def read_gaps(path: Path) -> tuple[float, ...]:
    """The gaps of a text file, one a line: seconds, or with a unit such as `3.2h`; `#` comments.

    Raises:
        InputError: It cannot be read, has no gap, or a line is no time from 1e-30 to 1e30 s.
    """
    found, problems = [], []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            found.append(parse_seconds(text, "gap"))
        except InputError as error:
            problems.append(f"{path.name} line {number}: {error}")
            continue
        if rule := beyond(found[-1]):
            problems.append(f"{path.name} line {number}: gap: {shown(text)}: {rule} s")
    if problems:
        raise InputError("\n".join(first_lines(problems)))
    if not found:
        raise InputError(f"{path.name}: has no gap; write one a line, e.g. 3.2h")
    return tuple(found)
