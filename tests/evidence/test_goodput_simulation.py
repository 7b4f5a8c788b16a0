"""The vectorised simulation against single runs that are played event by event."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.base.errors import InputError
from planner.evidence.goodput.gaps import empirical, exponential, read_gaps
from planner.evidence.goodput.simulation import Run, simulate
from planner.evidence.goodput.strip import DOWN, LOST, SAVE, WAIT, WORK, strip_of


def played(run: Run, gaps: Iterator[float]) -> tuple[float, int]:
    """Wall time and failures of one run: each checkpoint and each machine by itself.

    Every failure that may break machines does.
    """
    now, saved, failures, up = 0.0, 0.0, 0, next(gaps)
    spares = [0.0] * (run.spares or 0)

    def wait() -> float:
        if run.spares is None or not run.broken_share:
            return 0.0
        ready = now
        for _ in range(run.broken_at_once):
            heapq.heappush(spares, now + run.repair_s)
            ready = max(ready, heapq.heappop(spares))
        return ready - now

    while True:
        clock, done, whole = 0.0, saved, [(0.0, saved)]
        while run.total_s - done > run.work_s * (1 + 1e-9) and clock + run.work_s <= up:
            clock, done = clock + run.work_s + run.stall_s, done + run.work_s
            whole.append((clock + run.write_s, done))
        last = run.total_s - done
        if last <= run.work_s * (1 + 1e-9) and clock + last <= up:
            return now + clock + last, failures
        saved = max(work for at, work in whole if at <= up)
        now, failures = now + up, failures + 1
        now += wait()
        up = next(gaps)
        while run.while_down and up < run.down_s:
            now, failures = now + up, failures + 1
            now += wait()
            up = next(gaps)
        now += run.down_s
        up -= run.down_s if run.while_down else 0.0


def of_list(gaps: list[float]) -> Run:
    """A run through the gaps of a list, one after the other."""
    turn = itertools.cycle(gaps)
    return Run(
        total_s=10_000.0, work_s=700.0, stall_s=11.0, write_s=130.0, down_s=90.0,
        gaps=lambda _, n: np.array([next(turn) for _ in range(n)]),
    )  # fmt: skip


@settings(max_examples=150)
@given(
    st.lists(st.floats(1.0, 3_000.0), min_size=1, max_size=8),
    st.sampled_from([0.0, 11.0]), st.sampled_from([0.0, 130.0, 699.0]), st.booleans(),
    st.sampled_from([None, 0, 1, 3]), st.sampled_from([1, 2]), st.floats(10.0, 20_000.0),
)  # fmt: skip
def test_each_run_takes_as_long_as_event_by_event(
    gaps: list[float], stall: float, write: float, while_down: bool, spares: int | None,
    at_once: int, repair: float,
) -> None:  # fmt: skip
    listed = [*gaps, 2_345.6]  # long enough for a checkpoint to become whole
    base = of_list(listed)
    run = Run(
        total_s=base.total_s, work_s=base.work_s, stall_s=stall, write_s=write,
        down_s=base.down_s, gaps=base.gaps, while_down=while_down, spares=spares,
        broken_share=1.0, broken_at_once=at_once, repair_s=repair,
    )  # fmt: skip
    found = simulate(run, 1, seed=1)
    wall, failures = played(run, itertools.cycle(listed))
    assert found.wall_s[0] == pytest.approx(wall, rel=1e-9)
    assert found.failures[0] == failures


def test_the_mean_is_that_of_runs_event_by_event() -> None:
    random = np.random.default_rng(5)
    run = Run(total_s=60_000.0, work_s=400.0, stall_s=5.0, write_s=100.0, down_s=720.0,
              gaps=exponential(6_000.0))  # fmt: skip

    def drawn() -> Iterator[float]:
        while True:
            yield float(random.exponential(6_000.0))

    walls = np.array([played(run, drawn())[0] for _ in range(800)])
    many = simulate(run, 4_000, seed=3).wall_s
    error = np.hypot(walls.std() / np.sqrt(len(walls)), many.std() / np.sqrt(len(many)))
    assert abs(walls.mean() - many.mean()) < 4 * error


def test_a_strip_tells_all_of_a_run() -> None:
    run = Run(total_s=50_000.0, work_s=300.0, stall_s=7.0, write_s=50.0, down_s=400.0,
              gaps=exponential(3_000.0), spares=0, broken_share=0.5, repair_s=900.0)  # fmt: skip
    spans, found = strip_of(run, seed=9), simulate(run, 1, seed=9)
    assert all(one.end_s == other.start_s for one, other in itertools.pairwise(spans))
    length = {kind: sum(one.end_s - one.start_s for one in spans if one.kind == kind)
              for kind in (WORK, SAVE, LOST, DOWN, WAIT)}  # fmt: skip
    told = (run.total_s, found.stalls_s[0], found.lost_s[0], found.down_s[0], found.waits_s[0])
    assert list(length.values()) == pytest.approx(told)
    assert spans[-1].end_s == pytest.approx(found.wall_s[0])
    assert all(value > 0 for value in length.values())


def test_gaps_of_a_list_are_drawn_as_often_as_they_stand_there() -> None:
    drawn = empirical([1.0, 1.0, 1.0, 5.0])(np.random.default_rng(2), 20_000)
    assert set(drawn) == {1.0, 5.0}
    assert (drawn == 5.0).mean() == pytest.approx(0.25, abs=0.01)


def test_gaps_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text("# between failures\n3.2h\n\n90  # s\n2min\n", encoding="utf-8")
    assert read_gaps(path) == (3.2 * 3600, 90.0, 120.0)


@pytest.mark.parametrize(("text", "line"), [
    ("", "gaps.txt: has no gap; write one a line, e.g. 3.2h"),
    ("3h\nsoon\n", "gaps.txt line 2: gap: 'soon'"),
    ("0\n", "gaps.txt line 1: gap: '0': must be greater than 0 s"),
    ("-3h\n", "gaps.txt line 1: gap: '-3h': must be greater than 0 s"),
    ("1h\n1e-320\n", "gaps.txt line 2: gap: '1e-320': must be at least 1e-30 s"),
    (f"1h\n2h\n{'9' * 200}\n", "gaps.txt line 3: gap: "),
    ("1e31\n", "gaps.txt line 1: gap: '1e31': must be at most 1e+30 s"),
])  # fmt: skip
def test_gaps_that_cannot_be_read(text: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "gaps.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_gaps(path)
    assert str(caught.value).startswith(line)
