"""What the pictures of collectives say, as data."""

import numpy as np
import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.collectives.machines.degraded import degrade
from planner.collectives.machines.machines import LinkAsked, machine_of
from planner.collectives.nccl.lines import baseline_lines
from planner.collectives.nccl.schedules import CHAINS_WORDS, ring_schedule
from planner.collectives.runs.program import program_of
from planner.collectives.runs.simulate import simulate
from planner.collectives.runs.spacetime import spacetime
from planner.collectives.runs.times import FastestOf, compare_times, crossovers, schedule_time
from planner.report.charts.collective_space import (
    MOST_ROWS,
    look_of_origin,
    shown_rows,
    space_chart,
    space_picture,
)
from planner.report.charts.collective_time import time_picture, verdict_words
from planner.report.drawing.chart import Bar, Dot, Line, Words
from planner.report.drawing.geometry.line_ends import apart, below
from planner.report.drawing.svg import picture_svg
from solvers.collectives.compose import split
from solvers.collectives.schedule import Schedule, Send
from tests.collectives.solved import allgather, allreduce, dgx1, ring_allgather, ring_machine


def test_crossovers_are_where_both_take_as_long() -> None:
    """alpha / ((3/2 - 7/6) beta), and twice alpha / ((3/2 - 3/8) beta) for local sums."""
    two, three = schedule_time(allgather(2, 2), dgx1()), schedule_time(allgather(6, 3), dgx1())
    (one,) = crossovers([two, three], np.geomspace(1e3, 1e9, 100))
    assert one.size_bytes == pytest.approx(0.7e-6 / (3 / 2 - 7 / 6) * 25e9, rel=1e-9)
    assert (one.before, one.after) == ("(2,2,3)", "(6,3,7)")
    assert one.time_s == pytest.approx(float(two.time_s(np.array([one.size_bytes]))[0]))
    assert crossovers([three], np.array([1.0, 2.0])) == ()


def test_the_comparison_has_formula_runs_and_library() -> None:
    schedules = [schedule_time(allgather(*cell), dgx1()) for cell in ((2, 2), (6, 3))]
    library = FastestOf(name="ring", lines=baseline_lines(dgx1(), "allgather"))
    found = compare_times("allgather on dgx-1", schedules, [library], simulated_bytes=[1e3, 1e6],
                          mode="synchronous")  # fmt: skip
    assert [line.name for line in found.lines] == ["(2,2,3)", "(6,3,7)", "ring"]
    assert [line.library for line in found.lines] == [False, False, True]
    assert found.own_crossovers == found.crossovers
    assert (found.fastest(1e4), found.fastest(1e7)) == ("(2,2,3)", "(6,3,7)")
    for line, one in zip(found.lines, schedules, strict=False):
        assert line.simulated_s == pytest.approx(one.time_s(np.array([1e3, 1e6])))
    assert verdict_words(found) == (
        "(2,2,3) is the fastest for the smallest sizes. From 52.5 kB on (6,3,7) is the fastest."
    )
    picture = time_picture(found)
    dots = [mark for mark in picture.charts[0].marks if isinstance(mark, Dot)]
    assert len(dots) == 2 * 2 + 1
    assert [dot.words for dot in dots if dot.strong] == ["52.5 kB: (2,2,3) to (6,3,7)"]
    ring = next(m for m in picture.charts[0].marks if isinstance(m, Line) and m.detail == "ring")
    assert ring.dashed
    ratios = [m for m in picture.charts[1].marks if isinstance(m, Line) and m.tone != "grey"]
    assert min(y for line in ratios for _, y in line.points) == pytest.approx(1.0)
    assert picture.charts[1].rows[0][1:] == ("1.00", "1.47", "3.39")
    assert "(6,3,7) simulated" in picture_svg(picture)


@each(("topology", "collective"), [("dgx-1", "allreduce"),
                                                      ("torus:4x4", "broadcast")])  # fmt: skip
def test_no_two_curves_look_alike(topology: str, collective: str) -> None:
    """Nor has one the red of the crossovers."""
    machine = machine_of(topology)
    library = baseline_lines(machine, collective)
    made = [ring_schedule(machine, collective, slices=slices) for slices in range(1, 11)]
    own = [schedule_time(schedule, machine, f"{at}") for at, schedule in enumerate(made)]
    found = compare_times("x", own, library, low_bytes=1e3, high_bytes=1e4)
    for chart in time_picture(found).charts:
        looks = [(key.tone, key.kind) for key in chart.legend if key.kind != "dot"]
        assert len(set(looks)) == len(looks) == 10 + len(library)
        assert "red" not in {tone for tone, _ in looks}


