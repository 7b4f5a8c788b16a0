"""Random stage problems, and every choice of one in plain Python."""

import itertools
import random
from dataclasses import replace

import numpy as np

from solvers.stages.backend import COST, TIME, Question
from solvers.stages.problem import Columns, Form, Limit, StageProblem


def random_problem(seed, *, chunks=None, crossings=None, limits=None, exact=None, largest=30):
    """A problem of 2 or 3 devices; None: drawn."""
    draw = random.Random(seed)
    v = chunks or draw.choice([1, 1, 2])
    p = draw.choice([2, 3])
    layers = draw.randint(p * v - 1, 6 if v == 1 else 5)
    placed = np.arange(p * v).reshape(v, p).T
    if v == 2 and draw.random() < 0.3:
        placed[:, 1] = 2 * p - 1 - np.arange(p)
    crossed = draw.random() < 0.5 if crossings is None else crossings
    groups = 3 if crossed else 1
    columns = _columns(draw, p, v, layers, groups, largest)

    def form(low=0):
        sums = tuple(draw.randint(low, 3) for _ in range(draw.randint(0, 2)))
        peaks = tuple(draw.randint(0, 4) for _ in range(draw.randint(0, 2)))
        return Form(
            constant=draw.randint(-9, 9), sums=sums, peaks=peaks, crossings=draw.randint(low, 2)
        )

    exact = draw.random() < 0.25 if exact is None else exact
    rows = draw.choice([0, 0, 1, 2]) if limits is None else limits
    return StageProblem(
        layers=layers,
        chunks=placed,
        columns=columns,
        time=tuple(form() for _ in range(draw.choice([1, 1, 2, 3]))),
        cost=form(low=-2),
        cost_per_time=draw.randint(-3 if exact else 0, 3),
        limits=tuple(
            Limit(
                name=f"limit {i}",
                form=form(low=-1),
                upper=draw.randint(largest, 12 * largest),
                per_time=draw.randint(-2 if exact else 0, 1),
            )
            for i in range(rows)
        ),
        crossings=np.array(
            [[draw.randint(-largest // 3, largest) for _ in range(groups)] for _ in range(groups)]
        )
        if crossed
        else None,
    )


def _columns(draw, p, v, layers, groups, largest):
    """Most of what every device could hold, thinned out so that problems stay small."""
    rows = []
    keep = {1: 0.8, 2: 0.4}[v]
    spans = [(a, b) for a in range(layers + 1) for b in range(a, layers + 1)]
    for device in range(p):
        for chosen in itertools.product(spans, repeat=v):
            if draw.random() < keep * (0.3 if any(a == b for a, b in chosen) else 1):
                rows.append((device, chosen))
        rows.append((device, ((0, layers),) * v))
    count = len(rows)
    return Columns(
        device=np.array([device for device, _ in rows]),
        starts=np.array([[a for a, _ in chosen] for _, chosen in rows]),
        ends=np.array([[b for _, b in chosen] for _, chosen in rows]),
        group=np.array([draw.randrange(groups) for _ in range(count)]),
        sums=np.array([[draw.randint(0, largest) for _ in range(2)] for _ in range(count)]),
        peaks=np.array([[draw.randint(0, largest) for _ in range(2)] for _ in range(count)]),
    )


def line_ups(problem):
    """Every choice of a column per device whose chunks line up."""
    starts, ends = problem.columns.starts.tolist(), problem.columns.ends.tolist()
    of_device = [np.flatnonzero(problem.columns.device == d) for d in range(problem.devices)]
    place = {int(chunk): at for at, chunk in np.ndenumerate(problem.chunks)}

    def extended(chunk, at, chosen):
        if chunk == len(place):
            if at == problem.layers:
                yield tuple(chosen[d] for d in range(problem.devices))
            return
        device, k = place[chunk]
        for column in [chosen[device]] if device in chosen else of_device[device].tolist():
            if starts[column][k] == at:
                yield from extended(chunk + 1, ends[column][k], chosen | {device: column})

    yield from extended(0, 0, {})


def choices(problem):
    """(columns, time, cost) of every choice whose chunks line up and that obeys the limits."""
    for chosen in line_ups(problem):
        time = max(value(problem, form, chosen) for form in problem.time)
        cost = value(problem, problem.cost, chosen) + problem.cost_per_time * time
        if all(
            value(problem, limit.form, chosen) + limit.per_time * time <= limit.upper
            for limit in problem.limits
        ):
            yield chosen, time, cost


def value(problem, form, chosen):
    """A form of a choice."""
    columns = problem.columns
    total = form.constant
    total += sum(w * sum(int(columns.sums[c, a]) for c in chosen) for a, w in enumerate(form.sums))
    total += sum(
        w * max(int(columns.peaks[c, b]) for c in chosen) for b, w in enumerate(form.peaks)
    )
    if problem.crossings is not None:
        group = [int(columns.group[c]) for c in chosen]
        total += form.crossings * sum(
            int(problem.crossings[a, b]) for a, b in itertools.pairwise(group)
        )
    return total


def random_question(seed, **drawn):
    """A question on a random problem, with its true answer: the least objective or None."""
    draw = random.Random(seed + 1_000_000)
    problem = random_problem(seed, **drawn)
    every = list(choices(problem))
    question = Question(problem=problem, minimize=draw.choice([TIME, COST]))
    if draw.random() < 0.5 and every:
        times = sorted(time for _, time, _ in every)
        question = replace(question, longest=times[draw.randrange(len(times))] - draw.randint(0, 1))
    allowed = [
        (time if question.minimize == TIME else cost)
        for _, time, cost in every
        if question.longest is None or time <= question.longest
    ]
    return question, min(allowed, default=None), every


def powered_problem(seed: int) -> StageProblem:
    """4 devices with settings that are slow or take much, and a limit that grows with time."""
    draw = random.Random(seed)
    layers, p = draw.choice([5, 6]), draw.choice([3, 4])
    kinds = [(draw.randint(5, 9), draw.randint(4, 30)) for _ in range(3)]
    rows = []
    for device in range(p):
        for start in range(layers + 1):
            for end in range(start, min(start + 4, layers + 1)):
                for time, joules in kinds:
                    held = end - start
                    rows.append(
                        (
                            device,
                            start,
                            end,
                            held * time + draw.randint(0, 1),
                            held * joules + draw.randint(0, 2),
                            draw.choice([0, 0, 3, held]),
                        )
                    )
    table = np.array(rows)
    scaled = table[:, 4] * 7 // 3
    ahead = draw.choice([3, 7])
    forms = draw.choice(
        [
            [Form(constant=5, sums=(1,), peaks=(ahead, 1))],
            [Form(constant=5, sums=(1,), peaks=(ahead, 1)), Form(constant=9, peaks=(ahead + 3, 1))],
            [Form(constant=5, sums=(2,), peaks=(ahead,)), Form(sums=(1,), peaks=(ahead, 4))],
        ]
    )
    problem = StageProblem(
        layers=layers,
        chunks=np.arange(p)[:, None],
        columns=Columns(
            device=table[:, 0],
            starts=table[:, 1:2],
            ends=table[:, 2:3],
            group=np.zeros(len(table), dtype=np.int64),
            sums=np.stack([table[:, 3], table[:, 4], scaled], axis=1),
            peaks=table[:, [3, 5]],
        ),
        time=tuple(forms),
        cost=Form(sums=(0, 1)),
        cost_per_time=draw.choice([0, 1, 2]),
    )
    chosen = [
        (value(problem, Form(sums=(0, 0, 1)), choice), time)
        for choice, time, _ in some(choices(problem), draw)
    ]
    upper = int(np.quantile([joules - time for joules, time in chosen], draw.choice([0.01, 0.2])))
    limits = [Limit(name="power", form=Form(sums=(0, 0, 1)), upper=upper, per_time=-1)]
    if draw.random() < 0.3:
        dear = [cost for _, _, cost in some(choices(problem), draw)]
        most = int(np.quantile(dear, 0.3))
        limits.append(Limit(name="cost", form=Form(sums=(0, 1)), upper=most, per_time=1))
    if draw.random() < 0.2:
        limits.append(Limit(name="peak", form=Form(sums=(1,), peaks=(0, 2)), upper=90, per_time=-2))
    return replace(problem, limits=tuple(limits))


def some(every, draw: random.Random):
    """A few of them."""
    return [each for each in every if draw.random() < 0.02] or list(every)
