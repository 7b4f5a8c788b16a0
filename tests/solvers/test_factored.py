"""Enumeration and brute force of factored problems, against plain Python; bad problems."""

import numpy as np
import pytest
from factored_instances import PLAIN, efficient, feasible, random_problem
from support.cases import each

from solvers.factored import (
    ARRAY_OPS,
    LARGEST,
    FactoredProblem,
    Limit,
    Product,
    Table,
    brute_force_front,
    brute_force_minimum,
    enumerate_assignments,
)
from solvers.solution import Status

OBJECTIVE = {"time": lambda v, ops: v["x"]}


def table(**changes):
    parts = {"name": "t", "keys": ("x",), "rows": [[1], [2]], "outputs": {"a": [5, 6]}}
    return Table(**(parts | changes))


def problem(**changes):
    parts = {"choices": {"x": (1, 2), "y": (1, 2, 3)}, "objectives": OBJECTIVE}
    return FactoredProblem(**(parts | changes))


def test_worked_example():
    """2 * 3 = 6: x picks the cost, the class it falls in picks a factor; done by hand."""
    worked = FactoredProblem(
        choices={"x": (1, 2, 3, 6), "y": (1, 2, 3, 6)},
        products=(Product(factors=("x", "y"), equals=6),),
        tables=(
            Table(
                name="cost",
                keys=("x",),
                rows=[[1], [2], [3]],
                outputs={"cost": [10, 7, 4], "kind": [0, 0, 1]},
            ),
            Table(
                name="kind",
                keys=("kind", "y"),
                rows=[[0, 6], [0, 3], [1, 2]],
                outputs={"f": [1, 2, 3]},
            ),
        ),
        objectives={
            "time": lambda v, ops: v["cost"] * v["f"],
            "energy": lambda v, ops: ops.maximum(v["x"], v["f"]) - v["y"],
        },
    )
    # x=1,y=6: 10, -5; x=2,y=3: 14, -1; x=3,y=2: 12, 1; x=6 has no row.
    columns, counts = enumerate_assignments(worked)
    rows = sorted(zip(columns["x"].tolist(), columns["y"].tolist(), strict=True))
    assert rows == [(1, 6), (2, 3), (3, 2)]
    assert counts == {"evaluated": 3}
    best = brute_force_minimum(worked, "time")
    assert (best.decision, best.objective, best.bound) == ({"x": 1, "y": 6}, 10.0, 10.0)
    assert list(brute_force_front(worked, ("time", "energy"))) == [(10, -5, {"x": 1, "y": 6})]
    limited = FactoredProblem(
        **{name: getattr(worked, name) for name in ("choices", "products", "tables", "objectives")},
        limits=(Limit(name="y", expression=lambda v, ops: v["y"], upper=3),),
    )
    best = brute_force_minimum(limited, "time")
    assert (best.objective, best.counts) == (12.0, {"evaluated": 3, "dropped_by_y": 1})
    assert [p[:2] for p in brute_force_front(limited, ("time", "energy"))] == [(14, -1), (12, 1)]


@each("chunk", range(10))
def test_enumeration_equals_plain_python(chunk):
    for seed in range(chunk * 50, chunk * 50 + 50):
        random = random_problem(seed)
        expected = feasible(random)
        columns, _ = enumerate_assignments(random)
        names = list(columns)
        found = sorted(zip(*(columns[name].tolist() for name in names), strict=True))
        assert found == sorted(tuple(values[name] for name in names) for _, values, _ in expected)
        assert set(names) == set(random.domains())
        points = [(point["time"], point["energy"]) for _, _, point in expected]
        front = list(brute_force_front(random, ("time", "energy")))
        assert [point[:2] for point in front] == efficient(points)
        decisions = [decision for decision, _, _ in expected]
        assert all(point[2] in decisions for point in front)
        best = brute_force_minimum(random, "time")
        assert best.objective == min((time for time, _ in points), default=float("inf"))
        assert best.status is (Status.OPTIMAL if points else Status.INFEASIBLE)


