"""Graph files by name: each file once, two of one name told apart by their paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from planner.base.errors import InputError
from planner.base.files import real_path
from planner.network.topology.custom import graph_label, read_graph
from planner.network.topology.wiring import Wiring, wiring_of


def named_wirings(paths: Iterable[Path], problems: list[str]) -> Iterator[tuple[str, Wiring]]:
    """What each file is called everywhere, and its graph as arrays.

    A second graph of a name is called `graph:name (its path)`.

    Args:
        paths: Files as `read_graph` reads them; a file that is given again is left out.
        problems: Mistakes are added to it, one line each with the file that it is in.
    """
    labels: set[str] = set()
    once: dict[Path, Path] = {}
    for path in paths:
        once.setdefault(real_path(path), path)
    for path in once.values():
        try:
            graph = read_graph(path)
            wiring = wiring_of(graph)
        except InputError as error:
            problems += [_with_file(line, path) for line in str(error).split("\n")]
            continue
        label = graph_label(graph, path)
        yield f"{label} ({path})" if label in labels else label, wiring
        labels.add(label)


def _with_file(line: str, path: Path) -> str:
    """A mistake with the file that it is in, once."""
    return line if str(path) in line else f"graph: {path}: {line.removeprefix('graph: ')}"
