"""Tables of synthesized collectives of the domains of a cluster, for the cost model."""

from __future__ import annotations

from hardware_db import Cluster
from planner.network.algorithms import DomainTable, wiring_of


def domains_of(cluster: Cluster, chips: int) -> dict[int, str]:
    """Chips of each domain of the innermost level that jobs of up to `chips` have, and its wiring.

    Only domains that tables are made for.
    """
    whole = cluster.levels[0].domain_chips or cluster.max_chips
    found: dict[int, str] = {}
    for count in (*cluster.chip_counts(min(chips, whole)), chips):
        level = cluster.scale(count).levels[0]
        size = min(level.domain_chips or count, count)
        if level.name == cluster.levels[0].name and (wiring := wiring_of(level, size)):
            found[size] = wiring
    return found


def tables_of(cluster: Cluster, chips: int) -> tuple[DomainTable, ...]:
    """The tables of a cluster for jobs of up to `chips`."""
    return ()
