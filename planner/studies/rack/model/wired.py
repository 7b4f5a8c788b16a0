"""The topologies that a rack command is asked for: by name, with sizes, or from a graph file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from planner.base.errors import InputError
from planner.base.units import texts_of
from planner.network.topology.graph_files import named_wirings
from planner.network.topology.graphs import dgx1_graph
from planner.network.topology.kinds import DGX1, NAMES
from planner.network.topology.measures import measured_hops
from planner.network.topology.spec import parse_topology
from planner.network.topology.wiring import Wiring, wiring_of
from planner.studies.rack.model.fetching import fixed
from planner.studies.rack.model.machine import FixedTopology

Wired = dict[str, FixedTopology | None]
"""Topologies in order; None where one exists for many numbers of chips."""


def wired(specs: str | None, graphs: Path | Sequence[Path] | None) -> Wired:
    """Topologies by name.

    Args:
        specs: `ring`, `torus:4x4x4`, `dgx-1`, `dragonfly:a=4,h=2,p=2`, ... with commas between.
        graphs: Files of links, one or several, as `planner.network.topology.custom` reads them;
            they come last, named by `named_wirings`.

    Raises:
        InputError: One line per mistake.
    """
    found: Wired = {}
    problems: list[str] = []
    for spec in topology_specs(specs) if specs is not None else ():
        try:
            if spec in NAMES:
                found[spec] = None
            elif spec in DGX1:
                found[DGX1[0]] = _measured(wiring_of(dgx1_graph()))
            else:
                topology = parse_topology(spec)
                found[topology.spec] = fixed(topology)
        except InputError as error:
            problems += str(error).split("\n")
    paths = [graphs] if isinstance(graphs, Path) else graphs or ()
    found |= {name: _measured(wiring) for name, wiring in named_wirings(paths, problems)}
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return found


def _measured(wiring: Wiring) -> FixedTopology:
    return FixedTopology(
        chips=wiring.chips,
        hops=measured_hops(wiring),
        links=wiring.link_count,
        ports=wiring.ports_per_chip,
        ignored=tuple(name for name, given in wiring.figures.items() if not np.isnan(given).all()),
    )


def topology_specs(given: str | Sequence[str]) -> list[str]:
    """Each topology once, of texts with commas between: sizes such as `h=2` stay with theirs."""
    found: list[str] = []
    for piece in texts_of(given):
        if found and "=" in piece and ":" not in piece and ":" in found[-1]:
            found[-1] += f",{piece}"
        else:
            found.append(piece)
    return list(dict.fromkeys(found))
