"""Random factored problems, and their solution in plain Python, dictionary by dictionary.

`feasible` tries every combination of choices and looks rows up one by one: it shares no code with
the join, the pruning or the constraint solver that it checks.
"""

import itertools
import math
import random
from dataclasses import replace

from solvers.factored import FactoredProblem, Limit, Ops, Product, Table

PLAIN = Ops(maximum=max, minimum=min)
NUMBERS = [1, 2, 3, 4, 6, 7, 8, 12, 12, 13, 16, 24, 30, 36, 60, 64, 90]


def feasible(problem):
    """Every feasible decision with its objectives: a list of (decision, values, objectives)."""
    lookups = []
    for table in problem.tables:
        outputs = list(zip(*(c.tolist() for c in table.outputs.values()), strict=True))
        outputs = outputs or [()] * len(table.rows)
        rows = map(tuple, table.rows.tolist())
        lookups.append((table, dict(zip(rows, outputs, strict=True))))
    found = []
    for combination in itertools.product(*problem.choices.values()):
        decision = dict(zip(problem.choices, combination, strict=True))
        if any(math.prod(decision[f] for f in p.factors) != p.equals for p in problem.products):
            continue
        values = dict(decision)
        for table, lookup in lookups:
            row = lookup.get(tuple(values[key] for key in table.keys))
            if row is None:
                break
            values.update(zip(table.outputs, row, strict=True))
        else:
            if all(limit.expression(values, PLAIN) <= limit.upper for limit in problem.limits):
                points = {n: f(values, PLAIN) for n, f in problem.objectives.items()}
                found.append((decision, values, points))
    return found


def efficient(points):
    """The front of (first, second) pairs, first descending, by comparing all pairs."""
    points = set(points)
    return sorted(
        (p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)),
        reverse=True,
    )


def random_problem(seed):
    """2-6 choices, 0-2 products, 1-4 tables (outputs as keys of later ones), 0-2 limits."""
    rng = random.Random(seed)
    choices = _free_choices(rng)
    products = _products(rng, choices)
    while math.prod(map(len, choices.values())) > 3000:
        name = max(choices, key=lambda n: len(choices[n]))
        choices[name] = tuple(rng.sample(choices[name], len(choices[name]) - 1))
    tables = _tables(rng, {n: sorted(c) for n, c in choices.items()})
    names = [*choices, *(output for table in tables for output in table.outputs)]
    problem = FactoredProblem(
        choices=choices,
        products=products,
        tables=tables,
        objectives={"time": _expression(rng, names), "energy": _expression(rng, names)},
    )
    return replace(problem, limits=_limits(rng, problem, names))


def _free_choices(rng):
    return {
        f"x{i}": tuple(rng.sample(range(-3, 8), rng.randint(2, 4)))
        for i in range(rng.randint(2, 6))
    }


def _products(rng, choices):
    """Turns some choices into factors; some values divide nothing, some divisors are missing."""
    products = []
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        number = rng.choice(NUMBERS)
        factors = tuple(rng.sample(list(choices), rng.randint(1, min(4, len(choices)))))
        divisors = [d for d in range(1, number + 1) if number % d == 0]
        for name in factors:
            wanted = set(divisors if rng.random() < 0.9 else rng.sample(divisors, 1))
            wanted |= {5} if rng.random() < 0.2 else set()
            kept = wanted | {value for value in choices[name] if value > 0}
            choices[name] = tuple(rng.sample(sorted(kept), len(kept)))
        products.append(Product(factors=factors, equals=number))
    return tuple(products)


def _tables(rng, known):
    tables = []
    for i in range(rng.randint(1, 4)):
        usable = sorted(known, key=lambda name: rng.random() - 0.5 * name.startswith("class"))
        keys = tuple(usable[: rng.randint(1, 3)])
        while math.prod(len(known[key]) for key in keys) > 400:
            keys = keys[:-1]
        rows = list(itertools.product(*(known[key] for key in keys)))
        density = rng.choice([1.0, 1.0, 0.95, 0.8])
        rows = [row for row in rows if rng.random() < density] or rows[:1]
        rng.shuffle(rows)
        outputs = {f"class{i}": [rng.randint(0, 3) for _ in rows]} if rng.random() < 0.6 else {}
        if not outputs or rng.random() < 0.6:
            low = rng.choice([0, 0, -30])
            scale = rng.choice([1, 1, 1, 1000, 200_000])
            outputs[f"cost{i}"] = [scale * rng.randint(low, 40) + rng.randint(0, 1) for _ in rows]
        tables.append(Table(name=f"t{i}", keys=keys, rows=rows, outputs=outputs))
        known |= {name: sorted(set(column)) for name, column in outputs.items()}
    return tuple(tables)


def _expression(rng, names):
    """A sum of two to four random terms, sometimes under a maximum or minimum with another sum."""
    terms = [_term(rng, names) for _ in range(rng.randint(2, 4))]

    def total(v, ops):
        return sum((term(v, ops) for term in terms[1:]), terms[0](v, ops))

    if rng.random() < 0.25:
        other, pick = _expression(rng, names), rng.choice(["maximum", "minimum"])
        return lambda v, ops: getattr(ops, pick)(total(v, ops), other(v, ops), 3)
    return total


def _term(rng, names):
    a, b, c = (rng.choice(names) for _ in range(3))
    k, j = rng.randint(-3, 5), rng.randint(-4, 9)
    return rng.choice(
        [
            lambda v, ops: k * v[a],
            lambda v, ops: v[a] * 2 - v[b] + j,
            lambda v, ops: j - v[a],
            lambda v, ops: v[a] * v[b],
            lambda v, ops: k * v[a] * v[b],
            lambda v, ops: (v[a] + k) * (v[b] - v[c]),
            lambda v, ops: ops.maximum(v[a], v[b] - k, j),
            lambda v, ops: ops.minimum(v[a] * k, v[b]) + v[c],
            lambda v, ops: -ops.maximum(v[a], 2 * v[b], v[c]) * k,
            lambda v, ops: ops.maximum(v[a] * v[b], v[c]),
        ]
    )


def _limits(rng, problem, names):
    """Upper bounds at a random quantile of what occurs, sometimes below everything."""
    limits = []
    for i in range(rng.choice([0, 1, 1, 2])):
        expression = _expression(rng, names)
        reached = sorted(expression(values, PLAIN) for _, values, _ in feasible(problem)) or [0]
        upper = reached[int(rng.random() ** 0.5 * len(reached))]
        upper = reached[0] - 1 if rng.random() < 0.04 else upper
        limits.append(Limit(name=f"limit{i}", expression=expression, upper=upper))
    return tuple(limits)