def test_random_problems_cover_the_features():
    problems = [random_problem(seed) for seed in range(400)]
    infeasible = sum(not feasible(p) for p in problems) / len(problems)
    assert 0.1 < infeasible < 0.25
    outputs = [{o for t in p.tables for o in t.outputs} for p in problems]
    chained = [
        any(key in names for t in p.tables for key in t.keys)
        for p, names in zip(problems, outputs, strict=True)
    ]
    assert sum(chained) > 100
    numbers = {product.equals for p in problems for product in p.products}
    assert {1, 7, 13, 12, 60, 90} <= numbers
    assert {len(p.choices) for p in problems} == {2, 3, 4, 5, 6}
    assert {len(p.tables) for p in problems} == {1, 2, 3, 4}
    assert {len(p.limits) for p in problems} == {0, 1, 2}


def test_constant_expressions_and_empty_results():
    constant = problem(objectives={"time": lambda v, ops: 7})
    assert brute_force_minimum(constant, "time").objective == 7.0
    impossible = problem(products=(Product(factors=("x", "y"), equals=5),))
    solution = brute_force_minimum(impossible, "time")
    assert (solution.decision, solution.status) == (None, Status.INFEASIBLE)
    assert list(brute_force_front(impossible, ("time", "time"))) == []


def test_array_and_plain_operations_agree():
    def expression(v, ops):
        return ops.maximum(v["x"], 3, ops.minimum(v["y"], -v["x"])) * 2 - v["y"]

    x, y = np.meshgrid(np.arange(-5, 6), np.arange(-5, 6))
    values = expression({"x": x, "y": y}, ARRAY_OPS)
    for i, j in np.ndindex(x.shape):
        assert values[i, j] == expression({"x": int(x[i, j]), "y": int(y[i, j])}, PLAIN)


def test_enumeration_refuses_what_does_not_fit():
    wide = problem(choices={"x": tuple(range(1000)), "y": tuple(range(1000))})
    with pytest.raises(ValueError, match="1000000 rows, more than 999999"):
        enumerate_assignments(wide, max_rows=999_999)
    assert len(enumerate_assignments(wide, max_rows=1_000_000)[0]["x"]) == 1_000_000


def test_products_prune_early():
    """A million combinations of factors, 45 of which have the product: the join stays small."""
    values = tuple(2**e for e in range(9)) + tuple(range(257, 348))
    many = FactoredProblem(
        choices={name: values for name in "abc"},
        products=(Product(factors=("a", "b", "c"), equals=256),),
        objectives={"time": lambda v, ops: v["a"]},
    )
    assert len(enumerate_assignments(many, max_rows=1000)[0]["a"]) == 45


@each(
    ("changes", "message"),
    [
        ({"rows": [[1], [1]]}, "repeated keys, the first is {'x': 1}"),
        ({"rows": np.empty((0, 1), dtype=np.int64), "outputs": {}}, "at least one row"),
        ({"rows": [], "outputs": {}}, "at least one row"),
        ({"keys": (), "rows": np.empty((2, 0), dtype=np.int64)}, "at least one row and one key"),
        ({"rows": [[1, 2], [2, 3]]}, r"shape \(rows, 1\)"),
        ({"rows": [[1.0], [2.0]]}, "rows: needs integers, not float64"),
        ({"outputs": {"a": [1.5, 2.0]}}, "output 'a': needs integers"),
        ({"outputs": {"a": [True, False]}}, "output 'a': needs integers, not bool"),
        ({"outputs": {"a": ["1", "2"]}}, "output 'a': needs integers"),
        ({"outputs": {"a": [1, 2, 3]}}, r"not \(2, 1\) and \[\(3,\)\]"),
        ({"outputs": {"a": [1, LARGEST + 1]}}, r"output 'a': values reach beyond 2\*\*53"),
        ({"outputs": {"a": [1, -LARGEST - 1]}}, r"output 'a': values reach beyond 2\*\*53"),
        ({"outputs": {"a": [1, 2**70]}}, "output 'a': needs integers"),
        ({"outputs": {"x": [1, 2]}}, "columns named more than once: 'x'"),
        ({"keys": ("x", "x"), "rows": [[1, 1], [2, 2]]}, "columns named more than once: 'x'"),
    ],
)
def test_bad_tables(changes, message):
    with pytest.raises(ValueError, match=f"table 't'.*{message}"):
        table(**changes)


