"""Stage solvers side by side: layers, recomputation, sharding and clocks of pipelines.

Blocks of the size of a 405B model on 128 (32 layers), 256 (80) or 512 (126) GPUs of 80 GB, with
p = 4, 8 and 16 devices, m = 16 p micro-batches of 1F1B, 2,048 sequences of 8,192 tokens. Six
strategies (tensor parallelism 4, 8, 16, each with ZeRO-1 and ZeRO-3) with costs where neighbours
differ, three ways to recompute, one or five clocks, one or two kinds of layers. The costs are
analytic, not measured: the instances compare solvers, not machines.

Every solver gets the same columns in whole microseconds, MiB and millijoules: those of choices
within the limit on the time, or no slower than the best with one mode per device and kind. CP-SAT
and HiGHS start from a choice, and get what the pruning of `solve_stages` leaves, which may be
nothing; the dynamic program and the labels take all columns. Seconds are CPU seconds of one solve,
pruning included; `columns s` is what making the columns takes. Least energy is asked within limits
on the time, relative to the least time.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import measuring
import numpy as np
from measuring import Cell, Report, Table

from solvers.solution import Solution, Status
from solvers.stages.backend import COST, Question
from solvers.stages.dynamic import Dynamic
from solvers.stages.labels import Labels
from solvers.stages.linear import Floats, LinearTables, rounded
from solvers.stages.problem import Choice, StageProblem
from solvers.stages.segments import LinearColumns, linear_columns
from solvers.stages.solving import solve_stages

_GPUS = {32: 128, 80: 256, 126: 512}
_SIZES = tuple((layers, p) for layers in _GPUS for p in (4, 8, 16))
_QUICK = ((32, 4),)
_TENSOR = (4, 4, 8, 8, 16, 16)
_ZERO3 = (False, True) * 3
_CLOCKS = (1.0, 0.9, 0.8, 0.7, 0.6)
_LIMITS = (1.0, 1.02, 1.05, 1.1)

Sizes = tuple[tuple[int, int], ...]

_HIDDEN, _FFN, _VOCAB, _SEQ, _BATCH = 16384, 53248, 128256, 8192, 2048
_FFN_OF_KIND = (1.0, 0.75)
_KEPT_BYTES_PER_VALUE = (34.0, 18.0, 2.0)
_WORK_OF_MODE = (3.0, 3.3, 4.0)
_FLOPS, _HBM_BYTES = 989e12 * 0.6, 80e9
_IN_NODE_BYTES_PER_S, _BETWEEN_BYTES_PER_S, _NODE = 370e9, 45e9, 8
_DYNAMIC_W, _STANDING_W = 450.0, 250.0
_UNITS = (1e-6, 1e-3, 2.0**20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Work of one micro-batch on one device, by (strategy, kind, mode).

    Attributes:
        compute_s: (6, k, 3) at the full clock.
        exchange_s: (6, k, 3) of tensor parallelism and ZeRO-3.
        held_bytes: (6, k) weights, gradients and optimizer.
        kept_bytes: (6, k, 3) activations of one micro-batch.
        end_s, end_bytes: (2, 6) of embedding and head.
    """

    compute_s: Floats
    exchange_s: Floats
    held_bytes: Floats
    kept_bytes: Floats
    end_s: Floats
    end_bytes: Floats


def blocks(layers: int, devices: int, kinds: int) -> Blocks:
    """The costs of layers on each strategy; formulas are the usual counts of a dense block."""
    tensor = np.array(_TENSOR, dtype=np.float64)
    zero3 = np.array(_ZERO3)
    data = _GPUS[layers] / devices / tensor
    sequences = _BATCH / (16 * devices) / data
    values = sequences * _SEQ * _HIDDEN / tensor
    parameters = 2.25 * _HIDDEN**2 + 3 * _HIDDEN * _FFN * np.array(_FFN_OF_KIND[:kinds])
    forward = 2 * np.outer(sequences * _SEQ / tensor, parameters + 2 * _SEQ * _HIDDEN)
    work, modes = np.array(_WORK_OF_MODE), np.array(_KEPT_BYTES_PER_VALUE)
    speed = np.where(tensor > _NODE, _BETWEEN_BYTES_PER_S * _NODE, _IN_NODE_BYTES_PER_S)
    exchanged = 4 * 2 * values * (tensor - 1) / speed
    gathered = np.outer(3 * 2 / tensor * np.where(zero3, 1 - 1 / data, 0.0), parameters)
    gathered *= 0.3 / _BETWEEN_BYTES_PER_S
    held = np.where(zero3, 18 / tensor / data, 6 / tensor + 12 / tensor / data)
    table = _VOCAB * _HIDDEN
    head_s = 6 * sequences * _SEQ * table / tensor / _FLOPS
    return Blocks(
        compute_s=forward[:, :, None] * work / _FLOPS,
        exchange_s=exchanged[:, None, None] * work / 2 + gathered[:, :, None],
        held_bytes=np.outer(held, parameters),
        kept_bytes=np.broadcast_to(values[:, None, None] * modes, (6, kinds, 3)),
        end_s=np.stack([0.02 * head_s, head_s]),
        end_bytes=np.broadcast_to(held * table, (2, 6)),
    )


