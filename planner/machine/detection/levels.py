"""The network levels of what was seen: links within a node, network devices beyond it.

What an output does not show, latencies and powers above all, is taken from a record, as assumed.
"""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass
from hardware_db import list_clusters, load_cluster
from hardware_db.reading import read_record
from planner.base.errors import InputError
from planner.machine.detection.node import Network, Node
from planner.machine.detection.quantities import Sources, as_in, assumed, derived, measured
from planner.machine.detection.seen import Wiring

_WIRES = (
    "bandwidth", "bidirectional", "links", "link_bandwidth", "links_per_pair", "peer_bandwidth",
    "bandwidth_by_group", "degraded", "domain", "topology", "name", "kind",
)  # fmt: skip
_LIKE = {
    ("nvlink", "switch"): "dgx-h100-ndr",
    ("nvlink", "fully-connected"): "h100-pcie-ndr200",
    ("xgmi", "fully-connected"): "mi300x-8way",
    ("pcie", "switch"): "h100-pcie-ndr200",
}
"""Records with such a level, for the numbers that no output shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The record that a file begins with.

    Attributes:
        name: Of the cluster.
        data: Content of its file.
        node_chips: Chips of its nodes.
    """

    name: str
    data: dict[str, Any]
    node_chips: int

    def levels(self, kind: str) -> list[dict[str, Any]]:
        """Its levels of a kind, from the inside."""
        return [level for level in self.data["levels"] if level["kind"] == kind]


def base_for(node: Node) -> Base:
    """The shipped cluster of the chip: of those with as many chips in a node, its default first."""
    chip = node.chip
    clusters = [load_cluster(chip.default_cluster)]
    clusters += [one for one in map(load_cluster, list_clusters()) if one.chip.name == chip.name]
    found = next((one for one in clusters if one.node_chips == node.chips.value), clusters[0])
    return Base(
        name=found.name, data=read_record("clusters", found.name), node_chips=found.node_chips
    )


def scale_up(node: Node, base: Base, sources: Sources) -> list[dict[str, Any]]:
    """Levels within a node, or a rack.

    Raises:
        InputError: Links are neither all-to-all nor in equal groups, or more than the chip has.
    """
    wiring = node.wiring
    if node.chip.devices > 1 or wiring is None:
        return _as_in_base(node, base)
    chips = len(wiring.links)
    groups = _groups(wiring)
    size = len(groups[0])
    if _is_cube_mesh(node, wiring, base):
        level = as_in(base.levels("scale-up")[0], base.name)
        return [{**level, "domain": measured(chips, "chip", wiring.shown, sources)}]
    among = {wiring.links[one][other] for group in groups for one in group for other in group
             if one != other}  # fmt: skip
    if any(len(group) != size for group in groups) or len(among) > 1:
        raise InputError(
            f"from: {wiring.shown.place}: the {wiring.medium} links are neither all-to-all, nor "
            "within equal groups, nor a hybrid cube mesh; leave the output out and the wiring of "
            f"{base.name} is assumed"
        )
    levels = [] if size == 1 else [_linked(node, wiring, size, max(among), base, sources)]
    return levels if size == chips else [*levels, _pcie(node, wiring, sources)]


def _groups(wiring: Wiring) -> list[list[int]]:
    """Devices that links join, however many hops away."""
    left, groups = list(range(len(wiring.links))), []
    while left:
        group, ahead = [], [left[0]]
        while ahead:
            one = ahead.pop()
            group.append(one)
            left.remove(one)
            ahead += [other for other in left
                      if wiring.links[one][other] and other not in ahead]  # fmt: skip
        groups.append(sorted(group))
    return groups


def _is_cube_mesh(node: Node, wiring: Wiring, base: Base) -> bool:
    """Whether eight chips use all their links to four neighbours each, as in a DGX-1."""
    first = base.levels("scale-up")[:1]
    if not first or first[0]["topology"] != "hybrid-cube-mesh" or node.chips.value != 8:
        return False
    rows = wiring.links
    return all(sum(row) == node.chip.scale_up_links and sum(map(bool, row)) == 4 for row in rows)


def _linked(
    node: Node, wiring: Wiring, size: int, per_pair: int, base: Base, sources: Sources
) -> dict[str, Any]:
    """The level of chips that NVLink or xGMI joins.

    Raises:
        InputError: The chip's record has fewer links, or none.
    """
    chip, medium = node.chip, wiring.medium.lower()
    most, rate = chip.scale_up_links or 0, chip.scale_up_link_bytes_per_s or 0.0
    if not wiring.counted:
        per_pair = most // (size - 1)
    if not rate or not 0 < per_pair <= most:
        raise InputError(
            f"from: {wiring.shown.place}: {per_pair} {wiring.medium} links between two chips, and "
            f"{chip.name} has {most}; is it another chip?"
        )
    direct = not wiring.switched and (size == 2 or per_pair * (size - 1) <= most)
    topology = "fully-connected" if direct else "switch"
    links = per_pair * (size - 1) if direct else per_pair
    how = f"{links} links ({wiring.medium}) of {rate / 1e9:g} GB/s, the rate of {chip.name}"
    level = _level(medium, topology, base)
    level["domain"] = _domain(node, size, wiring, base, sources)
    level["bandwidth"] = derived(links * rate, "B/s", how, wiring.shown, [chip.name], sources)
    if wiring.counted:
        pair = measured(per_pair, "1", wiring.shown, sources)
        each = f"{per_pair} to each of {size - 1}"
        total = derived(links, "1", each, wiring.shown, [], sources) if direct else pair
    else:
        none = "not seen; outputs tell links apart and count none"
        pair, total = (assumed(count, "1", none, chip.name) for count in (per_pair, links))
    level["links"] = total
    level["link_bandwidth"] = assumed(rate, "B/s", "not seen", chip.name)
    return {**level, "links_per_pair": pair} if direct else level


