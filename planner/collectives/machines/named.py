"""Wirings by name, with symmetries that are known by construction.

Clos networks whose spines are equal stand with all parallel ways as one trunk: a leaf has one
link per spine to a single spine, a fat tree's edge switch k/2 to its pod and the pod k^2/4 to a
single core (see `planner.collectives.machines.contraction` on why nothing is lost).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

import hardware_db
from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.network.topology.graphs import dgx1_links, graph_of
from planner.network.topology.kinds import DGX1, NAMES, Topology
from planner.network.topology.spec import parse_topology
from planner.network.topology.wiring import FIGURES, Wiring, wiring_of

SYSTEMS = ("dgx-1", "gigabyte-z52", "nvl72")
"""Systems beside the topologies of `planner.network.topology.kinds.NAMES`."""
MOST_NODES = 32
"""DGX-1 nodes in a ring."""
CARDS = (0, 2, 4, 6)
"""Chips of a DGX-1, in SCCL's numbers, that a network card of each of its pairs stands beside."""
_DGX1 = re.compile(r"(?:([0-9]{1,4})x)?dgx-?1(?:x([0-9]{1,4})|:nodes=([0-9]{1,4}))?")
_HALF_TURNS = ((2, 3, 0, 1, 6, 7, 4, 5), (4, 5, 6, 7, 0, 1, 2, 3))
"""Generate the automorphisms of the DGX-1, in SCCL's numbers; all but the identity move all."""

Permutation = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A wiring with its name.

    Attributes:
        label: How it is written.
        wiring: Chips, switches and links.
        symmetries: Permutations of the chips, see `planner.collectives.machines.machine.Machine`.
        source: Where the figures of its links are from.
    """

    label: str
    wiring: Wiring
    symmetries: tuple[Permutation, ...] = ()
    source: str = ""


def named_wiring(spec: str, numbering: str = "sccl") -> Named:
    """A wiring by name.

    Args:
        spec: See `planner.collectives.machines.machines.machine_of`.
        numbering: Of the chips of a DGX-1: sccl or nvidia-smi.

    Raises:
        InputError: The name is unknown, or its sizes are missing or impossible.
    """
    text = spec.strip()
    if match := _DGX1.fullmatch(text):
        nodes = [int(part) for part in match.groups() if part is not None]
        if len(nodes) > 1 or (nodes and not 1 <= nodes[0] <= MOST_NODES):
            raise InputError(
                f"topology: {shown(spec)}: write dgx-1:nodes=N with 1 to {MOST_NODES} nodes"
            )
        return _dgx1(nodes[0] if nodes else 1, numbering)
    if text == "nvl72":
        return _nvl72()
    if text == "gigabyte-z52":
        return _z52()
    if text.partition(":")[0] in DGX1:
        raise InputError(f"topology: {shown(spec)}: write dgx-1, or dgx-1:nodes=2 for two of them")
    if (name := text.partition(":")[0]) in SYSTEMS:
        raise InputError(f"topology: {shown(spec)}: {name} takes no sizes: write {name}")
    if name not in NAMES:
        raise InputError(f"topology: {not_one_of(name, (*NAMES, *SYSTEMS))}")
    topology = parse_topology(text)
    return Named(
        label=topology.spec, wiring=_wiring(topology), symmetries=tuple(_symmetries(topology))
    )


def _dgx1(nodes: int, numbering: str) -> Named:
    """One DGX-1, or several in a ring by the network cards that pairs of chips share."""
    table = hardware_db.load_reference("topologies").quantities
    onto = np.arange(8)
    between_chips, counted = dgx1_links()
    relabel = _sccl_to_driver()
    if numbering == "sccl":
        back = np.argsort(relabel)
        links = np.asarray(table["dgx1-v100.links_between_msccl"].value)
        ends = np.sort(back[between_chips], axis=1)
        assert (links[ends[:, 0], ends[:, 1]] == counted).all()
    else:
        onto, ends = relabel, between_chips
    cluster = hardware_db.load_cluster("dgx1-v100")
    nvlink, leaf = cluster.levels[:2]
    between = [] if nodes == 1 else [(n, (n + 1) % nodes) for n in range(nodes - (nodes == 2))]
    across = [(8 * n + int(onto[c]), 8 * m + int(onto[c])) for n, m in between for c in CARDS]
    every = [(ends + 8 * n, counted) for n in range(nodes)]
    pairs = np.concatenate([each for each, _ in every] + ([np.asarray(across)] if across else []))
    counts = np.concatenate(
        [each for _, each in every] + [np.ones(len(across), dtype=np.int64)], dtype=np.int64
    )
    card = leaf.bandwidth_bytes_per_s * cluster.node_chips / len(CARDS)
    speed = np.where(np.arange(len(pairs)) < len(pairs) - len(across),
                     nvlink.link_bandwidth_bytes_per_s, card)  # fmt: skip
    latency = np.where(np.isclose(speed, card), _network_latency_s(), np.nan) if across else None
    turns = [tuple(int(x) for x in onto[np.asarray(t)[np.argsort(onto)]]) for t in _HALF_TURNS]
    symmetries = [tuple(8 * n + t[i] for n in range(nodes) for i in range(8)) for t in turns]
    if nodes > 1:
        symmetries.append(tuple((at + 8) % (8 * nodes) for at in range(8 * nodes)))
    return Named(
        label="dgx-1" if nodes == 1 else f"dgx-1:nodes={nodes}",
        wiring=_of_chips(8 * nodes, pairs, counts, speed, latency),
        symmetries=tuple(symmetries),
        source=_speeds(float(speed[0]), card if across else None),
    )


def _speeds(nvlink: float, card: float | None) -> str:
    words = f"{nvlink / 1e9:g} GB/s per NVLink and direction (database: dgx1-v100)"
    if card is None:
        return words
    return f"{words}, {card / 1e9:g} GB/s and {_network_latency_s() * 1e6:g} us per InfiniBand card"


def _network_latency_s() -> float:
    """Of a message over the network: NCCL's tuning model, tree, LL protocol."""
    quantities = hardware_db.load_reference("nccl-tuner").quantities
    values = np.asarray(quantities["hop_latency.net.tree"].value, dtype=np.float64)
    return float(values[0])