def tables_of(layers: int, devices: int, kinds: int, clocks: int) -> LinearTables:
    """An instance of the study; settings are strategies times clocks."""
    block = blocks(layers, devices, kinds)
    clock = np.array(_CLOCKS[:clocks])
    power_w = _DYNAMIC_W * clock**2 * _GPUS[layers] / devices

    def at_clocks(compute: Floats, exchange: Floats) -> tuple[Floats, Floats]:
        """Time and energy with the strategies in front, then the clocks."""
        shape = (1, clocks, *[1] * (compute.ndim - 1))
        seconds = compute[:, None] / clock.reshape(shape) + exchange[:, None]
        joules = compute[:, None] * power_w.reshape(shape)
        return (
            seconds.reshape(6 * clocks, *compute.shape[1:]),
            joules.reshape(6 * clocks, *compute.shape[1:]),
        )

    time_s, cost_j = at_clocks(block.compute_s, block.exchange_s)
    ends_s, ends_j = (np.zeros((devices, 6 * clocks)) for _ in range(2))
    ends_bytes = np.zeros((devices, 6 * clocks))
    for at, end in ((0, 0), (devices - 1, 1)):
        ends_s[at], ends_j[at] = at_clocks(block.end_s[end], np.zeros(6))
        ends_bytes[at] = np.repeat(block.end_bytes[end], clocks)
    return rounded(
        kinds=np.arange(layers) % kinds,
        chunks=np.arange(devices)[:, None],
        in_flight=np.arange(devices, 0, -1)[:, None],
        group=np.repeat(np.arange(6), clocks),
        most_layers=layers,
        micro_batches=16 * devices,
        units=_UNITS,
        cost_per_time=_STANDING_W * _GPUS[layers],
        time=time_s,
        cost=cost_j,
        held=np.repeat(block.held_bytes, clocks, axis=0),
        kept=np.repeat(block.kept_bytes, clocks, axis=0),
        extra_time=ends_s,
        extra_cost=ends_j,
        extra_memory=ends_bytes,
        memory=np.full(devices, _HBM_BYTES),
        crossings=_crossings(devices, layers),
    )


def _crossings(devices: int, layers: int) -> Floats:
    """(6, 6) seconds to reshard activations between neighbours of other tensor parallelism."""
    tensor = np.array(_TENSOR)
    sequences = _BATCH / (16 * devices)
    size = 2 * sequences * _SEQ * _HIDDEN * devices / _GPUS[layers]
    differ: Floats = np.where(tensor[:, None] != tensor, size / _BETWEEN_BYTES_PER_S, 0.0)
    return differ


def uniform_start(problem: StageProblem) -> Choice | None:
    """The fastest choice with one group on all devices."""
    found = []
    for group in np.unique(problem.columns.group):
        own = np.flatnonzero(problem.columns.group == group)
        alone = replace(problem, columns=problem.columns.take(own))
        choice = Dynamic().solve(Question(problem=alone)).decision
        if choice is not None:
            found.append(replace(choice, columns=own[choice.columns]))
    return min(found, key=lambda choice: choice.time, default=None)


def asked(question: Question, solver: str) -> Solution[Choice]:
    """One solve by name; `dynamic` and `labels` take all columns, `first` is the usual choice."""
    if solver == "dynamic":
        return Dynamic().solve(question)
    if solver == "labels":
        return Labels().solve(question)
    if solver == "first":
        return solve_stages(question)
    return solve_stages(question, backend=solver)


