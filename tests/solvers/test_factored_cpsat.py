"""CP-SAT on factored problems against plain Python: optimum, bound, whole front, options."""

import itertools
import subprocess
import sys
from dataclasses import replace

import pytest
from factored_instances import efficient, feasible, random_problem
from support.cases import each

from solvers.factored import LARGEST, FactoredProblem, Limit, Product, Table
from solvers.factored_cpsat import evaluate, front, minimize
from solvers.factored_model import Model
from solvers.solution import Status

CHUNKS, PER_CHUNK = 16, 25


@each("chunk", range(CHUNKS))
def test_optimum_and_front_equal_plain_python(chunk):
    """400 random problems: status, objective, bound and the whole front."""
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        problem = random_problem(seed)
        points = [(point["time"], point["energy"]) for _, _, point in feasible(problem)]
        solution = minimize(problem, "time")
        assert solution.objective == min((time for time, _ in points), default=float("inf"))
        assert solution.bound == solution.objective
        assert solution.status is (Status.OPTIMAL if points else Status.INFEASIBLE)
        found = list(front(problem, ("time", "energy")))
        assert [point[:2] for point in found] == efficient(points)
        for time, energy, decision in found:
            assert evaluate(problem, decision)[1] == {"time": time, "energy": energy}


def cube(**changes):
    """Minimize x + y + z subject to x y z = 64, with a table that forbids x = y."""
    divisors = (1, 2, 4, 8, 16, 32, 64)
    rows = [[a, b] for a in divisors for b in divisors if a != b]
    parts = {
        "choices": {"x": divisors, "y": divisors, "z": divisors},
        "products": (Product(factors=("x", "y", "z"), equals=64),),
        "tables": (
            Table(name="t", keys=("x", "y"), rows=rows, outputs={"s": [a + b for a, b in rows]}),
        ),
        "objectives": {"sum": lambda v, ops: v["s"] + v["z"], "least": lambda v, ops: -v["z"]},
    }
    return FactoredProblem(**(parts | changes))


def test_upper_bounds_and_limits():
    """The sums of three powers of two with product 64 and x != y: 14 (2, 8, 4), 19, 21, ..."""
    best = minimize(cube(), "sum")
    assert (best.objective, sorted(best.decision.values())) == (14.0, [2, 4, 8])
    assert minimize(cube(), "sum", upper_bounds={"sum": 14}).objective == 14.0
    assert minimize(cube(), "sum", upper_bounds={"sum": 13}).status is Status.INFEASIBLE
    assert minimize(cube(), "sum", upper_bounds={"least": -16}).objective == 21.0
    limited = cube(limits=(Limit(name="z", expression=lambda v, ops: v["z"] * -1, upper=-16),))
    assert minimize(limited, "sum").objective == 21.0
    bounded = list(front(cube(), ("sum", "least"), upper_bounds={"sum": 21}))
    assert [point[:2] for point in bounded] == [(21, -16), (14, -8)]


def test_rows_are_pruned_before_the_model_is_built():
    best = minimize(cube(), "sum", upper_bounds={"sum": 14})
    assert best.counts["rows"] + best.counts["rows_dropped"] == 42
    assert best.counts["rows"] == 12  # distinct x, y in 1, 2, 4, 8
    dead = Table(name="dead", keys=("x",), rows=[[2], [3], [128]], outputs={"w": [1, 1, 1]})
    fixed = minimize(cube(tables=(*cube().tables, dead)), "sum")
    assert fixed.objective == 14.0
    assert fixed.counts["rows"] == 7  # one row of `dead`, six of `t` with x = 2


@each(
    "hint",
    [
        {"x": 2, "y": 8, "z": 4},
        {"x": 8, "y": 8, "z": 1},
        {"x": 3, "y": 2**80},
        {"z": 64},
    ],
)
def test_hints_do_not_change_the_optimum(hint):
    assert minimize(cube(), "sum", hint=hint).objective == 14.0