@each(
    ("changes", "message"),
    [
        ({"choices": {}}, "at least one choice"),
        ({"choices": {"x": ()}}, "choice 'x': needs values"),
        ({"choices": {"x": (1, 2, 1)}}, "choice 'x': needs values without repetition"),
        ({"choices": {"x": (1, 2.0)}}, "choice 'x': needs integers, not 2.0"),
        ({"choices": {"x": (True, 2)}}, "choice 'x': needs integers, not True"),
        ({"choices": {"x": (1, 2**53 + 1)}}, "choice 'x': 9007199254740993 is not in"),
        ({"tables": (table(keys=("xx",)),)}, "table 't': key 'xx' must be a choice"),
        ({"tables": (table(keys=("b",)), table(name="u", outputs={"b": [0, 1]}))}, "earlier table"),
        ({"tables": (table(), table(name="u"))}, "table 'u': outputs named like .*'a'"),
        ({"tables": (table(outputs={"y": [1, 2]}),)}, "table 't': outputs named like .*'y'"),
        ({"products": (Product(factors=("x", "z"), equals=2),)}, "no choice 'z'; known: x, y"),
        ({"products": (Product(factors=("x", "x"), equals=4),)}, "distinct factors"),
        ({"products": (Product(factors=(), equals=4),)}, "distinct factors"),
        ({"products": (Product(factors=("x",), equals=0),)}, r"0 is not in 1 \.\."),
        ({"products": (Product(factors=("x",), equals=2.0),)}, "needs integers, not 2.0"),
        ({"products": (Product(factors=("x",), equals=2**41),)}, "product 1: 2199023255552 is not"),
        (
            {"choices": {"x": (0, 1)}, "products": (Product(factors=("x",), equals=2),)},
            "factor 'x' has values below 1",
        ),
        (
            {"objectives": {"time": lambda v, ops: v["xx"]}},
            "'time': unknown name 'xx'; did you mean 'x'",
        ),
        ({"objectives": {"time": lambda v, ops: v["x"] * 0.5}}, "'time': needs integers, not 0.5"),
        (
            {"objectives": {"time": lambda v, ops: v["x"] / 2}},
            "objective 'time': unsupported operand",
        ),
        ({"objectives": {"time": lambda v, ops: 1 if v["x"] == 1 else 2}}, "cannot be compared"),
        ({"objectives": {"time": lambda v, ops: 1 if v["x"] > 1 else 2}}, "not supported between"),
        ({"objectives": {"time": lambda v, ops: 1 if v["x"] else 2}}, "cannot be compared"),
        ({"objectives": {"time": lambda v, ops: ops.median(v["x"])}}, "no attribute 'median'"),
        ({"objectives": {"time": lambda v, ops: "fast"}}, "needs integers, not 'fast'"),
        ({"objectives": {"time": lambda v, ops: v["x"] * 2**52 * v["y"]}}, r"could exceed 2\*\*53"),
        ({"objectives": {"time": lambda v, ops: v["x"] + 2**53}}, r"could exceed 2\*\*53"),
        (
            {"limits": (Limit(name="m", expression=OBJECTIVE["time"], upper=1.5),)},
            "limit 'm': needs",
        ),
        (
            {"limits": (Limit(name="m", expression=OBJECTIVE["time"], upper=1),) * 2},
            "more than once: 'm'",
        ),
    ],
)
def test_bad_problems(changes, message):
    with pytest.raises(ValueError, match=message):
        problem(**changes)


def test_all_mistakes_at_once():
    with pytest.raises(ValueError, match=r"choice 'x'.*choice 'y'.*table 't'"):
        problem(choices={"x": (), "y": (1, 1)}, tables=(table(keys=("w",)),))


def test_largest_values_are_exact():
    """2**53 and its neighbor are told apart."""
    exact = problem(
        choices={"x": (LARGEST, LARGEST - 1)}, objectives={"time": lambda v, ops: v["x"]}
    )
    assert brute_force_minimum(exact, "time").objective == LARGEST - 1


def test_unknown_objective_names_the_nearest():
    with pytest.raises(ValueError, match="unknown objective 'tine'; did you mean 'time'"):
        brute_force_minimum(problem(), "tine")


def test_tables_are_read_only_copies():
    rows = np.array([[1], [2]])
    made = table(rows=rows)
    rows[0] = 9
    assert made.rows.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="read-only"):
        made.rows[0] = 3
