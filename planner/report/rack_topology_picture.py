"""The picture of `planner rack topology --plot`: graphs with loaded links, and bars beside them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from planner.network.topology.wiring import Wiring
from planner.plan import FloatArray
from planner.rack.topology_rows import TopologyResult, TopologyRow
from planner.report.plotting import BLUE, GREEN, ORANGE, PURPLE, About, load_pyplot, save
from planner.report.rack_topology_view import load_heading, load_table, wiring_table
from planner.units import plain, show_bytes, unit_for

_DRAWN_NODES = 200
"""Larger graphs get bars only."""
_COLUMNS = 4
_LABELLED = 27
_SIZES = ((12, 260), (27, 110), (64, 45), (_DRAWN_NODES, 16))
"""Up to so many nodes, dots of so many square points."""
_THICK_LINKS = 50
_GAP = 1.3
"""A line is drawn as a circle that is so much longer."""
_CIRCLES = ("linear", "star", "ring", "fully-connected", "hypercube", "dragonfly", "dgx-1")
_SWITCH_RISE = 0.45
_LEAST_RISE = 0.5
_MARGIN = 0.13
_BULGE = 0.3
"""How far a line of a torus or HyperX is bent, so that its other links are seen."""


def draw_topologies(result: TopologyResult, path: Path) -> None:
    """Writes the graphs, links coloured by their load, and bars of the figures below them.

    Raises:
        InputError: The file cannot be written, or matplotlib is missing.
    """
    plt = load_pyplot()
    drawn = [row for row in result.rows if row.wiring and len(row.wiring.labels) <= _DRAWN_NODES]
    bars = _bars(result.rows)
    columns = max(min(_COLUMNS, max(len(drawn), 1)), len(bars))
    lines = math.ceil(len(drawn) / columns)
    tall = 0.28 * len(result.rows) + 1.2
    figure = plt.figure(figsize=(3.4 * columns, 3.2 * lines + tall), layout="constrained")
    grid = figure.add_gridspec(lines + 1, columns, height_ratios=[3.2] * lines + [tall])
    for at, row in enumerate(drawn):
        _graph(figure.add_subplot(grid[at // columns, at % columns]), row, figure)
    for at, (title, values, show, colour) in enumerate(bars):
        _bar(figure.add_subplot(grid[lines, at]), result.rows, title, values, show, colour,
             named=at == 0)  # fmt: skip
    save(figure, path, _about(result))


def _about(result: TopologyResult) -> About:
    """What a page says."""
    wiring, load = wiring_table(result.rows), load_table(result.rows)
    heading = load_heading(result)
    names = ", ".join(row.name for row in result.rows)
    return About(
        title=f"Topologies: {names}",
        description=f"{heading}: graphs with links from pale to dark by load, and bars of average "
        "hops, bisection, links and the load of the busiest link.",
        tables=(("Wiring", wiring.header, wiring.rows), (heading, load.header, load.rows)),
    )


_Bars = tuple[str, list[float], Callable[[float], str], str]


def _bars(rows: Sequence[TopologyRow]) -> list[_Bars]:
    """Title, values, words and colour of each panel of bars."""
    loads = [0.0 if row.load is None else row.load.busiest_bytes for row in rows]
    panels: list[_Bars] = [
        ("average hops", [float(row.average_hops) for row in rows], plain, BLUE),
        ("bisection (links)", [float(row.bisection_links) for row in rows], plain, GREEN),
        ("links", [float(row.links) for row in rows], plain, PURPLE),
        ("load of the busiest link", loads, show_bytes, ORANGE),
    ]
    return panels


def _bar(
    panel: Any,
    rows: Sequence[TopologyRow],
    title: str,
    values: list[float],
    show: Callable[[float], str],
    colour: str,
    *,
    named: bool,
) -> None:
    heights = range(len(rows))
    scale = unit_for(max(values), "")[0] if show is show_bytes else 1.0
    panel.barh(heights, [value / scale for value in values], color=colour, height=0.65)
    panel.set_yticks(heights, [row.name for row in rows] if named else [""] * len(rows), fontsize=8)
    panel.invert_yaxis()
    panel.set_title(title)
    panel.set_xticks([])
    panel.grid(visible=False)
    for height, value in zip(heights, values, strict=True):
        panel.annotate(
            f" {show(value)}", (value / scale, height), va="center", fontsize=8,
            annotation_clip=False,
        )  # fmt: skip
    panel.set_xlim(0, max(values) / scale * 1.35 or 1.0)


def _graph(panel: Any, row: TopologyRow, figure: Any) -> None:
    """One graph: chips as dots, switches as squares, links from pale to dark by load."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    wiring, load = row.wiring, row.load
    assert wiring is not None
    assert load is not None
    at = _positions(row, wiring)
    each = load.edge_bytes.max(axis=1) / wiring.links
    graph = nx.Graph()
    graph.add_nodes_from(range(len(wiring.labels)))
    graph.add_edges_from(wiring.ends.tolist())
    high = max(float(each.max()), 1e-300)
    thin = min(1.0, (_THICK_LINKS / len(wiring.ends)) ** 0.5)
    edges = nx.draw_networkx_edges(
        graph, at, ax=panel, edgelist=wiring.ends.tolist(), edge_color=each / high,
        edge_cmap=_map(), edge_vmin=0.0, edge_vmax=1.0,
        width=[thin * (0.8 + 1.2 * min(int(links), 4)) for links in wiring.links],
    )  # fmt: skip
    size = next(points for most, points in _SIZES if len(wiring.labels) <= most)
    chips, switches = range(wiring.chips), range(wiring.chips, len(wiring.labels))
    for nodes, shape, colour in ((chips, "o", BLUE), (switches, "s", ORANGE)):
        nx.draw_networkx_nodes(
            graph, at, ax=panel, nodelist=list(nodes), node_shape=shape, node_color=colour,
            node_size=size,
        )  # fmt: skip
    if len(wiring.labels) <= _LABELLED:
        names = {node: wiring.labels[node][:4] for node in chips}
        nx.draw_networkx_labels(
            graph, at, names, ax=panel, font_size=7 if size > 200 else 5, font_color="white"
        )
    panel.set_title(f"{row.name}\nbusiest {show_bytes(load.busiest_bytes)}", fontsize=9)
    panel.set_axis_off()
    panel.set_aspect("equal")
    _frame(panel, np.array(list(at.values())))
    edges.set_zorder(0)
    figure.colorbar(
        edges, ax=panel, ticks=[0, 1], shrink=0.6, format=lambda value, _: show_bytes(value * high)
    )


