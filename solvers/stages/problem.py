"""The stage problem: one column per device, so that the chunks line up, in least time or cost.

A pipeline of p devices runs L layers in order. Device d holds v chunks of consecutive layers;
chunk c of the pipeline begins where chunk c - 1 ends. A *column* is one complete way to fill one
device (its chunks, and how it runs them), with everything that counts of it as whole numbers:

    x_c = 1 where column c is chosen;   sum over the columns of a device of x = 1
    chunk c ends where chunk c + 1 begins; the first begins at 0, the last ends at L
    S_a = sum_c sums[c, a] x_c          what adds up over devices
    P_b = max_c peaks[c, b] x_c         what the largest of devices decides
    X   = sum over neighbouring devices of crossings[group, group']
    form = constant + sum_a w_a S_a + sum_b u_b P_b + w_x X
    time = max over forms;  cost = form + cost_per_time * time

1F1B: time = constant + (m - 1) P_t + S_t + P_exposed + P_optimizer. GPipe: (m - 1)(P_f + P_b)
and S_t. Interleaved: (m - 1/v) P_t + S_longest-chunk. Zero-bubble: P_((m - 1) t + w) + S_(t - w),
and at least m P_t. All numbers are scaled to integers once, by the caller; solvers share them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
LARGEST = 2**53
"""Objectives stay below it: solvers report them as doubles."""


class TooManyColumnsError(ValueError):
    """One device has more columns than memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A linear form over what is chosen; see the module. Missing weights are 0."""

    constant: int = 0
    sums: tuple[int, ...] = ()
    peaks: tuple[int, ...] = ()
    crossings: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """`form` + `per_time` * time <= `upper`; `name` is for messages."""

    name: str
    form: Form
    upper: int
    per_time: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What each device may hold, one row per column.

    Attributes:
        device: (c,) from 0.
        starts, ends: (c, v) first layer of each chunk of the device and the layer after its last,
            or states that stand for them (`solvers.stages.sequence`).
        group: (c,) which row of `StageProblem.crossings` it is; 0 where there are none.
        sums: (c, a) what adds up over devices.
        peaks: (c, b) what the largest of devices decides.
    """

    device: Ints
    starts: Ints
    ends: Ints
    group: Ints
    sums: Ints
    peaks: Ints

    def __len__(self) -> int:
        return len(self.device)

    def take(self, index: npt.NDArray[np.intp]) -> Columns:
        """The columns of `index`."""
        return Columns(**{name: getattr(self, name)[index] for name in self.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProblem:
    """One stage problem; see the module.

    Attributes:
        layers: L, where the last chunk ends.
        chunks: (p, v) which chunk of the pipeline the k-th chunk of device d is: k p + d for
            interleaved schedules, (d, 2 p - 1 - d) for V shapes.
        columns: What the devices may hold.
        time: Its largest form is the time of a choice; non-negative weights of peaks.
        cost: The other objective without what time adds; None: time is the only one.
        cost_per_time: What the cost grows by per unit of time.
        limits: What a choice must obey.
        crossings: (g, g) what neighbouring devices of two groups add; None: nothing.
    """

    layers: int
    chunks: Ints
    columns: Columns
    time: tuple[Form, ...]
    cost: Form | None = None
    cost_per_time: int = 0
    limits: tuple[Limit, ...] = ()
    crossings: Ints | None = field(default=None)

    @property
    def devices(self) -> int:
        """How many there are: p."""
        return len(self.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A column per device, with its time and cost by the tables of the problem.

    Attributes:
        columns: (p,) rows of `StageProblem.columns`, by device.
        time, cost: Whole numbers; cost is 0 where the problem has none.
    """

    columns: Ints
    time: int
    cost: int
