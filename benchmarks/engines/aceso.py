"""Aceso's problem: stages of operators, devices and recomputation of each, one micro-batch.

    T = (B - 1) max_i t_i + sum_i t_i
    t_i = sum_o (forward + backward + forward again where o is recomputed) + receive_i + send_i
    M_i = 8 weights + (input + kept) (stages after i + 1) + peak + reserved <= limit

in milliseconds and megabytes, from profiles by (micro-batch of a device, tensor parallelism). Two
neighbours that are both recomputed do not keep what the first makes, unless a layer begins in
between; `peak` is the most that one run of such neighbours makes again at once. A stage takes 1,
2, 4 or 8 devices of one node, with one data and one tensor parallelism and Aceso's first way of
splitting each operator: what its search tries without the options that its scripts leave out.

Source: Liu et al., Aceso: Efficient Parallel DNN Training through Iterative Bottleneck Alleviation,
EuroSys 2024; `aceso_cost_model.py` and `aceso_prims.py` of its repository.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
LAYER = 13
"""Operators of a layer; one stands before the first layer, two after the last."""
_HALVES, _FREE = "enc-attention-dropout", "enc-attention-softmax"
"""The mask of the first is kept too; the second shares what its neighbour keeps."""
_STATES = 8.0
RELATIVE = 1e-9
"""Sums in another order differ by less."""
_DEVICES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Microseconds and megabytes of each kind of operator, (16,) each.

    Attributes:
        forward, backward: Microseconds.
        arriving, leaving: Megabytes read and written.
        weights, kept: Megabytes held, `kept` for each micro-batch in flight.
        reserved: (2, 16) megabytes of buffers forward and backward.
        shares: Which kinds hand what they keep to their neighbour, (16,).
    """

    forward: Floats
    backward: Floats
    arriving: Floats
    leaving: Floats
    weights: Floats
    kept: Floats
    reserved: Floats
    shares: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model on nodes of alike devices.

    Attributes:
        layers: Of the model.
        batch: Samples of a step.
        micro_batches: Which are profiled.
        nodes, devices_per_node: All are used.
        memory_mb: Of a device.
        tables: By (micro-batch of a device, tensor parallelism).
        within, across: Bandwidths by the power of two of the megabytes sent, GB/s.
    """

    layers: int
    batch: int
    micro_batches: tuple[int, ...]
    nodes: int
    devices_per_node: int
    memory_mb: float
    tables: Mapping[tuple[int, int], Table]
    within: tuple[float, ...]
    across: tuple[float, ...]

    @property
    def devices(self) -> int:
        """All of them."""
        return self.nodes * self.devices_per_node

    def kinds(self) -> Ints:
        """(n,) the kind of each operator."""
        inner = np.tile(np.arange(1, LAYER + 1), self.layers)
        return np.concatenate([[0], inner, [LAYER + 1, LAYER + 2]]).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Operators begin <= o < end on data x tensor devices; `again` are recomputed."""

    begin: int
    end: int
    data: int
    tensor: int
    again: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The samples of a micro-batch and the stages in order."""

    micro_batch: int
    stages: tuple[Stage, ...]


def table_of(rows: Sequence[Sequence[str]]) -> Table:
    """A table from the rows of a profile: a name and eight numbers."""
    names = [row[0] for row in rows]
    values = np.array([[float(cell) for cell in row[1:]] for row in rows]).T
    kept = values[5].copy()
    for kind, name in enumerate(names):
        kept[kind] *= {_HALVES: 1.5, _FREE: 0.0}.get(name, 1.0)
    return Table(
        forward=values[0],
        backward=values[1],
        arriving=values[2],
        leaving=values[3],
        weights=values[4],
        kept=kept,
        reserved=values[6:8],
        shares=np.array([name in (_HALVES, _FREE) for name in names]),
    )


def milliseconds_per_step(model: Model, plan: Plan) -> float:
    """T of a plan by Aceso's formula.

    Raises:
        ValueError: The plan breaks a limit.
    """
    ends = [0, *(stage.end for stage in plan.stages)]
    if [stage.begin for stage in plan.stages] != ends[:-1] or ends[-1] != len(model.kinds()):
        raise ValueError("stages must hold all operators in order")
    times, used = [], 0
    for i, stage in enumerate(plan.stages):
        size, node = stage.data * stage.tensor, model.devices_per_node
        if size not in _DEVICES or used // node != (used + size - 1) // node:
            raise ValueError(f"stage {i} does not lie on one node")
        if megabytes(model, plan, i) > model.memory_mb * (1 + RELATIVE):
            raise ValueError(f"stage {i} does not fit")
        table, kinds = _table(model, plan, stage), model.kinds()
        moved = sent_us(model, table, kinds[stage.begin], kinds[stage.end - 1], used, used + size)
        own, again = kinds[stage.begin : stage.end], kinds[list(stage.again)]
        worked = table.forward[own].sum() + table.backward[own].sum() + table.forward[again].sum()
        times.append((worked + moved) / 1e3)
        used += size
    if used != model.devices:
        raise ValueError("all devices must be used")
    return float((model.batch // plan.micro_batch - 1) * max(times) + sum(times))


def _table(model: Model, plan: Plan, stage: Stage) -> Table:
    return model.tables[plan.micro_batch // stage.data, stage.tensor]


def megabytes(model: Model, plan: Plan, i: int) -> float:
    """Memory of stage i by Aceso's formula."""
    stage = plan.stages[i]
    own, table = model.kinds()[stage.begin : stage.end], _table(model, plan, stage)
    bits = np.isin(np.arange(stage.begin, stage.end), stage.again)
    saved, peak = saved_and_peak(table, own, bits[None, :], ends=True)
    shares = len(plan.stages) - i
    return float(held_megabytes(table, own, shares) - shares * saved[0] + peak[0])


