"""Linear tables: columns, what is missing where none fit, and what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from linear_instances import drawn, raw_points
from support.cases import each

from solvers.stages.backend import COST, Question
from solvers.stages.dynamic import Dynamic
from solvers.stages.labels import Labels
from solvers.stages.linear import rounded
from solvers.stages.segments import LinearColumns, linear_columns
from solvers.stages.shortfall import Shortfall

SEEDS = range(600)


def least_time(columns):
    return Dynamic().solve(Question(problem=columns.problem))


def plain(**changes):
    """Four layers of one kind on two devices, in floats."""
    given = {
        "kinds": np.zeros(4, dtype=np.int64),
        "chunks": np.arange(2)[:, None],
        "in_flight": np.array([[2], [1]]),
        "group": np.zeros(1, dtype=np.int64),
        "most_layers": 4,
        "micro_batches": 3,
        "units": (1e-3, 1.0, 1.0),
        "time": np.array([[[1.0, 2.0]]]),
        "cost": None,
        "held": np.array([[10.0]]),
        "kept": np.array([[[4.0, 1.0]]]),
        "extra_time": np.zeros((2, 1)),
        "extra_cost": None,
        "extra_memory": np.zeros((2, 1)),
        "memory": np.array([30.0, 30.0]),
        "crossings": None,
    }
    return given | changes


@each("seeds", [SEEDS[i::4] for i in range(4)])
def test_solvers_over_columns_equal_every_raw_assignment(seeds):
    """Modes layer by layer, settings and splits; time alone, and cost within times."""
    infeasible = 0
    for seed in seeds:
        tables = drawn(seed)
        points = raw_points(tables)
        columns = linear_columns(tables)
        if len(points) == 0:
            assert isinstance(columns, Shortfall), seed
            infeasible += 1
            continue
        assert isinstance(columns, LinearColumns), seed
        fastest = least_time(columns)
        assert fastest.objective == fastest.bound == points[:, 0].min(), seed
        for longest in limits(seed, points):
            allowed = points[points[:, 0] <= longest]
            found = Labels().solve(
                Question(problem=columns.problem, minimize=COST, longest=longest)
            )
            if len(allowed) == 0:
                assert found.status.value == "infeasible", seed
                continue
            cost, time = min((cost, time) for time, cost in allowed.tolist())
            assert found.status.value == "optimal", seed
            assert (found.decision.cost, found.decision.time) == (cost, time), seed
    assert infeasible


def limits(seed, points):
    """Times below, at and above the least, and one among the points."""
    times = np.unique(points[:, 0])
    drawn_at = int(np.random.default_rng(seed).integers(len(times)))
    return int(times[0]) - 1, int(times[0]), int(times[drawn_at]), int(times[-1])


@each("seed", range(0, 120, 2))
def test_columns_below_a_time_keep_every_faster_choice(seed):
    tables = drawn(seed)
    points = raw_points(tables)
    if len(points) == 0:
        return
    least = int(points[:, 0].min())
    kept = linear_columns(tables, least + 1)
    assert isinstance(kept, LinearColumns)
    assert least_time(kept).objective == least
    none = linear_columns(tables, least)
    assert none is None or least_time(none).objective >= least


@each("seed", range(60))
def test_columns_are_what_their_counts_say(seed):
    tables = drawn(seed)
    made = linear_columns(tables)
    if isinstance(made, Shortfall):
        return
    columns = made.problem.columns
    for row in range(len(columns)):
        d, s, counts = columns.device[row], made.setting[row], made.counts[row]
        own = tables.kinds[columns.starts[row, 0] : columns.ends[row, 0]]
        assert counts.sum(axis=1).tolist() == np.bincount(own, minlength=len(counts)).tolist()
        time = tables.extra_time[d, s] + (counts * tables.time[s]).sum()
        cost = tables.extra_cost[d, s] + (counts * tables.cost[s]).sum()
        assert columns.sums[row].tolist() == [time, cost]
        assert columns.peaks[row].tolist() == [time]
        per_layer = tables.held[s][:, None] + tables.in_flight[d, 0] * tables.kept[s]
        needed = tables.extra_memory[d, s] + (counts * per_layer).sum()
        assert needed <= tables.memory[d]


def test_pure_columns_run_each_kind_in_one_mode():
    for seed in range(40):
        pure = linear_columns(drawn(seed), pure=True)
        if isinstance(pure, LinearColumns):
            assert np.all((pure.counts > 0).sum(axis=2) <= 1)
            assert least_time(pure).objective >= least_time(linear_columns(drawn(seed))).objective


def test_the_least_addition_of_memory_is_the_least():
    told = 0
    for seed in range(300):
        tables = replace(drawn(seed), memory=np.full(drawn(seed).devices, 6))
        missing = linear_columns(tables)
        if not isinstance(missing, Shortfall) or missing.memory is None:
            continue
        told += 1
        assert isinstance(linear_columns(more(tables, missing.memory)), LinearColumns)
        assert isinstance(linear_columns(more(tables, missing.memory - 1)), Shortfall)
        if missing.fewer_layers is not None:
            fewer = replace(tables, kinds=tables.kinds[: -missing.fewer_layers])
            assert isinstance(linear_columns(fewer), LinearColumns)
        if missing.missing is not None:
            assert missing.missing > 0
    assert told > 100


def more(tables, memory):
    return replace(tables, memory=tables.memory + memory)


def test_the_device_that_lacks_least_for_a_layer_more_is_named():
    """A layer takes 12 on device 0 and 11 on device 1, which may stay empty."""
    tables = rounded(**plain(memory=np.array([31.0, 5.0])))
    missing = linear_columns(tables)
    assert missing == Shortfall(device=0, layers=2, missing=5, memory=6, fewer_layers=2)


def test_a_device_on_which_no_layer_fits_is_named():
    given = plain(chunks=np.arange(3)[:, None], in_flight=np.array([[3], [2], [1]]))
    given |= {name: np.zeros((3, 1)) for name in ("extra_time", "extra_memory")}
    tables = rounded(**given | {"memory": np.array([99.0, 9.0, 99.0])})
    missing = linear_columns(tables)
    assert missing == Shortfall(device=1, layers=0, missing=3, memory=3, fewer_layers=None)


def test_too_many_layers_for_the_chunks_no_memory_helps():
    tables = rounded(**plain(most_layers=1))
    missing = linear_columns(tables)
    assert (missing.memory, missing.missing, missing.fewer_layers) == (None, None, 2)


def test_floats_are_rounded_against_what_is_allowed():
    tables = rounded(**plain(time=np.array([[[1.0001, 2.0]]]), memory=np.array([30.9, 30.0])))
    assert tables.time.tolist() == [[[1001, 2000]]]
    assert tables.memory.tolist() == [30, 30]


@each(
    ("name", "entry", "value", "why"),
    [
        ("time", (0, 0, 1), np.nan, "must be finite and at least 0"),
        ("held", (0, 0), np.inf, "must be finite and at least 0"),
        ("kept", (0, 0, 0), -1.0, "must be finite and at least 0"),
        ("extra_time", (1, 0), 1e30, "is over 2**53 units of 0.001; take a larger unit"),
        ("time", (0, 0, 0), 1e12, "with 4 layers and 3 micro-batches sums of time can pass 2**53"),
        ("kept", (0, 0, 0), 4e15, "with 4 layers and 3 micro-batches sums of kept can pass 2**53"),
    ],
)
def test_a_bad_number_is_refused_by_table_and_entry(name, entry, value, why):
    given = plain()
    given[name] = given[name].copy()
    given[name][entry] = value
    with pytest.raises(
        ValueError, match=re.escape(f"{name}{list(entry)} = ") + ".*" + re.escape(why)
    ):
        rounded(**given)


@each(("price", "refused"), [(3.7e14, False), (3.8e14, True)])
def test_a_price_of_time_at_which_costs_are_too_large_is_refused(price, refused):
    """Three micro-batches of four layers take up to 24,000 units of time, so that 2**53 is near."""
    given = plain(cost_per_time=price)
    if not refused:
        assert rounded(**given).cost_per_time == 3.7e11
        return
    with pytest.raises(ValueError, match=r"sums of cost can pass 2\*\*53"):
        rounded(**given)


@each(
    ("changes", "why"),
    [
        ({"held": np.zeros((2, 1))}, "held has shape (2, 1); by chunks and time it is (1, 1)"),
        ({"chunks": np.array([[0], [2]])}, "chunks must name each of 0 to 1 once"),
        ({"kinds": np.array([0, 0, 1, 0])}, "kinds[2] = 1 must be below 1"),
        ({"cost": np.zeros((1, 1, 2))}, "cost and extra_cost are given together"),
        ({"micro_batches": 0}, "must be at least 1"),
        ({"most_layers": 0}, "most_layers 0 must be at least 1"),
        ({"cost_per_time": -1e3}, "cost_per_time -1 at least 0"),
        ({"crossings": np.zeros((1, 2))}, "crossings has shape (1, 2); 1 groups are named"),
    ],
)
def test_tables_that_do_not_agree_are_refused(changes, why):
    with pytest.raises(ValueError, match=re.escape(why)):
        rounded(**plain(**changes))


def test_several_chunks_per_device_are_refused():
    tables = rounded(**plain(chunks=np.array([[0, 2], [1, 3]]), in_flight=np.ones((2, 2))))
    with pytest.raises(ValueError, match="one chunk per device"):
        linear_columns(tables)