def _sccl_to_driver() -> IntArray:
    """The chip that nvidia-smi numbers for each of SCCL's numbers, as the database maps them."""
    return np.asarray([0, 3, 1, 2, 4, 7, 5, 6], dtype=np.int64)


def _of_chips(
    chips: int, ends: IntArray, links: IntArray, speed: FloatArray, latency: FloatArray | None
) -> Wiring:
    figures = {name: np.full(len(ends), np.nan) for name in FIGURES}
    figures["bandwidth_bytes_per_s"] = speed
    if latency is not None:
        figures["latency_s"] = latency
    return Wiring(
        labels=tuple(map(str, range(chips))), chips=chips, ends=ends, links=links, figures=figures
    )


def _z52() -> Named:
    """Eight MI50 in a ring, numbered as in SCCL's paper; all its links are as fast as there."""
    ring = hardware_db.load_reference("topologies").quantities["gigabyte-z52.ring"].value
    level = hardware_db.load_cluster("gigabyte-z52").levels[0]
    here = np.asarray(ring, dtype=np.int64)
    following = np.roll(here, -1)
    count = len(here)
    return Named(
        label="gigabyte-z52",
        wiring=_of_chips(
            count,
            np.stack([here, following], axis=1),
            np.ones(count, dtype=np.int64),
            np.full(count, level.link_bandwidth_bytes_per_s),
            np.full(count, level.latency_s),
        ),
        symmetries=(tuple(int(chip) for chip in following[np.argsort(here)]),),
        source=(
            f"{level.link_bandwidth_bytes_per_s / 1e9:g} GB/s per link and direction, "
            f"{level.latency_s * 1e6:.3g} us per message (database: gigabyte-z52)"
        ),
    )


