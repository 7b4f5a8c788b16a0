"""What a stage problem must be, and what a choice is by its tables, one definition at a time.

Shares no code with the searches: every answer that leaves is checked here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from solvers.stages.backend import COST, TIME, Question
from solvers.stages.forms import Extents
from solvers.stages.problem import LARGEST, Choice, Form, Ints, StageProblem


def evaluate(problem: StageProblem, columns: Sequence[int] | Ints) -> Choice:
    """A choice of one column per device with its time and cost, whether it is allowed or not."""
    chosen = [int(column) for column in columns]
    time = max(value_of(problem, form, chosen) for form in problem.time)
    cost = 0
    if problem.cost is not None:
        cost = value_of(problem, problem.cost, chosen) + problem.cost_per_time * time
    return Choice(columns=np.array(chosen, dtype=np.int64), time=time, cost=cost)


def value_of(problem: StageProblem, form: Form, chosen: Sequence[int]) -> int:
    """A form in whole numbers without a limit on their size."""
    sums, peaks = (getattr(problem.columns, name)[chosen].tolist() for name in ("sums", "peaks"))
    value = form.constant
    for a, weight in enumerate(form.sums):
        value += weight * sum(row[a] for row in sums)
    for b, weight in enumerate(form.peaks):
        value += weight * max(row[b] for row in peaks)
    if problem.crossings is not None:
        groups = problem.columns.group[chosen].tolist()
        pairs = itertools.pairwise(groups)
        value += form.crossings * sum(int(problem.crossings[a, b]) for a, b in pairs)
    return value


def faults(problem: StageProblem, choice: Choice, longest: int | None = None) -> list[str]:
    """What is wrong with a choice: devices, chunks, its figures, limits; nothing where it holds."""
    chosen = choice.columns.tolist()
    columns = problem.columns
    if not all(0 <= column < len(columns) for column in chosen):
        return [f"columns {chosen} are not all among 0 .. {len(columns) - 1}"]
    if columns.device[chosen].tolist() != list(range(problem.devices)):
        return [f"columns {chosen} are not one per device"]
    found = []
    at = 0
    for device, k in _in_pipeline_order(problem):
        start, end = (int(ends[chosen[device], k]) for ends in (columns.starts, columns.ends))
        if start != at:
            found.append(f"a chunk of device {device} begins at layer {start}, not {at}")
        at = end
    if at != problem.layers:
        found.append(f"the last chunk ends at layer {at} of {problem.layers}")
    true = evaluate(problem, chosen)
    if (true.time, true.cost) != (choice.time, choice.cost):
        found.append(
            f"time and cost are {true.time}, {true.cost}, not {choice.time}, {choice.cost}"
        )
    if longest is not None and true.time > longest:
        found.append(f"time {true.time} is above {longest}")
    for limit in problem.limits:
        value = value_of(problem, limit.form, chosen) + limit.per_time * true.time
        if value > limit.upper:
            found.append(f"{limit.name} is {value}, above {limit.upper}")
    return found


def _in_pipeline_order(problem: StageProblem) -> list[tuple[int, int]]:
    """(device, which of its chunks) of every chunk of the pipeline, in order."""
    places = {int(chunk): place for place, chunk in np.ndenumerate(problem.chunks)}
    return [(place[0], place[1]) for _, place in sorted(places.items())]


def check_question(question: Question) -> None:
    """Refuses what no solver could answer.

    Raises:
        ValueError: One line: what is wrong, and what is allowed.
    """
    check_problem(question.problem)
    if question.minimize not in (TIME, COST):
        raise ValueError(f"minimize must be {TIME!r} or {COST!r}, not {question.minimize!r}")
    if question.minimize == COST and question.problem.cost is None:
        raise ValueError("cost is to be minimized, but the problem has no cost")
    if question.seconds is not None and not question.seconds >= 0:
        raise ValueError(f"seconds must be a number of at least 0, not {question.seconds}")
    if question.workers < 1:
        raise ValueError(f"needs at least 1 worker, not {question.workers}")
    for name in ("longest", "soonest", "below"):
        limit = getattr(question, name)
        if limit is not None and abs(limit) >= LARGEST:
            raise ValueError(f"{name} must be within 2**53, not {limit}")


def check_problem(problem: StageProblem) -> None:
    """Refuses tables that do not fit together, and numbers that solvers would round.

    Raises:
        ValueError: One line: what is wrong, and what is allowed.
    """
    _check_shapes(problem)
    columns, devices = problem.columns, problem.devices
    if problem.layers < 0:
        raise ValueError(f"layers must be at least 0, not {problem.layers}")
    if sorted(problem.chunks.ravel().tolist()) != list(range(problem.chunks.size)):
        raise ValueError(f"chunks must hold every number of 0 .. {problem.chunks.size - 1} once")
    if len(columns) and not 0 <= columns.device.min() <= columns.device.max() < devices:
        raise ValueError(f"devices of columns must be within 0 .. {devices - 1}")
    empty = np.flatnonzero(np.bincount(columns.device, minlength=devices) == 0)
    if len(empty):
        raise ValueError(f"device {empty[0]} has no column; every device needs at least one")
    places = np.stack([columns.starts, columns.ends])
    wrong = np.any((places < 0) | (places > problem.layers), axis=0)
    if wrong.any():
        row = int(np.flatnonzero(wrong.any(axis=1))[0])
        raise ValueError(
            f"column {row} holds layers {columns.starts[row].tolist()} to "
            f"{columns.ends[row].tolist()}; needs 0 <= start, end <= {problem.layers}"
        )
    _check_groups(problem)
    _check_forms(problem)


def _check_shapes(problem: StageProblem) -> None:
    if problem.chunks.ndim != 2 or problem.chunks.size == 0:
        raise ValueError(f"chunks must have shape (p, v), not {problem.chunks.shape}")
    columns, count = problem.columns, len(problem.columns)
    chunks = problem.chunks.shape[1]
    for name in columns.__slots__:
        table = getattr(columns, name)
        if not np.issubdtype(table.dtype, np.integer):
            raise ValueError(f"{name} of columns must hold whole numbers, not {table.dtype}")
        wanted: tuple[object, ...] = (count,)
        if name in ("starts", "ends"):
            wanted = (count, chunks)
        elif name in ("sums", "peaks"):
            wanted = (count, table.shape[1] if table.ndim == 2 else "any")
        if table.shape != wanted:
            raise ValueError(f"{name} of columns must have shape {wanted}, not {table.shape}")


def _check_groups(problem: StageProblem) -> None:
    if problem.crossings is None:
        return
    shape, groups = problem.crossings.shape, problem.columns.group
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"crossings must have shape (g, g), not {shape}")
    if not 0 <= groups.min() <= groups.max() < shape[0]:
        raise ValueError(f"groups of columns must be within 0 .. {shape[0] - 1}")


def _check_forms(problem: StageProblem) -> None:
    """Weights fit the tables, peaks only ever make worse, and nothing can reach 2**53."""
    if not problem.time:
        raise ValueError("time needs at least one form")
    named = [(f"form {i} of time", form, 0) for i, form in enumerate(problem.time)]
    if problem.cost is not None:
        named.append(("cost", problem.cost, problem.cost_per_time))
    named += [(limit.name, limit.form, limit.per_time) for limit in problem.limits]
    for name, form, _ in named:
        _check_weights(problem, name, form)
    extents = Extents(problem)
    for name, form, per_time in named:
        most = extents.of(form) + abs(per_time) * extents.of_time()
        if most >= LARGEST:
            raise ValueError(f"{name} may reach {most}; solvers are exact below 2**53: scale down")
    for limit in problem.limits:
        if abs(limit.upper) >= LARGEST:
            raise ValueError(f"{limit.name} must have an upper end within 2**53, not {limit.upper}")


def _check_weights(problem: StageProblem, name: str, form: Form) -> None:
    """No more weights than entries, and none that makes a larger peak better."""
    for part in ("sums", "peaks"):
        given, most = len(getattr(form, part)), getattr(problem.columns, part).shape[1]
        if given > most:
            raise ValueError(f"{name} weighs {given} {part}; columns have {most}")
    if min(form.peaks, default=0) < 0:
        raise ValueError(f"{name} has a weight of {min(form.peaks)} for a peak; needs at least 0")