def compared(
    question: Question, solvers: list[str], unit: float
) -> tuple[dict[str, Cell], Solution[Choice]]:
    """Cells of one question, and the best answer; objectives and bounds in SI units.

    Raises:
        SystemExit: Two proofs contradict each other.
    """
    seconds, answers = {}, {}
    for name in solvers:
        started = time.process_time()
        answers[name] = asked(question, name)
        seconds[name] = time.process_time() - started
    best = min(answers.values(), key=lambda answer: answer.objective)
    bound = max(answer.bound for answer in answers.values())
    measuring.require(bound <= best.objective, "a bound is above the best choice")
    cells: dict[str, Cell] = {"objective": best.objective * unit, "bound": bound * unit}
    for name, answer in answers.items():
        cells[f"{name} s"] = seconds[name]
        cells[f"{name} proved"] = answer.status is Status.OPTIMAL
    return cells, best


def made(tables: LinearTables, longest: int | None) -> tuple[LinearColumns, float]:
    """The columns of choices within a time, and the seconds that they took.

    Without a time, that of the best choice with one mode per device and kind is the limit.
    """
    started = time.process_time()
    if longest is None:
        first = linear_columns(tables, pure=True)
        if isinstance(first, LinearColumns):
            longest = int(Dynamic().solve(Question(problem=first.problem)).objective)
    columns = linear_columns(tables, None if longest is None else longest + 1)
    seconds = time.process_time() - started
    if not isinstance(columns, LinearColumns):
        raise SystemExit(f"error: no columns: {columns}")
    return columns, seconds


def least_times(sizes: Sizes, solvers: list[str], most_s: float) -> list[dict[str, Cell]]:
    """One row per size and number of kinds: least time with one clock."""
    rows = []
    for (layers, p), kinds in ((size, k) for size in sizes for k in (1, 2)):
        tables = tables_of(layers, p, kinds, 1)
        columns, seconds = made(tables, None)
        start = uniform_start(columns.problem)
        question = Question(problem=columns.problem, hint=start, seconds=most_s)
        cells, best = compared(question, solvers, _UNITS[0])
        over = None if start is None else start.time / best.objective
        size: dict[str, Cell] = {"layers": layers, "p": p, "kinds": kinds}
        size |= {"columns": len(columns.problem.columns), "columns s": seconds}
        rows.append(size | {"one strategy / best": over} | cells)
    return rows


def least_costs(
    sizes: Sizes, limits: tuple[float, ...], solvers: list[str], most_s: float
) -> list[dict[str, Cell]]:
    """One row per size and limit: least energy within a time, five clocks."""
    rows = []
    for layers, p in sizes:
        tables = tables_of(layers, p, 1, len(_CLOCKS))
        fastest = Dynamic().solve(Question(problem=made(tables, None)[0].problem)).objective
        for limit in limits:
            longest = int(fastest * limit)
            columns, seconds = made(tables, longest)
            question = Question(
                problem=columns.problem,
                minimize=COST,
                longest=longest,
                hint=Dynamic().solve(Question(problem=columns.problem)).decision,
                seconds=most_s,
            )
            cells, _ = compared(question, solvers, _UNITS[1])
            size: dict[str, Cell] = {"layers": layers, "p": p, "limit": limit}
            size |= {"columns": len(columns.problem.columns), "columns s": seconds}
            rows.append(size | cells)
    return rows


def _sizes(options: argparse.Namespace) -> Sizes:
    if options.quick:
        return _QUICK
    return tuple(size for size in _SIZES if options.layers in (None, size[0]))


def main() -> None:
    """Measures and prints."""
    made_parser = measuring.parser(__doc__, quick=True)
    made_parser.add_argument("--layers", type=int, choices=list(_GPUS), help="only this size")
    made_parser.add_argument(
        "--solvers", nargs="*", default=["cp-sat", "highs"], help="to compare with"
    )
    made_parser.add_argument(
        "--seconds", type=float, default=60.0, help="wall seconds per solve, at most"
    )
    options = made_parser.parse_args()
    sizes, most_s = _sizes(options), options.seconds
    times = least_times(sizes, ["dynamic", *options.solvers], most_s)
    costs = least_costs(sizes, _LIMITS, ["labels", *options.solvers], most_s)
    tables = [
        Table(title="Least time, one clock (s)", rows=times),
        Table(title="Least energy within a time, five clocks (J)", rows=costs),
    ]
    measuring.show(Report(name="stage_study", tables=tables), options)


if __name__ == "__main__":
    main()