def _nvl72() -> Named:
    """72 chips with a link to each of 18 switches, which are as one; a message takes two links."""
    level = hardware_db.load_cluster("gb200-nvl72").levels[0]
    chips = level.domain_chips
    assert chips is not None
    ends = np.stack([np.arange(chips), np.full(chips, chips)], axis=1)
    figures = {name: np.full(chips, np.nan) for name in FIGURES}
    figures["bandwidth_bytes_per_s"] = np.full(chips, level.link_bandwidth_bytes_per_s)
    figures["latency_s"] = np.full(chips, level.latency_s / 2)
    wiring = Wiring(
        labels=(*map(str, range(chips)), "switches"), chips=chips, ends=ends,
        links=np.full(chips, level.links, dtype=np.int64), figures=figures,
    )  # fmt: skip
    source = (
        f"{level.link_bandwidth_bytes_per_s / 1e9:g} GB/s per link and direction, "
        f"{level.latency_s * 1e6:.3g} us from chip to chip (database: gb200-nvl72)"
    )
    return Named(label="nvl72", wiring=wiring, symmetries=_shifts((chips,)), source=source)


def _wiring(topology: Topology) -> Wiring:
    if topology.name == "leaf-spine":
        chips, leaf, spines = topology.sizes
        return _tree((leaf, chips // leaf), (1, spines))
    if topology.name == "fat-tree":
        half = topology.sizes[0] // 2
        return _tree((half, half, topology.sizes[0]), (1, half, half * half))
    return wiring_of(graph_of(topology))


def _tree(fan: Sequence[int], trunks: Sequence[int]) -> Wiring:
    """A tree of switches: `fan` nodes under each node of the next tier, by `trunks` links."""
    chips = int(np.prod(fan))
    ends: list[tuple[int, int]] = []
    links: list[int] = []
    below, first = list(range(chips)), chips
    for width, trunk in zip(fan, trunks, strict=True):
        above = list(range(first, first + len(below) // width))
        ends += [(node, above[at // width]) for at, node in enumerate(below)]
        links += [trunk] * len(below)
        below, first = above, first + len(above)
    return Wiring(
        labels=tuple(map(str, range(first))),
        chips=chips,
        ends=np.asarray(ends, dtype=np.int64),
        links=np.asarray(links, dtype=np.int64),
        figures={name: np.full(len(ends), np.nan) for name in FIGURES},
    )


def _symmetries(topology: Topology) -> Iterable[Permutation]:
    """Generators of a group that keeps no chip in place, save the identity."""
    name, sizes = topology.name, topology.sizes
    if name in ("linear", "mesh"):
        return _mirrors(sizes)
    if name in _GRIDS:
        return _shifts(_GRIDS[name](sizes))
    if name == "dragonfly":
        a, h, p = sizes
        return _shifts((a * h + 1, a, max(p, 1)), axes=(0, 2))
    return ()


_GRIDS: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    **dict.fromkeys(("ring", "fully-connected", "switch", "torus", "hyperx"), lambda sizes: sizes),
    "hypercube": lambda sizes: (2,) * sizes[0],
    "leaf-spine": lambda sizes: (sizes[0] // sizes[1], sizes[1]),
    "fat-tree": lambda sizes: (sizes[0], sizes[0] // 2, sizes[0] // 2),
}
"""Chips as a grid, C order, in which a step round any dimension is a symmetry."""


def _shifts(sizes: Sequence[int], axes: Sequence[int] | None = None) -> tuple[Permutation, ...]:
    """One step round each dimension of a grid in C order."""
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    along = range(len(sizes)) if axes is None else axes
    return tuple(
        tuple(np.roll(numbers, -1, axis).ravel().tolist()) for axis in along if sizes[axis] > 1
    )


def _mirrors(sizes: Sequence[int]) -> tuple[Permutation, ...]:
    """Each dimension of even size turned round: no chip lies in its middle."""
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    return tuple(
        tuple(np.flip(numbers, axis).ravel().tolist())
        for axis, size in enumerate(sizes)
        if size % 2 == 0
    )