def _domain(node: Node, size: int, wiring: Wiring, base: Base, sources: Sources) -> dict[str, Any]:
    """Chips of the level: those of the node, or of the rack that it belongs to."""
    whole = base.levels("scale-up")[:1]
    of_rack = whole[0].get("domain", {}).get("value", 0) if whole else 0
    if of_rack > base.node_chips and size == node.chips.value == base.node_chips:
        return assumed(of_rack, "chip", f"a node shows its own {size} alone", base.name)
    return measured(size, "chip", wiring.shown, sources)


def _pcie(node: Node, wiring: Wiring, sources: Sources) -> dict[str, Any]:
    """The level of all chips of a node that PCIe joins."""
    level = _level("pcie", "switch", None)
    level["domain"] = measured(node.chips.value, "chip", wiring.shown, sources)
    if node.pcie:
        how = "128 of 130 bits of each lane"
        level["bandwidth"] = derived(node.pcie.value, "B/s", how, node.pcie, [], sources)
    else:
        rate, link = node.chip.host_link_bandwidth_bytes_per_s, node.chip.host_link_name
        level["bandwidth"] = assumed(rate, "B/s", f"not seen; {link}", node.chip.name)
    return level


def _level(medium: str, topology: str, base: Base | None) -> dict[str, Any]:
    """A level with what no output shows, as a record with one of its kind has it."""
    mine = [] if base is None else base.levels("scale-up")
    record = base.name if base else ""
    like = next((one for one in mine if one["topology"] == topology), None)
    if like is None or medium == "pcie":
        record = _LIKE[medium, topology]
        levels = read_record("clusters", record)["levels"]
        like = next(one for one in levels if one["topology"] == topology)
    rest = {key: as_in(part, record) for key, part in like.items() if key not in _WIRES}
    return {"name": medium, "kind": "scale-up", "topology": topology, **dict.fromkeys(
        ("domain", "bandwidth"), None), **rest}  # fmt: skip


def _as_in_base(node: Node, base: Base) -> list[dict[str, Any]]:
    """The levels of the record, their domains those of this node.

    Raises:
        InputError: Their wiring is not known for so many chips.
    """
    chips, levels = node.chips.value, []
    for one in base.levels("scale-up"):
        level, domain = as_in(one, base.name), one["domain"]["value"]
        size = chips if domain == base.node_chips else domain
        if (size % chips and chips % size) or size == 1:
            continue
        if size != domain and one["topology"] == "fully-connected":
            per_pair, rate = one["links_per_pair"]["value"], one["link_bandwidth"]["value"]
            level["links"]["value"] = per_pair * (size - 1)
            level["bandwidth"]["value"] = per_pair * (size - 1) * rate
        elif size != domain and one["topology"] != "switch":
            raise InputError(f"from: the links of {chips} chips of {node.chip.name} were not seen; "
                             "add nvidia-smi topo -m")  # fmt: skip
        level["domain"]["value"] = size
        levels.append(level)
    return levels


def scale_out(
    node: Node, base: Base, sources: Sources, within: int, most: int | None
) -> list[dict[str, Any]]:
    """Levels between nodes; those that no job of the cluster reaches are left out.

    Args:
        node: What was seen.
        base: The record.
        sources: Of the file.
        within: Chips of the outermost level inside a node or rack.
        most: Chips of the cluster; None: not said.
    """
    levels: list[dict[str, Any]] = []
    for one in base.levels("scale-out"):
        level = as_in(one, base.name)
        if "domain" in one:
            size = one["domain"]["value"] // base.node_chips * node.chips.value
            size = -(-size // within) * within
            level["domain"]["value"] = size
        if node.network:
            level["bandwidth"] = _injected(node.network, node.chips.value, sources)
        levels.append(level)
        if most is not None and "domain" in one and level["domain"]["value"] >= most:
            break
    return levels


def _injected(network: Network, chips: int, sources: Sources) -> dict[str, Any]:
    """What the network devices of a node give to each of its chips."""
    rate = network.rate.value
    how = f"{network.nics} network devices of {rate * 8e-9 / network.nics:g} Gb/s for {chips} chips"
    if network.left_out:
        how += f", {', '.join(network.left_out)} left out: not active or near no chip"
    others = [sources.key(output) for output in network.outputs]
    return derived(rate / chips, "B/s", how, network.rate, others, sources)
