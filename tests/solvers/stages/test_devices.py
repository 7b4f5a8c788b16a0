"""Several chunks per device against every raw assignment: sizes, settings, mode of each layer.

Every instance is asked with the states of stretches and with contents placed at every position.
"""

from dataclasses import replace

import numpy as np
import pytest
from chunk_instances import chunk_map, drawn, raw_points, splits
from linear_devices import (
    LinearDevices,
    interleaved_columns,
    interleaved_layout,
    interleaved_problem,
)
from support.cases import each

from solvers.solution import Status
from solvers.stages import device_columns as making
from solvers.stages import fillings, unfolding
from solvers.stages.backend import COST, TIME, Question
from solvers.stages.checking import check_question, faults
from solvers.stages.devices import Layout, Priced, device_problem
from solvers.stages.forms import needs_of
from solvers.stages.problem import Form
from solvers.stages.sequence import layer_states
from solvers.stages.solving import solve_stages
from solvers.stages.unfolded import Unfolding
from solvers.stages.unfolding import unfolded

SHAPES = ("interleaved", "V")


def asked(tables, points):
    """Questions with their least objective among raw assignments; inf where there is none."""
    limits = [None]
    if len(points):
        limits += np.quantile(points[:, 0], (0, 0.3), method="lower").tolist()
    found = [({}, points[:, 0])]
    for limit in limits if tables.cost is not None else []:
        within = points if limit is None else points[points[:, 0] <= limit]
        found.append(({"minimize": COST, "longest": limit}, within[:, 1]))
    return [(ask, float(values.min(initial=2**50))) for ask, values in found]


def solved(problem, **ask):
    """The checked answer of the unfolding, by the problem's own tables."""
    question = Question(problem=problem, **ask)
    check_question(question)
    found = Unfolding().solve(question)
    if found.decision is not None:
        assert not faults(problem, found.decision, ask.get("longest"))
        assert (found.status, found.bound) == (Status.OPTIMAL, found.objective)
    return found


