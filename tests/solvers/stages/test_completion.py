"""Least completions, dropped columns, first choices and mixes of modes, against every choice."""

import itertools
from dataclasses import replace

import numpy as np
from stage_problems import choices, line_ups, random_problem, value
from support.cases import each

from solvers.stages.backend import COST, TIME, Question
from solvers.stages.completion import Completion
from solvers.stages.forms import caps_of
from solvers.stages.knapsack import mixes
from solvers.stages.problem import Form
from solvers.stages.pruning import best_of_equals, pruned, sooner
from solvers.stages.starting import Paths, start_of

ONE = {"chunks": 1}


def parts(problem, form, found):
    """(c,) the least sum and the least of each peak of choices with a column; None: in none."""
    alone = [replace(form, peaks=())]
    alone += [
        Form(peaks=(0,) * b + (weight,)) for b, weight in enumerate(form.peaks) if weight
    ]  # fmt: skip
    least = []
    for column in range(len(problem.columns)):
        own = [chosen for chosen in found if column in chosen]
        each_part = [min(value(problem, part, chosen) for chosen in own) for part in alone if own]
        least.append(sum(each_part) if own else None)
    return least


def test_completions_of_single_chunks_are_exact():
    tried = 0
    for seed in range(16):
        problem = random_problem(seed, **ONE)
        completion, found = Completion(problem), [*line_ups(problem)]
        for form in (problem.cost, *problem.time):
            least = parts(problem, form, found)
            inside = [one is not None for one in least]
            assert completion.reachable.tolist() == inside, seed
            values = completion.least(form)
            assert values[inside].tolist() == [one for one in least if one is not None], seed
            assert (values[~np.array(inside)] > 2**58).all(), seed
            tried += sum(inside)
        for b in range(2 * bool(found)):
            every = [max(problem.columns.peaks[list(chosen), b]) for chosen in found]
            assert completion.least_peak(b) == min(every), seed
    assert tried > 250


def test_completions_of_several_chunks_are_bounds():
    for seed in range(12):
        problem = random_problem(seed, chunks=2)
        completion, found = Completion(problem), [*line_ups(problem)]
        held = sorted({column for chosen in found for column in chosen})
        assert completion.reachable[held].all(), seed
        assert_neighbours(problem, completion.reachable)
        for form in (problem.cost, *problem.time):
            least = parts(problem, form, found)
            values = completion.least(form)
            assert all(values[column] <= least[column] for column in held), seed


def test_chunks_that_no_neighbour_meets_are_dropped():
    shapes = set()
    for seed in range(40):
        problem = random_problem(seed, chunks=2)
        rng = np.random.default_rng(seed)
        few = [
            rng.choice(np.flatnonzero(problem.columns.device == d), 6)
            for d in range(problem.devices)
        ]
        problem = replace(problem, columns=problem.columns.take(np.unique(np.concatenate(few))))
        assert_neighbours(problem, Completion(problem).reachable)
        shapes.add(int(problem.chunks[0, 1]) - problem.devices)
    assert len(shapes) > 1  # interleaved, and a V


def assert_neighbours(problem, reachable):
    """Every chunk of a column that is left begins where a chunk before it ends, and so on."""
    columns = problem.columns
    place = {int(chunk): at for at, chunk in np.ndenumerate(problem.chunks)}
    for chunk in range(problem.chunks.size - 1):
        (d, k), (e, n) = place[chunk], place[chunk + 1]
        ends = {int(columns.ends[c, k]) for c in np.flatnonzero(columns.device == d)}
        starts = {int(columns.starts[c, n]) for c in np.flatnonzero(columns.device == e)}
        for c in np.flatnonzero(reachable & (columns.device == d)):
            assert int(columns.ends[c, k]) in starts
            assert d != e or columns.ends[c, k] == columns.starts[c, n]
        for c in np.flatnonzero(reachable & (columns.device == e)):
            assert int(columns.starts[c, n]) in ends


def test_a_floor_is_the_least_that_a_peak_is():
    problem = random_problem(3, **ONE)
    plain, high = Completion(problem), Completion(problem, {0: 25})
    inside = plain.reachable
    assert high.peak(0)[inside].tolist() == np.maximum(plain.peak(0)[inside], 25).tolist()
    assert high.peak(1).tolist() == plain.peak(1).tolist()