def _frame(panel: Any, points: FloatArray) -> None:
    """Room around the nodes, whatever their layout."""
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.maximum((high - low) * (0.5 + _MARGIN), _LEAST_RISE)
    middle = (low + high) / 2
    panel.set_xlim(middle[0] - reach[0], middle[0] + reach[0])
    panel.set_ylim(middle[1] - reach[1], middle[1] + reach[1])


def _map() -> Any:
    """Pale to dark, so that idle links are still seen."""
    from matplotlib import colormaps  # noqa: PLC0415  (an extra, and only for pictures)
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    return ListedColormap(colormaps["YlOrRd"](np.linspace(0.15, 1.0, 256)))


def _positions(row: TopologyRow, wiring: Wiring) -> dict[int, FloatArray]:
    """Where the nodes are drawn: lines and grids straight, switches above their chips."""
    import networkx as nx  # noqa: PLC0415  (takes a noticeable time)

    name, _, sizes = row.name.partition(":")
    count = wiring.chips
    if wiring.switches:
        return _ringed(wiring) if name == "dragonfly" else _layered(wiring)
    if name in ("mesh", "torus", "hyperx") and "x" in sizes:
        return _slanted(tuple(map(int, sizes.split("x"))), bent=name != "mesh")
    if name in _CIRCLES:
        return _circle(count, hub=name == "star", closed=name != "linear")
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(wiring.ends.tolist())
    return dict(nx.kamada_kawai_layout(graph))


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
