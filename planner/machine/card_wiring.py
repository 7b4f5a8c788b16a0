"""Network cards of a fat tree's record joined in another way: a dragonfly, a ring or a torus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from frozen_records import dataclass
from hardware_db import Cluster, Level
from planner.base.errors import InputError

_TREE_LINKS = 2  # between switches of two tiers: up, down
_LEAST_RADIX = 7  # of a dragonfly: p = h = 2, a = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What is assumed of wirings that a record does not have.

    Beyond the leaf of a dragonfly, rings and pipelines send to chips a fixed distance away.
    Minimal routing puts all of such traffic between two groups on their one link; by way of a
    third group half the rate is left.
    Source: Kim, Dally, Scott, Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA
    2008: adaptive routing approaches half the capacity on worst-case traffic.

    Attributes:
        rate: Share of a card's rate; 1 is minimal routing of traffic that is spread evenly.
        links: Links between switches on the longest way: five with a third group (local, global,
            local, global, local), three without.
        local_optics: Share of the links inside a group that are optical; else copper, since the
            switches of a group fill one rack.
        switch_hops: Links of a path through a switch, by which its latency and energy are divided
            for one hop of a direct wiring.
    """

    rate: float = 0.5
    links: int = 5
    local_optics: float = 0.0
    switch_hops: int = 2


ROUTING = Routing()


def optics(leaf: Level, spine: Level) -> tuple[float, float]:
    """Watts of one switch port and of one end of an optical link of a card's rate.

    The link to a leaf has a port and two ends, a link between tiers two ports and two ends.
    """
    port = max(spine.switch_power_w_per_chip - leaf.switch_power_w_per_chip, 0.0)
    return port, max(leaf.switch_power_w_per_chip - port, 0.0) / 2


def _radix(cluster: Cluster, leaf: Level) -> tuple[int, int]:
    """Ports of a switch, and switches that a leaf consists of: cards of equal position share one.

    Positions are those in the largest domain that chips are joined in without cards. Ports are
    those of the record; without them they follow from the size of the leaf, which has as many
    ports up as down if it is not oversubscribed.

    Raises:
        InputError: The record does not tell, or the switches are too small for a dragonfly.
    """
    inner = [level.domain_chips or 1 for level in cluster.levels if level.kind == "scale-up"]
    rails = max(inner, default=1)
    chips = leaf.domain_chips or 0
    down, rest = divmod(chips, rails)
    ports = leaf.switch_ports or round(down * (1 + 1 / leaf.oversubscription))
    size = f"a {leaf.name} of {cluster.name} has {chips:,} chips"
    if rest and not leaf.switch_ports:
        near = max(round(chips / rails), 1) * rails
        raise InputError(
            f"{size}, no multiple of the {rails} joined without cards, so the ports of its "
            f"switches are not known; nearest: {near:,}, or give `switch_ports`"
        )
    if ports < _LEAST_RADIX:
        raise InputError(
            f"{size} and switches of {ports} ports; at least {_LEAST_RADIX} ports are needed"
        )
    return ports, rails


def dragonfly(cluster: Cluster, leaf: Level, spine: Level) -> list[Level]:
    """Switches in groups, the groups joined directly: as large as the ports of a switch allow.

    Balanced, a = 2 p = 2 h (Kim et al., ISCA 2008), a switch has p + (a - 1) + h = 4 p - 1 ports
    in use, so a leaf is half as large as a fat tree's. Per chip (a - 1) / p ports on links inside
    the group and h / p on global links, which are optical.
    """
    port, end = optics(leaf, spine)
    ports, rails = _radix(cluster, leaf)
    p = h = (ports + 1) // 4
    a = 2 * p
    longer = ROUTING.links / _TREE_LINKS

    def further(name: str) -> float:
        near, far = getattr(leaf, name), getattr(spine, name)
        return float(near + longer * (far - near))

    beyond = replace(
        spine,
        name="dragonfly",
        topology="dragonfly",
        domain_chips=p * a * (a * h + 1) * rails,
        dragonfly=(a, h, p),
        latency_s=further("latency_s"),
        energy_j_per_byte=further("energy_j_per_byte"),
        switch_power_w_per_chip=(a - 1 + h) / p * port
        + (ROUTING.local_optics * (a - 1) + h) / p * end,
        oversubscription=1 / ROUTING.rate,
    )
    return [replace(leaf, domain_chips=p * rails, oversubscription=1.0), beyond]


def card_torus(name: str) -> Callable[[Cluster, Level, Level], list[Level]]:
    """Network cards of equal position joined to a ring or torus, without switches."""
    axes = {"ring": 1, "torus": 2, "torus3d": 3}[name]

    def build(_: Cluster, leaf: Level, spine: Level) -> list[Level]:
        end = optics(leaf, spine)[1]
        per_port = leaf.bandwidth_bytes_per_s / (2 * axes)
        level = replace(
            leaf,
            name=name,
            topology="ring" if axes == 1 else "torus",
            domain_chips=None,
            links=2 * axes,
            link_bandwidth_bytes_per_s=per_port,
            peer_bandwidth_bytes_per_s=per_port,
            latency_s=leaf.latency_s / ROUTING.switch_hops,
            energy_j_per_byte=leaf.energy_j_per_byte / ROUTING.switch_hops,
            in_network_reduction="none",
            in_network_gain=1.0,
            in_network_min_group=0,
            switch_power_w_per_chip=end,
            oversubscription=1.0,
            torus_axes=0 if axes == 1 else axes,
        )
        return [level]

    return build