@each("count", [10, 24])
def test_no_two_series_share_tone_pattern_and_marker(count: int) -> None:
    """Dots alone are told apart by tone and marker; each has the tone of its line."""
    machine = machine_of("ring:4")
    made = [schedule_time(ring_allgather(4), ring_machine(4), f"{at}") for at in range(count)]
    found = compare_times("x", made, baseline_lines(machine, "allgather"), low_bytes=1e3,
                          high_bytes=1e4, simulated_bytes=[1e3])  # fmt: skip
    chart = time_picture(found).charts[0]
    keys = {key.words: key for key in chart.legend}
    lines = [keys[f"{at}"] for at in range(count)]
    dots = [keys[f"{at} simulated"] for at in range(count)]
    assert [dot.tone for dot in dots] == [line.tone for line in lines]
    assert len({(dot.tone, dot.shape) for dot in dots}) == count
    looks = {(line.tone, line.kind, dot.shape) for line, dot in zip(lines, dots, strict=True)}
    assert len(looks) == count
    assert ("red", "star") not in {(dot.tone, dot.shape) for dot in dots}
    marks = [mark for mark in chart.marks if isinstance(mark, Dot) and not mark.strong]
    assert [(mark.tone, mark.shape) for mark in marks] == [(dot.tone, dot.shape) for dot in dots]


def test_a_tree_of_chains_is_called_so() -> None:
    names = [line.name for line in baseline_lines(dgx1(), "allreduce")]
    assert names == ["ring", "tree as chains", "tree as chains, 4 slices"]
    full = machine_of("fully-connected:8")
    assert "tree" in [line.name for line in baseline_lines(full, "allreduce")]
    found = compare_times("x", [schedule_time(allreduce(), dgx1())],
                          baseline_lines(dgx1(), "allreduce"))  # fmt: skip
    assert CHAINS_WORDS in time_picture(found).charts[0].notes


def test_names_stay_below_the_upper_edge() -> None:
    placed = below(apart([0.98, 0.97, 0.96, 0.95], 0.1), 0.1)
    assert placed == pytest.approx([1.0, 0.9, 0.8, 0.7])


def test_a_chip_that_sends_nothing_has_a_row() -> None:
    sent = Schedule(collective="broadcast", chunks=1, rounds=(1, 1), sends=(
        Send(0, 0, 1, 0), Send(1, 1, 2, 0)))  # fmt: skip
    view = spacetime(simulate(sent, machine_of("linear:3"), 1e3))
    assert shown_rows(view) == (0, 1, 2)
    chart = space_chart(view)
    assert [words for _, words in chart.y.ticks] == ["0", "1", "2"]
    assert chart.notes[-1] == "Nothing is sent from chip 2."


def test_one_algorithm_alone_has_no_verdict() -> None:
    found = compare_times("x", [schedule_time(ring_allgather(4), ring_machine(4))],
                          low_bytes=1e3, high_bytes=1e4)  # fmt: skip
    assert (found.crossovers, verdict_words(found)) == ((), "")
    assert len(found.simulated_bytes) == 3
    assert picture_svg(time_picture(found)).startswith("<svg")


@each(("low", "high"), [(1e6, 1e3), (0.0, 1e3), (1e3, float("nan"))])
def test_no_range_is_refused(low: float, high: float) -> None:
    one = schedule_time(ring_allgather(4), ring_machine(4))
    with pytest.raises(InputError, match="size"):
        compare_times("x", [one], low_bytes=low, high_bytes=high)


def test_each_lane_of_a_dgx1_has_a_track() -> None:
    view = spacetime(simulate(allgather(6, 3), dgx1(), 1e6))
    assert view.rows == dgx1().names
    assert view.tracks == (6,) * 8
    assert sum(len(span.chunks) for span in view.spans) == len(allgather(6, 3).sends) == 336
    busy = np.zeros((8, 6))
    for span in view.spans:
        busy[span.row, span.track : span.track + span.tracks] += span.end_s - span.begin_s
        assert span.origin == span.chunks[0] // 6
    assert busy == pytest.approx(np.full((8, 6), 7 / 6 * 1e6 / 25e9))  # every lane all the time


