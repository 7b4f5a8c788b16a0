"""Machines by name or from a graph file: `dgx-1`, `torus:4x4`, `switch:16`, `nvl72`, a YAML file.

Bandwidths and latencies are those of single links in one direction. A file may say its own; what
says nothing gets those that are asked for, else those of its system in `hardware_db`, else those
of a DGX-1, and the machine's notes say which.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import hardware_db
from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.units import plain, show_seconds
from planner.collectives.machines.contraction import Cables, contracted
from planner.collectives.machines.lanes import Lanes, lanes_of
from planner.collectives.machines.machine import Machine, Wires
from planner.collectives.machines.named import Named, named_wiring
from planner.network.topology.custom import graph_label, read_graph
from planner.network.topology.wiring import Wiring, wiring_of
from solvers.collectives.problem import Network
from solvers.collectives.symmetry import is_automorphism

NUMBERINGS = ("sccl", "nvidia-smi")
"""How the chips of a DGX-1 are numbered: as the papers on synthesis do, or as the driver does."""
MOST_CHIPS = 1024
"""Chips of a machine; its links through switches are their square."""
LATENCY_S = 0.7e-6
"""Of a message over NVLink where nothing else is known: near the 0.6 us that NCCL's tuning model
has for its LL protocol (src/graph/tuning.cc)."""
MOST_LANES_ASKED = 1_000_000
_GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAsked:
    """What is asked for of the links of a machine; None: its own.

    Attributes:
        lanes: Parallel links in place of each one of a named topology, or of a graph file.
        bandwidth_bytes_per_s: Of a single link in one direction.
        latency_s: Of a message on a link.
        start_s: Of starting a collective at all.
    """

    lanes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    latency_s: float | None = None
    start_s: float = 0.0


def machine_of(
    topology: str | None = None,
    graph: Path | None = None,
    *,
    links: LinkAsked | None = None,
    numbering: str = "sccl",
) -> Machine:
    """A machine by name, or from the user's own graph.

    Args:
        topology: A name as `planner.network.topology.spec.parse_topology` reads it, `dgx-1`,
            `dgx-1:nodes=2`, `gigabyte-z52`, or `nvl72`.
        graph: A file as `planner.network.topology.custom.read_graph` reads it; links of a directed
            graph carry one way alone.
        links: Figures of the links.
        numbering: Of the chips of a DGX-1, one of `NUMBERINGS`.

    Raises:
        InputError: Not one of both is given, or what is given cannot be read; one line per
            mistake.
    """
    asked = links or LinkAsked()
    if numbering not in NUMBERINGS:
        raise InputError(f"numbering: {not_one_of(numbering, NUMBERINGS)}")
    if (topology is None) == (graph is None):
        both = "give one of --topology and --graph" if topology else "is missing; e.g. dgx-1"
        raise InputError(f"topology: {both}")
    if graph is not None:
        named = _read(graph)
    else:
        assert topology is not None
        named = named_wiring(topology, numbering)
    if named.wiring.chips > MOST_CHIPS:
        raise InputError(
            f"topology: {named.label} has {named.wiring.chips:,} chips; at most {MOST_CHIPS:,}"
        )
    return _machine(named, asked)


def _read(path: Path) -> Named:
    """A graph file; its chips are named as in it."""
    graph = read_graph(path)
    try:
        wiring = wiring_of(graph, one_way=True)
    except InputError as error:
        lines = (line.removeprefix("graph: ") for line in str(error).splitlines())
        raise InputError("\n".join(f"{path}: {line}" for line in lines)) from error
    return Named(label=graph_label(graph, path), wiring=wiring)


def _machine(named: Named, asked: LinkAsked) -> Machine:
    wiring, notes = named.wiring, []
    if asked.lanes is not None:
        if not 1 <= asked.lanes <= MOST_LANES_ASKED:
            raise InputError(f"lanes: {asked.lanes:,} must be from 1 to {MOST_LANES_ASKED:,}")
        wiring = replace(wiring, links=wiring.links * asked.lanes)
    bandwidth, words = _figures(named, asked, "bandwidth_bytes_per_s")
    latency, others = _figures(named, asked, "latency_s")
    notes += [note for note in (words, others) if note]
    lanes = lanes_of(bandwidth)
    if lanes.error:
        notes.append(
            f"bandwidths are in no small whole proportion: rounds count lanes of "
            f"{plain(lanes.lane_bytes_per_s / _GB)} GB/s, which leave out at most "
            f"{lanes.error:.2%} of a link"
        )
    result = contracted(_cables(wiring, wiring.links * lanes.lanes, latency))
    if result.several_ways:
        notes.append(
            "some chips have several shortest ways through switches; one fixed way each is used, "
            "so that bounds hold for these ways alone"
        )
    if result.passed_over:
        notes.append(
            f"{result.passed_over:,} pairs of chips have a direct link and a way through switches; "
            "the direct one is used"
        )
    return Machine(
        label=named.label,
        names=wiring.labels[: wiring.chips],
        network=result.network,
        lane_bytes_per_s=lanes.lane_bytes_per_s,
        latency_s=result.latency_s,
        start_s=asked.start_s,
        symmetries=tuple(p for p in named.symmetries if maps_onto_itself(p, result.network)),
        notes=tuple(notes),
        uneven=_uneven(wiring, bandwidth, latency, lanes),
    )


def _uneven(
    wiring: Wiring, bandwidth: FloatArray, latency: FloatArray, lanes: Lanes
) -> Wires | None:
    """The links of a wiring as they are; None where all are as fast, and lanes are cables.

    Cables of unequal bandwidth at switches stay cut into whole lanes, of which a chunk
    takes one.
    """
    switched: np.ndarray = np.max(wiring.ends, axis=1) >= wiring.chips
    alike = len(set(bandwidth[switched].tolist())) <= 1
    if (lanes.lanes == 1).all() or (switched.all() and not alike):
        return None
    kept = np.zeros_like(switched) if alike else switched
    cables = _cables(wiring, wiring.links * np.where(kept, lanes.lanes, 1), latency)
    rates = np.where(kept, lanes.lane_bytes_per_s, bandwidth)
    found = contracted(cables)
    speed_of = dict(zip(map(tuple, wiring.ends.tolist()), rates.tolist(), strict=True))
    if not wiring.directed:
        speed_of |= {(v, u): rate for (u, v), rate in speed_of.items()}
    through = float(rates[switched][0]) if switched.any() else 0.0
    return Wires(
        network=found.network,
        latency_s=found.latency_s,
        bytes_per_s=np.array([speed_of.get(ends, through) for ends in found.network.links]),
        port_bytes_per_s=np.full(len(found.network.shared), through),
    )


def _cables(wiring: Wiring, lanes: IntArray, latency_s: FloatArray) -> Cables:
    """Directed cables: both directions of every link, or the one of a directed graph."""
    ends, each = wiring.ends, lanes.astype(np.int64)
    if not wiring.directed:
        ends = np.concatenate([ends, ends[:, ::-1]])
        each, latency_s = np.tile(each, 2), np.tile(latency_s, 2)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    return Cables(
        nodes=len(wiring.labels),
        chips=wiring.chips,
        ends=ends[order],
        lanes=each[order],
        latency_s=latency_s[order],
    )


def _figures(named: Named, asked: LinkAsked, figure: str) -> tuple[FloatArray, str]:
    """A figure of every link, and what is to be said of those that were not given."""
    known = named.wiring.figures[figure]
    if not np.isnan(known).any():
        given = getattr(asked, figure)
        name = figure.partition("_")[0]
        if given is not None:
            return _replaced(named, known, given, name), ""
        return known, named.source if figure == "bandwidth_bytes_per_s" else ""
    value = getattr(asked, figure)
    default = _lane_bytes_per_s() if figure == "bandwidth_bytes_per_s" else LATENCY_S
    filled = np.where(np.isnan(known), default if value is None else value, known)
    if value is not None:
        return filled, ""
    words = (
        f"{plain(default / _GB)} GB/s per link and direction, an NVLink of V100"
        if figure == "bandwidth_bytes_per_s"
        else f"{show_seconds(default)} per message and link"
    )
    return filled, f"assumed: {words}"


def _replaced(named: Named, known: FloatArray, given: float, name: str) -> FloatArray:
    """The asked figure in place of a named system's; links of a file keep what they say."""
    if named.label.startswith("graph:"):
        return known
    if len(np.unique(known)) > 1:
        raise InputError(
            f"{name}: the links of {named.label} differ; write a graph file with a figure for each"
        )
    return np.full_like(known, given)


def _lane_bytes_per_s() -> float:
    """Of an NVLink of V100 in one direction, from the database."""
    level = hardware_db.load_cluster("dgx1-v100").levels[0]
    return level.link_bandwidth_bytes_per_s


def maps_onto_itself(permutation: tuple[int, ...], network: Network) -> bool:
    """Whether a permutation of the nodes keeps links, lanes and shared capacities."""
    return is_automorphism(network, permutation)
