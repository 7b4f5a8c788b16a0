"""Failure domains: the chips of a job that one failure takes out together.

A node, unless more is asked for. `rack` is a scale-up domain of several nodes, such as the 72 chips
of an NVL72; `rail` is what one leaf switch of the scale-out network joins: rails are wired so that
a switch has a port of every node below it. The sizes are those of the cluster's record.
"""

from __future__ import annotations

import math

from frozen_records import dataclass
from hardware_db import Cluster, Level
from planner.base.errors import InputError
from planner.base.messages import not_one_of

NODE, RACK, RAIL = WORDS = ("node", "rack", "rail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What one failure takes out.

    Attributes:
        name: As it was asked for.
        chips: Of the job in one domain, at most.
        nodes: That these are in.
        outside: Whether the job has chips in another domain too.
    """

    name: str
    chips: int
    nodes: int
    outside: bool


def domain_of(cluster: Cluster, name: str, chips: int) -> Domain:
    """The failure domain of a job.

    Args:
        cluster: Whose record says the sizes.
        name: One of `WORDS`, or of a level of the network.
        chips: Of the job.

    Raises:
        InputError: The cluster has no such domain, or one that is no larger than a node.
    """
    size = cluster.node_chips if name == NODE else _size(cluster, name) or chips
    inside = min(size, chips)
    return Domain(
        name=name, chips=inside, nodes=-(-inside // cluster.node_chips), outside=chips > inside
    )


def _size(cluster: Cluster, name: str) -> int | None:
    """Chips of a domain larger than a node; None: the whole network."""
    found = _levels(cluster)
    if name not in found:
        raise InputError(f"failure-domain: {not_one_of(name, (NODE, *found))} ({cluster.name})")
    return found[name].domain_chips


def _levels(cluster: Cluster) -> dict[str, Level]:
    """The levels of a cluster by the names that their domains have, those of a node left out."""
    wide = [one for one in cluster.levels if (one.domain_chips or math.inf) > cluster.node_chips]
    racks = [one for one in wide if one.kind == "scale-up" and one.topology != "torus"]
    leaves = [one for one in wide if one.kind == "scale-out" and one.domain_chips]
    named = {RACK: racks[:1], RAIL: leaves[:1], **{one.name: [one] for one in wide}}
    return {name: levels[0] for name, levels in named.items() if levels}