def test_no_two_spans_of_a_track_overlap() -> None:
    for mode, by in (("synchronous", "nodes"), ("dependent", "links")):
        view = spacetime(simulate(allgather(6, 7), dgx1(), 1e6, mode=mode), by)
        ends: dict[tuple[int, int], float] = {}
        for span in sorted(view.spans, key=lambda span: span.begin_s):
            for track in range(span.track, span.track + span.tracks):
                assert span.begin_s >= ends.get((span.row, track), 0.0) - 1e-12
                ends[span.row, track] = span.end_s
                assert track < view.tracks[span.row]


def test_the_chart_marks_steps_and_names_targets() -> None:
    view = spacetime(simulate(allgather(2, 2), dgx1(), 1e6))
    chart = space_chart(view)
    bars = [mark for mark in chart.marks if isinstance(mark, Bar)]
    assert {bar.tone for bar in bars} == {look_of_origin(origin)[0] for origin in range(8)}
    assert {bar.words for bar in bars} == set("01234567")
    assert [m.words for m in chart.marks if isinstance(m, Words)] == ["step 1", "step 2"]
    assert chart.subtitle == "(C,S,R) = (2,2,3), L = 1 MB, synchronous, 61.4 us"
    assert chart.rows[-1][0] == "2"
    assert [key.words for key in chart.legend] == [f"origin {node}" for node in range(8)]
    assert bars[0].detail.startswith("step 1: 0 to 1, chunk")
    assert chart.title in picture_svg(
        space_picture(spacetime(simulate(allgather(2, 2), dgx1(), 1e6)))
    )


def test_without_barriers_no_steps_are_marked() -> None:
    chart = space_chart(spacetime(simulate(allgather(2, 2), dgx1(), 1e6, mode="dependent")))
    assert not [mark for mark in chart.marks if isinstance(mark, Words)]


def test_pieces_of_a_chunk_are_one_bar() -> None:
    machine = machine_of("dgx-1", links=LinkAsked(lanes=2))
    view = spacetime(simulate(split(allgather(2, 2), 2), machine, 1e6))
    assert min(span.tracks for span in view.spans) == 2
    assert set(view.tracks) == {12}


def test_chunks_on_a_slow_link_are_long_bars() -> None:
    view = spacetime(simulate(allgather(2, 2), degrade(dgx1(), [(0, 2)], 0.3), 1e6))
    assert set(view.tracks) == {6}  # cables are not cut
    chunk_s = 1e6 / 2 / 25e9
    for span in view.spans:
        share = 0.3 if {span.source, span.target} == {0, 2} else 1.0
        assert span.end_s - span.begin_s == pytest.approx(chunk_s / share)


def test_ports_of_a_switch_have_tracks_for_what_is_sent_at_once() -> None:
    machine = machine_of("switch:20")
    sends = [Send(0, u, v, 20 * u + v) for u in range(20) for v in range(20) if u != v]
    exchange = Schedule(collective="alltoall", chunks=1, rounds=(19,), sends=tuple(sorted(sends)))
    view = spacetime(simulate(exchange, machine, 1e6))
    assert view.tracks == (1,) * 20
    chart = space_chart(view)
    assert len(shown_rows(view)) == MOST_ROWS["nodes"]
    assert chart.notes[1] == "16 of 20 nodes are shown."
    assert chart.notes[2].startswith("16 of 20 origins are named")


def test_what_origins_are() -> None:
    total = spacetime(simulate(allreduce(), dgx1(), 1e6))
    assert (total.origin_kind, len(total.origins)) == ("part", 8)
    sent = Schedule(collective="broadcast", chunks=2, rounds=(1, 1), sends=(
        Send(0, 0, 1, 0), Send(1, 0, 1, 1)))  # fmt: skip
    line = machine_of("linear:2", links=LinkAsked())
    view = spacetime(simulate(sent, line, 1e3), "links")
    assert (view.origin_kind, view.origins) == ("chunk", ("0", "1"))
    assert view.rows == ("0 to 1", "1 to 0")
    assert shown_rows(view) == (0,)


def test_rows_of_something_else_are_refused() -> None:
    done = simulate(ring_allgather(4), ring_machine(4), 1e3)
    assert program_of(ring_allgather(4), ring_machine(4)).turns == (1, 1, 1)
    with pytest.raises(InputError, match="rows: 'node' is not one of nodes, links; did you mean"):
        spacetime(done, "node")