@each("minimize", [TIME, COST])
@each("chunks", [1, 2])
@each("intervals", [1, 3])
def test_no_best_choice_loses_its_columns(minimize, chunks, intervals):
    dropped = 0
    for seed in range(5):
        problem = random_problem(seed, chunks=chunks)
        found = [*choices(problem)]
        values = [time if minimize == TIME else cost for _, time, cost in found]
        below = min(values) + 8 if values else 10**6
        question = Question(problem=problem, minimize=minimize, below=below)
        some = tuple((j, 0.5) for j in range(min(len(caps_of(question)), 2)))
        left = pruned(question, multipliers=some, intervals=intervals)
        if not values:
            continue
        assert left.possible, seed
        assert left.lower <= min(values), seed
        kept = {*left.kept.tolist()}
        best = [c for (c, _, _), v in zip(found, values, strict=True) if v == min(values)]
        assert any({*chosen} <= kept for chosen in best), seed
        again = [*choices(left.question.problem)]
        assert min(t if minimize == TIME else c for _, t, c in again) == min(values), seed
        dropped += len(problem.columns) - len(kept)
        later = sooner(question).longest
        if later is not None:
            wanted = [time for _, time, cost in found if minimize == COST and cost < below]
            assert all(time <= later for time in wanted), seed
    assert dropped > 30


def test_best_of_equals_by_pairs():
    rng = np.random.default_rng(4)
    for width in (1, 2, 3):
        same, worse = rng.integers(0, 3, (60, 2)), rng.integers(0, 4, (60, width))
        kept = best_of_equals(same, worse)
        rows = [*zip(same.tolist(), worse.tolist(), strict=True)]

        def beats(one, other):
            return one[0] == other[0] and all(a <= b for a, b in zip(one[1], other[1], strict=True))

        for at, row in enumerate(rows):
            strictly = any(beats(other, row) and other != row for other in rows)
            first = rows.index(row) == at
            assert bool(kept[at]) == (first and not strictly)


def test_shortest_paths_are_the_least_sums():
    for seed in range(12):
        problem = random_problem(seed, **ONE)
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 50, len(problem.columns)).astype(float)

        def worth(chosen, crossed, values=values, problem=problem):
            cross = 0 if problem.crossings is None else value(problem, Form(crossings=1), chosen)
            return sum(values[list(chosen)]) + crossed * cross

        for crossed in (0.0, 1.5):
            path = Paths(problem).best(values, crossed)
            found = [worth(chosen, crossed) for chosen in line_ups(problem)]
            assert (path is None) == (not found)
            if path is not None:
                assert tuple(path.tolist()) in {*line_ups(problem)}
                assert worth(path.tolist(), crossed) == min(found), seed


def test_a_first_choice_obeys_the_limits():
    started = near = 0
    for seed in range(30):
        problem = random_problem(seed, **ONE, exact=False)
        found = {chosen: (time, cost) for chosen, time, cost in choices(problem)}
        if not Completion(problem).reachable.any():  # a search ends before it starts
            continue
        for minimize in (TIME, COST):
            start = start_of(Question(problem=problem, minimize=minimize))
            if start.choice is None:
                continue
            chosen = tuple(start.choice.columns.tolist())
            assert found[chosen] == (start.choice.time, start.choice.cost), seed
            best = min(pair[minimize == COST] for pair in found.values())
            started += 1
            near += found[chosen][minimize == COST] == best
    assert started > 30
    assert near > 0.7 * started


@each("pure", [False, True])
@each("slowest", [None, 45])
def test_mixes_of_modes_are_those_that_no_other_beats(*, pure, slowest):
    rng = np.random.default_rng(2)
    tables = rng.integers(0, 15, (2, 2, 3, 3))
    vectors = np.array([[3, 2], [0, 4], [1, 0]])
    found = mixes(tables, vectors, slowest, pure=pure)
    for setting, (n, wanted) in itertools.product(range(2), enumerate(vectors.tolist())):
        every = {}
        for counts in itertools.product(*(_splits(count, pure=pure) for count in wanted)):
            total = np.einsum("kr,krx->x", np.array(counts), tables[setting])
            if slowest is None or total[0] <= slowest:
                every.setdefault(tuple(total.tolist()), counts)
        best = {
            one for one in every
            if not any(other != one and all(map(int.__le__, other, one)) for other in every)
        }  # fmt: skip
        own = np.flatnonzero((found.setting == setting) & (found.vector == n))
        assert {tuple(row) for row in found.values[own].tolist()} == best
        for row in own:
            np.testing.assert_array_equal(found.counts[row].sum(axis=1), wanted)
            total = np.einsum("kr,krx->x", found.counts[row], tables[setting])
            assert total.tolist() == found.values[row].tolist()


def _splits(count, *, pure):
    """Every way to give layers to three modes, or all of them to one."""
    every = [c for c in itertools.product(range(count + 1), repeat=3) if sum(c) == count]
    return [c for c in every if not pure or max(c) == count]