def test_deterministic_and_seeds_agree():
    runs = [minimize(random_problem(11), "time", seed=seed) for seed in (0, 0, 1, 2)]
    assert runs[0].decision == runs[1].decision
    assert runs[0].counts == runs[1].counts
    assert len({run.objective for run in runs}) == 1
    assert minimize(cube(), "sum", workers=2).objective == 14.0


def hard(size):
    """Products of many chosen numbers: takes CP-SAT far more than a few milliseconds."""
    choices = {f"x{i}": tuple(range(-9 - i, 60)) for i in range(size)}

    def total(v, ops):
        pairs = itertools.pairwise(choices)
        return sum((v[a] * v[b] * (v[a] - v[b]) for a, b in pairs), v["x0"])

    return FactoredProblem(
        choices=choices, objectives={"time": total, "energy": lambda v, ops: -total(v, ops)}
    )


def test_time_limit_of_zero_gives_a_valid_bound():
    """The bound is below every value, although the objective is negative at the optimum."""
    problem = hard(3)
    solution = minimize(problem, "time", time_limit_s=0.0)
    assert (solution.status, solution.decision) == (Status.TIME_LIMIT, None)
    lowest = min(point["time"] for _, _, point in feasible(hard(2)))
    assert lowest < 0
    assert minimize(hard(2), "time", time_limit_s=0.0).bound <= lowest
    with pytest.raises(TimeoutError, match="incomplete"):
        list(front(problem, ("time", "energy"), time_limit_s=0.0))


def test_short_time_limit_gives_a_gap():
    solution = minimize(hard(12), "time", time_limit_s=0.5)
    assert solution.status is Status.FEASIBLE
    assert solution.bound < solution.objective
    assert solution.gap > 0
    assert solution.seconds < 5
    assert evaluate(hard(12), solution.decision)[1]["time"] == solution.objective


def test_bounds_of_unfinished_searches_are_valid(monkeypatch):
    """Stopped at the first solution: bound <= optimum <= objective, far above and below zero."""
    honest, unfinished = Model.solve, 0

    def solve(self, *options):
        self.solver.parameters.stop_after_first_solution = True
        return honest(self, *options)

    monkeypatch.setattr(Model, "solve", solve)
    for seed, shift in itertools.product(range(40), (-(10**12), 10**12)):
        problem = random_problem(seed)
        time = problem.objectives["time"]
        shifted = replace(
            problem, objectives={"time": lambda v, ops, f=time, s=shift: f(v, ops) + s}
        )
        solution = minimize(shifted, "time")
        optimum = min((point["time"] for _, _, point in feasible(shifted)), default=float("inf"))
        assert solution.bound <= optimum <= solution.objective
        unfinished += solution.status is Status.FEASIBLE
    assert unfinished > 10


def test_infeasible_is_proved_even_without_time():
    impossible = cube(limits=(Limit(name="s", expression=lambda v, ops: v["s"], upper=2),))
    solution = minimize(impossible, "sum", time_limit_s=0.0)
    assert (solution.status, solution.objective) == (Status.INFEASIBLE, float("inf"))
    assert solution.bound == float("inf")
    assert list(front(impossible, ("sum", "least"))) == []


def test_large_values_are_exact():
    """Neighbors near 2**53 and a product of 2**52 are told apart."""
    big = FactoredProblem(
        choices={"x": (2**26, 2**26 - 1), "y": (2**26, 2**26 + 1), "w": (LARGEST, LARGEST - 1)},
        objectives={"product": lambda v, ops: v["x"] * v["y"], "w": lambda v, ops: -v["w"]},
    )
    best = minimize(big, "product")
    assert (best.objective, best.bound) == ((2**26 - 1) * 2**26, (2**26 - 1) * 2**26)
    assert minimize(big, "w").objective == -LARGEST
    assert minimize(big, "w").decision["w"] == LARGEST


