"""The picture of `planner rack topology --plot`: graphs with loaded links, and bars below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.units import plain, show_bytes
from planner.network.topology.kinds import DGX1
from planner.network.topology.wiring import Wiring
from planner.report.drawing.chart import Axis, Bar, Chart, Dot, Key, Line, Mark, Picture, Words
from planner.report.drawing.geometry.chart_frame import SMALL
from planner.report.drawing.geometry.lettering import width_of
from planner.report.tables.rack_topology import load_heading, load_table, wiring_table
from planner.report.tables.tables import SplitTable
from planner.studies.rack.topology.rows import TopologyResult, TopologyRow

_DRAWN_NODES = 200
"""Larger graphs get bars only."""
_COLUMNS = 4
_WIDTH = 330.0
_GRAPH_HEIGHT = 0.95
_LABELLED = 27
_RADII = ((12, 10.0), (27, 7.5), (64, 5.0), (_DRAWN_NODES, 3.0))
"""Up to so many nodes, the radius of their dots."""
_THICK_LINKS = 50
_FAINTEST = 0.2
"""Strength of an idle link, so that it is still seen."""
_GAP = 1.3
"""A line is drawn as a circle that is so much longer."""
_CIRCLES = ("linear", "star", "ring", "fully-connected", "hypercube", "dragonfly")
_ISLAND = ((-1.0, 1.0), (-1.8, 0.35), (-1.8, -0.35), (-1.0, -1.0))
"""Four chips at four heights, so that each link to the mirrored island is level and on no other."""
_SWITCH_RISE = 0.45
_LEAST_RISE = 0.5
_MARGIN = 0.08
_BULGE = 0.3
"""How far a line of a torus or HyperX is bent, so that its other links are seen."""
_LINK = "red"


def topology_picture(result: TopologyResult) -> Picture:
    """The graphs, links faint to strong by their load, and bars of the figures below them."""
    drawn = [row for row in result.rows if row.wiring and len(row.wiring.labels) <= _DRAWN_NODES]
    bars = bar_charts(result)
    charts = (*map(graph_chart, drawn), replace(bars[0], newline=True), *bars[1:])
    title = f"Topologies: {load_heading(result).lower()}"
    return Picture(title=title, charts=charts, columns=_COLUMNS, width=_WIDTH)


def graph_chart(row: TopologyRow) -> Chart:
    """One graph: chips as dots, switches as squares, links from faint to strong by load.

    Args:
        row: One with its wiring and load.
    """
    wiring, load = row.wiring, row.load
    assert wiring is not None
    assert load is not None
    at = _positions(row, wiring)
    x, y = _axes(np.array(list(at.values())))
    links = _links(row, at)
    tops = load.edge_bytes.max(axis=1) / wiring.links
    name = wiring.labels
    return Chart(
        title=row.name,
        subtitle=f"busiest link {show_bytes(load.busiest_bytes)}",
        x=x,
        y=y,
        marks=(*links, *_nodes(wiring, at)),
        legend=_legend(wiring, float(tops.max())),
        description=f"{row.name}: {row.chips:,} chips, {row.switches:,} switches and "
        f"{row.links:,} links, faint to strong by the bytes of one in its busier direction; the "
        f"busiest, {' - '.join(name[end] for end in wiring.ends[load.busiest_edge])}, carries "
        f"{show_bytes(load.busiest_bytes)}.",
        header=("from", "to", "links", "bytes", "back"),
        rows=tuple(
            (one, other, f"{count:,}", show_bytes(there), show_bytes(back))
            for one, other, count, there, back in row.link_loads()
        ),
        height=_GRAPH_HEIGHT,
        equal=True,
    )


def _axes(points: FloatArray) -> tuple[Axis, Axis]:
    """Room around the nodes, whatever their layout."""
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.maximum((high - low) * (0.5 + _MARGIN), _LEAST_RISE)
    middle = (low + high) / 2
    (left, low_y), (right, high_y) = (middle - reach).tolist(), (middle + reach).tolist()
    return (
        Axis(label="", low=left, high=right, hidden=True),
        Axis(label="", low=low_y, high=high_y, hidden=True),
    )


def _links(row: TopologyRow, at: dict[int, FloatArray]) -> list[Line]:
    """A line per edge: its strength by the load of each link, its width by their number."""
    wiring, load = row.wiring, row.load
    assert wiring is not None
    assert load is not None
    each = load.edge_bytes.max(axis=1) / wiring.links
    shares = each / max(float(each.max()), 1e-300)
    thin = min(1.0, (_THICK_LINKS / len(wiring.ends)) ** 0.5)
    told = row.link_loads()
    return [
        Line(
            points=(_point(at[u]), _point(at[v])),
            tone=_LINK,
            width=thin * (0.5 + 0.7 * min(count, 4)),
            strength=_FAINTEST + (1 - _FAINTEST) * float(share),
            detail=f"{one} - {other}: {show_bytes(there)}, back {show_bytes(back)}"
            + (f" over {count:,} links" if count > 1 else ""),
        )
        for (u, v), share, (one, other, count, there, back) in zip(
            wiring.ends.tolist(), shares, told, strict=True
        )
    ]


def _nodes(wiring: Wiring, at: dict[int, FloatArray]) -> list[Dot]:
    """Chips and switches; small graphs with the names of their chips."""
    radius = next(size for most, size in _RADII if len(wiring.labels) <= most)
    named = len(wiring.labels) <= _LABELLED
    dots = []
    for node, name in enumerate(wiring.labels):
        chip = node < wiring.chips
        x, y = _point(at[node])
        dots.append(
            Dot(x=x, y=y, tone="blue" if chip else "grey", shape="circle" if chip else "square",
                radius=radius, inside=name[:4] if chip and named else "",
                detail=f"{'chip' if chip else 'switch'} {name}")
        )  # fmt: skip
    return dots


def _point(at: FloatArray) -> tuple[float, float]:
    return float(at[0]), float(at[1])


def _legend(wiring: Wiring, high: float) -> tuple[Key, ...]:
    """Chips, switches, and what the strengths of links mean."""
    keys = [Key(words="chip", tone="blue")]
    if wiring.switches:
        keys.append(Key(words="switch", tone="grey", shape="square"))
    for share in (0.0, 0.5, 1.0):
        strength = _FAINTEST + (1 - _FAINTEST) * share
        keys.append(Key(words=show_bytes(share * high), tone=_LINK, kind="line", strength=strength))
    return tuple(keys)


def bar_charts(result: TopologyResult) -> tuple[Chart, ...]:
    """Average hops, bisection, links and the load of the busiest link, a bar per topology."""
    rows = result.rows
    wiring = wiring_table(rows)
    loads = [0.0 if row.load is None else row.load.busiest_bytes for row in rows]
    hops = [float(row.average_hops) for row in rows]
    bisections = [float(row.bisection_links) for row in rows]
    links = [float(row.links) for row in rows]
    sizes = _columns(wiring, "topology", "chips", "links", "ports", "switches")
    return (
        _bars(rows, "Average hops", hops, plain, "blue",
              _columns(wiring, "topology", "hops", "diameter")),
        _bars(rows, "Bisection (links)", bisections, plain, "green",
              _columns(wiring, "topology", "bisection")),
        _bars(rows, "Links", links, plain, "purple", sizes),
        _bars(rows, "Load of the busiest link", loads, show_bytes, "orange", load_table(rows)),
    )  # fmt: skip


def _columns(table: SplitTable, *names: str) -> SplitTable:
    """Some columns of a table."""
    places = [list(table.header).index(name) for name in names]
    cells = [[row[place] for place in places] for row in table.rows]
    return SplitTable(names, cells, by=names[:1])


def _bars(
    rows: Sequence[TopologyRow],
    title: str,
    values: Sequence[float],
    show: Callable[[float], str],
    tone: str,
    table: SplitTable,
) -> Chart:
    """A bar per topology with its value behind it."""
    longest = max(values) or 1.0
    marks: list[Mark] = []
    words = [show(value) for value in values]
    for at, (row, value, told) in enumerate(zip(rows, values, words, strict=True)):
        marks.append(Bar(left=0.0, right=value, bottom=at + 0.34, top=at - 0.34, tone=tone,
                         detail=f"{row.name}: {told}"))  # fmt: skip
        marks.append(Words(x=value + 0.03 * longest, y=at, words=told, anchor="start"))
    room = max(width_of(told, SMALL) for told in words) / (0.6 * _WIDTH)
    names = tuple((float(at), row.name) for at, row in enumerate(rows))
    return Chart(
        title=title,
        x=Axis(label="", low=0.0, high=longest * (1.05 + room), hidden=True),
        y=Axis(label="", low=-0.6, high=len(rows) - 0.4, ticks=names, downwards=True),
        marks=tuple(marks),
        spelled=True,
        description=f"{title}: "
        + "; ".join(f"{row.name} {told}" for row, told in zip(rows, words, strict=True))
        + ".",
        header=tuple(table.header),
        rows=tuple(map(tuple, table.rows)),
        height=0.03 + 20 * len(rows) / _WIDTH,
    )


def _positions(row: TopologyRow, wiring: Wiring) -> dict[int, FloatArray]:
    """Where the nodes are drawn: lines and grids straight, switches above their chips."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    name, _, sizes = row.name.partition(":")
    count = wiring.chips
    if wiring.switches:
        return _ringed(wiring) if name == "dragonfly" else _layered(wiring)
    if name in ("mesh", "torus", "hyperx") and "x" in sizes:
        return _slanted(tuple(map(int, sizes.split("x"))), bent=name != "mesh")
    if name in DGX1:
        return _mirrored(_ISLAND)
    if name in _CIRCLES:
        return _circle(count, hub=name == "star", closed=name != "linear")
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(wiring.ends.tolist())
    return dict(nx.kamada_kawai_layout(graph))