def same_as_raw(tables):
    """Asserts that every question has the objective of brute force; whether anything fits."""
    points = raw_points(tables)
    columns = interleaved_columns(tables)
    if len(set(columns.columns.device.tolist())) < tables.devices:
        assert len(points) == 0
        return False
    problem = interleaved_problem(tables, columns)
    for ask, best in asked(tables, points):
        found = solved(problem, **ask)
        assert min(found.objective, 2**50) == best
        if found.decision is not None:
            sizes = columns.sizes(found.decision, tables.chunks)
            assert sum(sizes) == tables.layers
            assert max(sizes) <= tables.most_layers
    return len(points) > 0


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("shape", SHAPES)
def test_equal_to_every_raw_assignment(shape, part, monkeypatch):
    fitting = 0
    for seed in range(50 * part, 50 * part + 50):
        monkeypatch.setattr(making, "FEW_STATES", 6 * (seed // 2 % 2))
        fitting += same_as_raw(drawn(seed, costs=seed % 2 == 1, shape=shape))
    assert 30 < fitting < 50


@each("backend", ["cp-sat", "highs"])
def test_masters_agree_with_raw_assignments(backend):
    for seed in range(200, 207):
        tables = drawn(seed, costs=True)
        points = raw_points(tables)
        if not len(points):
            continue
        problem = interleaved_problem(tables, interleaved_columns(tables))
        for ask, best in asked(tables, points):
            found = solve_stages(Question(problem=problem, **ask), backend=backend)
            assert found.bound <= best == found.objective


def test_a_limit_on_the_time_keeps_the_best():
    """Columns cut by a time just above the optimum still hold it."""
    cut = 0
    for seed in range(300, 320):
        tables = drawn(seed)
        points = raw_points(tables)
        if not len(points):
            continue
        best = int(points[0, 0])
        columns = interleaved_columns(tables, best + 1)
        found = solved(interleaved_problem(tables, columns))
        assert found.objective == best
        cut += len(interleaved_columns(tables).columns) - len(columns.columns)
    assert cut > 0


def test_identical_layers_need_their_number_only():
    """One state and one total; the first and the last chunk may be the short ones."""
    tables = drawn(3, kinds=1)
    columns = interleaved_columns(tables)
    problem = interleaved_problem(tables, columns)
    assert problem.layers == 1
    assert {need.name for need in needs_of(Question(problem=problem))} == {"CHUNKS", "TOTALS"} | (
        {"CROSSINGS"} if tables.crossings is not None else set()
    )
    assert len(unfolded(problem).problem.limits) == 0


class WithWeightGradients:
    """Zero-bubble of one chunk per device, or pairs of chunks: w of the time fills the bubble."""

    settings, recomputes = 1, 2

    def __init__(self, seed, devices, chunks, kinds):
        rng = np.random.default_rng(seed)
        self.time = np.sort(rng.integers(2, 12, (kinds, 2)), axis=1)
        self.grad = self.time[:, :1] // 2 - rng.integers(0, 2, (kinds, 1))
        self.bytes = rng.integers(1, 7, (devices, chunks, kinds, 2))
        self.limit = rng.integers(14, 30, (devices, 1))
        self.micro_batches = int(rng.integers(2, 6))

    def times(self, setting):
        return self.time.astype(np.float64)

    def memory(self, device, setting):
        return self.bytes[device][..., None].astype(np.float64)

    def room(self, device, setting):
        return self.limit[device].astype(np.float64)

    def price(self, device, setting, counts, longest):
        time = np.tensordot(counts, self.time, axes=2)
        grad = (counts.sum(axis=2) * self.grad[:, 0]).sum(axis=1)
        m = self.micro_batches
        return Priced(
            sums=(time - grad)[:, None],
            peaks=np.stack([(m - 1) * time + grad, time], axis=1),
            fits=np.ones(len(time), dtype=bool),
        )

    def raw(self, layers, bounds, modes, chunks):
        """The time of one assignment; None where it does not fit."""
        times, grads = [], []
        for device, own in enumerate(chunks.tolist()):
            held = [(k, i) for k, c in enumerate(own) for i in range(bounds[c], bounds[c + 1])]
            used = sum(self.bytes[device, k, layers[i], modes[i]] for k, i in held)
            if used > self.limit[device, 0]:
                return None
            times.append(sum(self.time[layers[i], modes[i]] for _, i in held))
            grads.append(sum(self.grad[layers[i], 0] for _, i in held))
        m = self.micro_batches
        paced = max((m - 1) * t + w for t, w in zip(times, grads, strict=True))
        return max(paced + sum(times) - sum(grads), m * max(times))


@each("shape", ["zero-bubble", "pairs", "V"])
def test_zero_bubble_and_mirrored_pairs(shape):
    """Time is the larger of two forms; a pair of ranks of a bidirectional pipeline is a device."""
    chunks = {
        "zero-bubble": np.arange(3)[:, None],
        "pairs": np.array([[0, 3], [1, 2]]),
        "V": chunk_map(2, 2, "V"),
    }[shape]
    feasible = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        layers = tuple(np.sort(rng.integers(0, 2, 5)).tolist())
        tables = WithWeightGradients(seed, *chunks.shape, 2)
        layout = Layout(states=layer_states(layers, kinds=2), chunks=chunks, most_layers=3)
        columns = making.device_columns(layout, tables)
        forms = (Form(sums=(1,), peaks=(1, 0)), Form(peaks=(0, tables.micro_batches)))
        raw = [
            time
            for bounds in splits(_Sizes(chunks, len(layers), 3))
            for modes in np.ndindex(*(2,) * len(layers))
            if (time := tables.raw(layers, bounds, modes, chunks)) is not None
        ]
        if len(set(columns.columns.device.tolist())) < len(chunks):
            assert not raw
            continue
        problem = device_problem(layout, columns, time=forms)
        found = solve_stages(Question(problem=problem, minimize=TIME))
        assert found.objective == min(raw, default=np.inf)
        assert found.bound <= min(raw, default=np.inf)
        feasible += bool(raw)
    assert feasible > 15


class _Sizes:
    """What `splits` asks of tables."""

    def __init__(self, chunks, layers, most_layers):
        self.chunks, self.layers, self.most_layers = chunks, layers, most_layers


def test_every_filling_is_kept_where_a_longer_time_may_be_wanted():
    tables = drawn(5)
    layout = replace(interleaved_layout(tables), most_peaks=None)
    fewer = making.device_columns(layout, LinearDevices(tables))
    every = making.device_columns(replace(layout, all_columns=True), LinearDevices(tables))
    assert len(every.columns) > len(fewer.columns)


def test_too_many_fillings_are_refused(monkeypatch):
    monkeypatch.setattr(fillings, "MOST_FILLINGS", 0)
    with pytest.raises(ValueError, match="tighter time limit"):
        interleaved_columns(drawn(1))


def test_too_many_states_are_left_to_the_next_solver(monkeypatch):
    tables = drawn(1)
    problem = interleaved_problem(tables, interleaved_columns(tables))
    monkeypatch.setattr(unfolding, "MOST_ARCS", 0)
    found = solve_stages(Question(problem=problem))
    assert found.objective == raw_points(tables)[0, 0]
    assert found.counts["failed unfolding"] == found.counts["solved by cp-sat"] == 1