def held_megabytes(table: Table, own: Ints, shares: int) -> float:
    """Memory of a stage of kinds `own` with `shares` micro-batches, nothing recomputed."""
    weights = float(table.weights[own].sum())
    buffers = float(table.reserved[:, own[:-1]].max(axis=1, initial=0.0).sum())
    kept = float(table.arriving[own[0]] + table.kept[own].sum())
    return _STATES * weights + kept * shares + max(buffers, weights)


def saved_and_peak(
    table: Table, own: Ints, bits: npt.NDArray[np.bool_], *, ends: bool
) -> tuple[Floats, Floats]:
    """What recomputing saves and what it makes at once, (x,) megabytes of (x, n) choices.

    Args:
        table: Of the stage.
        own: (n,) kinds in order.
        bits: (x, n) which are recomputed.
        ends: The stage ends with them: a run that ends it with shared memory is not counted.
    """
    saved, peak, run = (np.zeros(len(bits)) for _ in range(3))
    for i in range(len(own) - 1):
        both = bits[:, i] & bits[:, i + 1]
        begins, last = own[i + 1] == 1, i == len(own) - 2
        run = np.where(both, run + table.kept[own[i]], run)
        if not begins:
            saved += np.where(both, table.kept[own[i]], 0.0)
        closed = not table.shares[own[i]] and (begins or (last and ends))
        done = np.ones_like(both) if closed else ~both
        peak = np.where(done, np.maximum(peak, run), peak)
        run = np.where(done, 0.0, run)
    return saved, peak if ends else np.maximum(peak, run)


def sent_us(model: Model, table: Table, first: int, last: int, begin: int, end: int) -> float:
    """Microseconds to receive and send for a stage on devices begin <= d < end."""
    node = model.devices_per_node
    enters = model.across if begin % node == 0 and begin > 0 else model.within
    leaves = model.across if end % node == 0 else model.within
    return _moved_us(float(table.arriving[first]), enters) + _moved_us(
        float(table.leaving[last]), leaves
    )


def _moved_us(size_mb: float, bandwidths: Sequence[float]) -> float:
    if size_mb <= 0:
        return 0.0
    power = int(math.log2(size_mb))
    return size_mb / (bandwidths[min(power - (power >= 1), len(bandwidths) - 1)] * 1e-3)
