"""The rooms of the planner and the arrows between them, drawn from the code.

`python benchmarks/architecture.py` writes docs/pictures/architecture.svg; a test compares the file
with what the code says today. A room is a package inside `planner/`; what its box says is the
first line of its docstring. An arrow is an import; one that follows from others is left out.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import networkx as nx

from planner.report.drawing.chart import Axis, Bar, Chart, Key, Line, Mark, Picture, Words
from planner.report.drawing.geometry.lettering import wrapped
from planner.report.pages.picture_file import write_picture

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
_WIDTH, _ROW, _LINE, _LETTERS = 1000.0, 118.0, 15.0, 12.0
_BOX_WIDTH, _BOX_HEIGHT, _BEND = 300.0, 74.0, 24.0
"""Lengths are pixels; a bend of an arrow keeps as much free as its width."""
_SWEEPS = 6

Imports = dict[str, list[str]]
"""The rooms that each room imports, all rooms from the top down."""


def _contract() -> tuple[list[str], list[str]]:
    """The rooms from the top down, and the packages below them, as pyproject.toml lists them."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (layers,) = (
        one["layers"] for one in linter["contracts"] if one.get("containers") == ["planner"]
    )
    inside = [layer for layer in layers if (ROOT / "planner" / layer).is_dir()]
    return inside, [package for package in linter["root_packages"] if package != "planner"]


ROOMS, LEAVES = _contract()


def _folder_of(room: str) -> Path:
    """Where the code of a room or a package is."""
    return ROOT / room if room in LEAVES else ROOT / "planner" / room


def _says(room: str) -> str:
    """What a room says of itself first, without the full stop."""
    text = (_folder_of(room) / "__init__.py").read_text(encoding="utf-8")
    return (
        (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".").replace("`", "")
    )


def _imported(path: Path) -> Iterator[str]:
    """Dotted names that a module imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def imports() -> Imports:
    """Which room imports which."""
    found = {room: set[str]() for room in [*ROOMS, *LEAVES]}
    for room, others in found.items():
        for path in _folder_of(room).rglob("*.py"):
            words = (name.removeprefix("planner.").split(".")[0] for name in _imported(path))
            others |= {word for word in words if word in found and word != room}
    return {room: sorted(others) for room, others in found.items()}


def _levels(graph: Imports) -> dict[str, int]:
    """The row of every room: 0 at the bottom, otherwise one above the highest that it imports."""
    row: dict[str, int] = {}
    for room in reversed(list(nx.topological_sort(nx.DiGraph(graph)))):
        row[room] = 1 + max((row[other] for other in graph[room]), default=-1)
    return row


def _arrows(graph: Imports, row: dict[str, int]) -> list[list[str]]:
    """The arrows that follow from no others, with a bend named for them on each row they cross."""
    found = []
    for above, below in sorted(nx.transitive_reduction(nx.DiGraph(graph)).edges):
        crossed = range(row[above] - 1, row[below], -1)
        bends = [f"{above} {below} {at}" for at in crossed]
        row |= dict(zip(bends, crossed, strict=True))
        found.append([above, *bends, below])
    return found


def _across(arrows: list[list[str]], row: dict[str, int]) -> dict[str, float]:
    """Where rooms and bends are on their row, by barycenters of what they are joined to.

    Sugiyama, Tagawa, Toda, Methods for Visual Understanding of Hierarchical System Structures,
    IEEE Transactions on Systems, Man, and Cybernetics 11 (1981), 109-125.
    """
    steps = [step for arrow in arrows for step in pairwise(arrow)]
    above = {place: [one for one, other in steps if other == place] for place in row}
    below = {place: [other for one, other in steps if one == place] for place in row}
    lines = [sorted(place for place in row if row[place] == at) for at in sorted(set(row.values()))]
    x = {place: at for line in lines for place, at in _spread(line).items()}
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        near = above if downwards else below
        for line in reversed(lines) if downwards else lines:
            middle = {
                place: sum(x[other] for other in near[place]) / len(near[place])
                for place in line
                if near[place]
            }
            line.sort(key=lambda place, middle=middle: middle.get(place, x[place]))  # type: ignore[misc]
            x |= _spread(line)
    return x


def _spread(line: list[str]) -> dict[str, float]:
    """The places of one row from left to right, with equal gaps."""
    widths = [_BOX_WIDTH if place in ROOMS or place in LEAVES else _BEND for place in line]
    gap = (_WIDTH - sum(widths)) / len(line)
    left, x = gap / 2, {}
    for place, width in zip(line, widths, strict=True):
        x[place] = left + width / 2
        left += width + gap
    return x


def picture() -> Picture:
    """The rooms as boxes, row by row, with their arrows."""
    graph = imports()
    row = _levels(graph)
    high = (max(row.values()) + 1) * _ROW
    arrows = _arrows(graph, row)
    x = _across(arrows, row)
    marks: list[Mark] = [_line(arrow, row, x) for arrow in arrows]
    for room in graph:
        marks += _box(room, x[room], row[room] * _ROW)
    chart = Chart(
        title="The rooms of the planner",
        subtitle="What a room imports can be reached along its arrows.",
        x=Axis(label="", low=0.0, high=_WIDTH, hidden=True),
        y=Axis(label="", low=-_ROW / 2, high=high - _ROW / 2, hidden=True),
        marks=tuple(marks),
        legend=(
            Key(words="room of planner/", tone="blue", kind="area"),
            Key(words="package of its own", tone="green", kind="area"),
        ),
        description="Each room with what lives there, and arrows to the rooms that it imports.",
        header=("room", "imports"),
        rows=tuple((room, ", ".join(graph[room]) or "nothing") for room in graph),
        equal=True,
        height=high / _WIDTH,
    )
    return Picture(title=chart.title, charts=(chart,), width=_WIDTH)


def _line(arrow: list[str], row: dict[str, int], x: dict[str, float]) -> Line:
    """An arrow from box to box, upright where it passes a row."""
    corners = [
        (x[place], row[place] * _ROW + side * _BOX_HEIGHT / 2)
        for place in arrow
        for side in (1, -1)
    ]
    return Line(points=tuple(corners[1:-1]), tone="grey", arrow=True,
                detail=f"{arrow[0]} imports {arrow[-1]}")  # fmt: skip


def _box(room: str, x: float, y: float) -> list[Mark]:
    """A room: its name, and below it what lives there."""
    tone, half = "green" if room in LEAVES else "blue", _BOX_HEIGHT / 2
    lines = wrapped(_says(room), _LETTERS, _BOX_WIDTH - 2 * _LETTERS)
    top = y + _LINE * len(lines) / 2
    return [
        Bar(left=x - _BOX_WIDTH / 2, right=x + _BOX_WIDTH / 2, bottom=y - half, top=y + half,
            tone=tone, detail=_says(room), faint=True),
        Words(x=x, y=top, words=room, bold=True, tone=tone),
        *(Words(x=x, y=top - _LINE * n, words=line) for n, line in enumerate(lines, start=1)),
    ]  # fmt: skip


def main() -> None:
    """Draws the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=PICTURE, help="SVG, PNG or HTML")
    write_picture(picture(), parser.parse_args().file)


if __name__ == "__main__":
    main()