def _mirrored(island: Sequence[tuple[float, float]]) -> dict[int, FloatArray]:
    """Two islands beside each other: the first half of the chips, and its mirror image."""
    half = np.array(island)
    return dict(enumerate(np.vstack([half, half * (-1.0, 1.0)])))


def _circle(count: int, *, hub: bool, closed: bool) -> dict[int, FloatArray]:
    """Chips on a circle, or on one with a gap; the hub in its centre."""
    places = count - hub if closed else _GAP * count
    angles = 2 * np.pi * np.arange(count - hub) / max(places, 1)
    around = np.column_stack([np.sin(angles), np.cos(angles)])
    at = np.vstack([np.zeros((1, 2)), around]) if hub else around
    return dict(enumerate(at))


def _slanted(sizes: tuple[int, ...], *, bent: bool) -> dict[int, FloatArray]:
    """A grid in the plane: the first two dimensions straight, the others as shifts."""
    axes = np.array([[1.0, 0.12], [0.12, 1.0], [0.38, 0.3], [-0.2, 0.17]])
    points = np.zeros((int(np.prod(sizes)), 2))
    for i, k in enumerate(sizes):
        along = np.indices(sizes)[i].ravel().astype(np.float64)
        step = axes[i % len(axes)] * (1.0 if i < 2 else 1.0 / max(k - 1, 1))
        points += along[:, None] * step
        if bent and k > 2:
            across = np.array([-step[1], step[0]]) * (k - 1) / 2
            points += _BULGE * (2 * along / (k - 1) - 1)[:, None] ** 2 * across
    return dict(enumerate(points))