@each("exponent", [29, 31, 33, 37, 44])
def test_products_with_a_two_valued_factor(exponent):
    """CP-SAT 9.15 with presolve calls these infeasible from about 2**31; they are trivial."""
    for factor, values in [((7, 8), (-3, 5)), ((3, 5), (0, 1, 4)), ((1, 2), (-7, 1, 2, 6, 9))]:
        big = tuple(value * 2**exponent + 1 for value in values)
        problem = FactoredProblem(
            choices={"x": factor, "y": big}, objectives={"time": lambda v, ops: v["x"] * v["y"]}
        )
        assert minimize(problem, "time").objective == min(x * y for x in factor for y in big)


def test_constant_objective_and_shared_primes():
    """x y = 12 and x z = 18: x divides 6; the two products share the exponents of 2 and 3."""
    divisors = tuple(range(1, 19))
    shared = FactoredProblem(
        choices={"x": divisors, "y": divisors, "z": divisors},
        products=(
            Product(factors=("x", "y"), equals=12),
            Product(factors=("x", "z"), equals=18),
        ),
        objectives={"constant": lambda v, ops: 5, "sum": lambda v, ops: v["y"] + v["z"] - v["x"]},
    )
    assert minimize(shared, "constant").objective == 5.0
    best = minimize(shared, "sum")
    assert (best.decision, best.objective) == ({"x": 6, "y": 2, "z": 3}, -1.0)


def test_large_prime_products():
    prime = 2**31 - 1
    problem = FactoredProblem(
        choices={"x": (1, 3, prime), "y": (1, prime, 2 * prime)},
        products=(Product(factors=("x", "y"), equals=2 * prime),),
        objectives={"x": lambda v, ops: -v["x"]},
    )
    assert minimize(problem, "x").decision == {"x": 1, "y": 2 * prime}


@each(
    ("options", "message"),
    [
        ({"time_limit_s": -1.0}, "time_limit_s"),
        ({"time_limit_s": float("nan")}, "time_limit_s"),
        ({"workers": 0}, "workers >= 1"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**31}, "seed"),
        ({"hint": {"w": 1}}, r"hint for unknown choices \['w'\]"),
        ({"hint": {"x": 2.0}}, "hint needs integers, not x = 2.0"),
        ({"upper_bounds": {"sun": 3}}, "unknown objective 'sun'; did you mean 'sum'"),
        ({"upper_bounds": {"sum": 3.5}}, "needs integers, not 3.5"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        minimize(cube(), "sum", **options)


def test_wrong_answers_of_the_solver_are_noticed(monkeypatch):
    """A value that is off by one, and an infeasibility that the hint disproves."""
    honest = Model.value
    monkeypatch.setattr(Model, "value", lambda self, term: honest(self, term) + (term.low > 1))
    with pytest.raises(RuntimeError, match="CP-SAT says sum = 15"):
        minimize(cube(), "sum")
    monkeypatch.setattr(Model, "solve", lambda self, *_: Status.INFEASIBLE)
    with pytest.raises(RuntimeError, match="CP-SAT says infeasible"):
        minimize(cube(), "sum", hint={"x": 2, "y": 8, "z": 4})


def test_bad_objectives():
    with pytest.raises(ValueError, match="unknown objective 'summ'"):
        minimize(cube(), "summ")
    with pytest.raises(ValueError, match="unknown objective 'leest'; did you mean 'least'"):
        front(cube(), ("sum", "leest"))


def test_evaluate_follows_the_rules():
    assert evaluate(cube(), {"x": 2, "y": 8, "z": 4}) == (
        {"x": 2, "y": 8, "z": 4, "s": 10},
        {"sum": 14, "least": -4},
    )
    assert evaluate(cube(), {"x": 4, "y": 4, "z": 4}) is None  # no row
    assert evaluate(cube(), {"x": 2, "y": 8, "z": 8}) is None  # product is 128
    assert evaluate(cube(), {"x": 3, "y": 8, "z": 4}) is None  # not a value
    limited = cube(limits=(Limit(name="s", expression=lambda v, ops: v["s"], upper=9),))
    assert evaluate(limited, {"x": 2, "y": 8, "z": 4}) is None


def test_importing_does_not_load_the_solver():
    code = "import sys, solvers.factored_cpsat; sys.exit('ortools' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
