"""The picture of `planner rack topology`: graphs with loaded links, and bars."""

import numpy as np
import pytest

from planner.report.charts.rack_topology import topology_picture
from planner.report.drawing.chart import Bar, Chart, Dot, Line, Words
from planner.report.drawing.geometry.chart_frame import frame_of
from planner.report.drawing.svg import sheet_of
from planner.studies.rack.topology.asking import compare_topologies
from planner.studies.rack.topology.rows import LinkFigures, TopologyResult, TrafficAsked

SPECS = ["linear:4", "ring:6", "mesh:3x3", "torus:3x3x3", "star:4", "dgx-1", "fat-tree:k=4",
         "dragonfly:a=2,h=2,p=2", "ring:500"]  # fmt: skip


@pytest.fixture(scope="module")
def result() -> TopologyResult:
    """Every layout, and one graph that is too large to be drawn."""
    return compare_topologies(SPECS, [], traffic=TrafficAsked(), figures=LinkFigures())


@pytest.fixture(scope="module")
def charts(result: TopologyResult) -> dict[str, Chart]:
    """The charts of the picture by title."""
    return {chart.title: chart for chart in topology_picture(result).charts}


def lines(chart: Chart) -> list[Line]:
    return [mark for mark in chart.marks if isinstance(mark, Line)]


def dots(chart: Chart) -> list[Dot]:
    return [mark for mark in chart.marks if isinstance(mark, Dot)]


def test_small_graphs_are_drawn_and_bars_begin_a_line(
    result: TopologyResult, charts: dict[str, Chart]
) -> None:
    bars = ["Average hops", "Bisection (links)", "Links", "Load of the busiest link"]
    assert list(charts) == [*SPECS[:-1], *bars]
    assert [title for title, chart in charts.items() if chart.newline] == bars[:1]
    places = sheet_of(topology_picture(result)).places
    assert len({place.top for place in places[-4:]}) == 1
    assert places[-4].left == 0


def test_links_are_as_strong_as_their_load(
    result: TopologyResult, charts: dict[str, Chart]
) -> None:
    for row in result.rows[:-1]:
        assert row.load is not None
        assert row.wiring is not None
        drawn = lines(charts[row.name])
        each = row.load.edge_bytes.max(axis=1) / row.wiring.links
        order = np.argsort([line.strength for line in drawn], kind="stable")
        assert (np.diff(each[order]) >= -1e-6 * each.max()).all()
        assert max(line.strength for line in drawn) == pytest.approx(1)
        assert min(line.strength for line in drawn) >= 0.2
    widths = {line.width for line in lines(charts["dgx-1"])}
    assert len(widths) == 2, "one and two links"
    assert any("over 2 links" in line.detail for line in lines(charts["dgx-1"]))


def test_nodes_stand_apart_and_are_named(result: TopologyResult, charts: dict[str, Chart]) -> None:
    for row in result.rows[:-1]:
        assert row.wiring is not None
        chart = charts[row.name]
        drawn = frame_of(chart, 330.0)
        nodes = dots(chart)
        assert len(nodes) == len(row.wiring.labels)
        shapes = [dot.shape for dot in nodes]
        assert shapes == ["circle"] * row.chips + ["square"] * row.switches
        pixels = np.array([drawn.at((dot.x, dot.y)) for dot in nodes])
        gaps = np.hypot(*(pixels[:, None] - pixels[None]).transpose(2, 0, 1))
        np.fill_diagonal(gaps, np.inf)
        assert gaps.min() > 1.5 * nodes[0].radius, row.name
        for x, y in pixels:
            assert drawn.area.left + 3 < x < drawn.area.right - 3
            assert drawn.area.top + 3 < y < drawn.area.bottom - 3
        named = [dot.inside for dot in nodes if dot.inside]
        assert named == (list(row.wiring.labels[: row.chips]) if len(nodes) <= 27 else [])


def test_a_ring_is_round(charts: dict[str, Chart]) -> None:
    chart = charts["ring:6"]
    drawn = frame_of(chart, 330.0)
    pixels = np.array([drawn.at((dot.x, dot.y)) for dot in dots(chart)])
    radii = np.hypot(*(pixels - pixels.mean(axis=0)).T)
    np.testing.assert_allclose(radii, radii[0])


def test_bars_and_tables_have_the_figures(result: TopologyResult, charts: dict[str, Chart]) -> None:
    hops = [mark.right for mark in charts["Average hops"].marks if isinstance(mark, Bar)]
    assert hops == [float(row.average_hops) for row in result.rows]
    loads = charts["Load of the busiest link"]
    wanted = [row.load.busiest_bytes if row.load else 0.0 for row in result.rows]
    assert [mark.right for mark in loads.marks if isinstance(mark, Bar)] == wanted
    words = [mark.words for mark in charts["Bisection (links)"].marks if isinstance(mark, Words)]
    assert words[:2] == ["1", "2"]
    assert charts["Links"].header == ("topology", "chips", "links", "ports", "switches")
    assert [row[0] for row in loads.rows] == SPECS
    assert len(charts["ring:6"].rows) == 6
    assert charts["ring:6"].header == ("from", "to", "links", "bytes", "back")


def test_the_same_picture_again(result: TopologyResult, charts: dict[str, Chart]) -> None:
    assert topology_picture(result).charts == tuple(charts.values())


def test_the_islands_of_a_dgx1_stand_apart(charts: dict[str, Chart]) -> None:
    """Four chips on each side; links between them are level, and none lies on another chip."""
    chart = charts["dgx-1"]
    at = {dot.inside: (dot.x, dot.y) for dot in dots(chart)}
    assert [x < 0 for x, _ in at.values()] == [True] * 4 + [False] * 4
    across = [line for line in lines(chart) if (line.points[0][0] < 0) != (line.points[1][0] < 0)]
    heights = [{y for _, y in line.points} for line in across]
    assert len(across) == len({min(pair) for pair in heights}) == 4
    assert all(len(pair) == 1 for pair in heights), "level"
    for line in across:
        (left, height), (right, _) = sorted(line.points)
        between = [x for x, y in at.values() if y == height and left < x < right]
        assert between == []