def _ringed(wiring: Wiring) -> dict[int, FloatArray]:
    """Routers on a circle, group by group, and their chips around it."""
    routers = wiring.switches
    angles = (
        2
        * np.pi
        * np.concatenate(
            [(np.arange(wiring.chips) + 0.5) / wiring.chips, (np.arange(routers) + 0.5) / routers]
        )
    )
    radius = np.where(np.arange(len(angles)) < wiring.chips, 1.4, 1.0)
    return dict(enumerate(np.column_stack([np.sin(angles), np.cos(angles)]) * radius[:, None]))


def _layered(wiring: Wiring) -> dict[int, FloatArray]:
    """Chips in a row, each switch above, at the mean of what hangs below it."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    graph = nx.Graph()
    graph.add_nodes_from(range(len(wiring.labels)))
    graph.add_edges_from(wiring.ends.tolist())
    height = nx.multi_source_dijkstra_path_length(graph, set(range(wiring.chips)))
    at = {chip: np.array([chip / wiring.chips, 0.0]) for chip in range(wiring.chips)}
    for level in range(1, max(height.values()) + 1):
        nodes = [node for node in range(len(wiring.labels)) if height[node] == level]
        below = {node: [at[end][0] for end in graph[node] if height[end] < level] for node in nodes}
        middle = {node: float(np.mean(below[node])) for node in nodes}
        order = sorted(nodes, key=lambda node: (middle[node], node))
        alike = len(set(middle.values())) < len(nodes)
        for place, node in enumerate(order):
            x = (place + 0.5) / len(order) if alike else middle[node]
            at[node] = np.array([x, level * _SWITCH_RISE])
    return at
