"""Cutting a cluster to a job: which chip counts it can give, with which levels, at what loss."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from hardware_db.cluster import Allocation, Cluster, Level, TorusRules
from hardware_db.errors import HardwareError
from hardware_db.torus import (
    cubic_shape,
    exchange_gain,
    slice_shapes,
    split,
    torus_counts,
    torus_losses,
    wraparound,
)


def allocate(cluster: Cluster, chips: int) -> Allocation:
    """Implements `Cluster.scale`; same arguments and errors."""
    if isinstance(chips, bool) or not isinstance(chips, int):
        raise HardwareError(f"chips: a whole number is required, not {chips!r}")
    if not 1 <= chips <= cluster.max_chips:
        raise HardwareError(
            f"chips: {chips} is outside 1 .. {cluster.max_chips}, the range that "
            f"{cluster.name} is modelled for"
        )
    rules = _pod_rules(cluster)
    if rules is not None:
        return _allocate_slices(cluster, rules, chips)
    if chips not in _node_counts(cluster) and chips % cluster.node_chips:
        raise HardwareError(_refusal(cluster, chips))
    return _allocate_nodes(cluster, chips)


def possible_counts(cluster: Cluster, limit: int) -> tuple[int, ...]:
    """Implements `Cluster.chip_counts` for a limit within the cluster."""
    if limit < 1:
        return ()
    rules = _pod_rules(cluster)
    if rules is not None:
        return tuple(sorted(torus_counts(rules, limit)))
    node = cluster.node_chips
    inside = {count for count in _node_counts(cluster) if count <= limit}
    return tuple(sorted(inside | set(range(node, limit + 1, node))))


def _pod_rules(cluster: Cluster) -> TorusRules | None:
    """The rules of a torus whose slices are larger than a node, if the cluster is one."""
    first = cluster.levels[0]
    return first.torus if (first.domain_chips or 0) > cluster.node_chips else None


def _node_counts(cluster: Cluster) -> tuple[int, ...]:
    """Chip counts that one node can give."""
    first = cluster.levels[0]
    if first.torus is not None:
        return tuple(slice_shapes(first.torus))
    if first.bandwidth_by_group:
        return (1, *(size for size, _ in first.bandwidth_by_group))
    return tuple(range(1, cluster.node_chips + 1))


def _refusal(cluster: Cluster, chips: int) -> str:
    """The message for a count the cluster cannot give, with the nearest that it can."""
    unit = "torus slices" if _pod_rules(cluster) else f"nodes of {cluster.node_chips} chips"
    above: tuple[int, ...] = ()
    limit = chips
    while not above and limit < cluster.max_chips:
        limit = min(2 * limit, cluster.max_chips)
        counts = possible_counts(cluster, limit)
        above = counts[bisect_left(counts, chips) :]
    below = possible_counts(cluster, chips)
    near = [str(count) for count in (*below[-1:], *above[:1])]
    verb = "counts are" if len(near) > 1 else "count is"
    return (
        f"chips: {cluster.name} cannot give {chips} chips (it is divided into {unit}); "
        f"the nearest {verb} {' and '.join(near)}"
    )


def _allocate_slices(cluster: Cluster, rules: TorusRules, chips: int) -> Allocation:
    """The fewest equal slices of the torus; see `Cluster.scale`."""
    found = split(rules, chips)
    if found is None:
        raise HardwareError(_refusal(cluster, chips))
    shape, slices = found
    wrap = wraparound(shape, rules)
    losses = torus_losses(shape, wrap, rules)
    inner = cluster.levels[0]
    gain = exchange_gain(shape, rules)
    size = chips // slices
    cut = replace(inner, domain_chips=size, torus_dims=shape, torus_wrap=wrap)
    levels = [replace(cut, torus_exchange_gain=gain)]
    if slices > 1:
        outer = _outer_levels(cluster, size, chips)
        levels += outer
        names = ", ".join(level.name for level in outer)
        losses.append(f"{slices} slices are joined by {names} only")
    return Allocation(
        cluster=cluster, chips=chips, levels=tuple(levels), slices=slices, losses=tuple(losses)
    )


def _outer_levels(cluster: Cluster, size: int, chips: int) -> list[Level]:
    """The levels that join slices of `size` chips."""
    levels: list[Level] = []
    covered = size
    whole = cluster.levels[0].domain_chips or size
    for level in cluster.levels[1:]:
        if covered >= chips:
            break
        domain = min((level.domain_chips or chips) // whole * size, chips)
        if level.domain_chips is None:
            domain = chips
        if domain > covered:
            levels.append(_wired(replace(level, domain_chips=domain), domain // covered))
            covered = domain
    return levels


def _wired(level: Level, length: int) -> Level:
    """A level whose torus, if it has one that follows the job, joins `length` domains."""
    if not level.torus_axes:
        return level
    shape = cubic_shape(length, level.torus_axes)
    wrap = tuple(axis > 2 and level.topology == "torus" for axis in shape)
    return replace(level, torus_dims=shape, torus_wrap=wrap)


def _allocate_nodes(cluster: Cluster, chips: int) -> Allocation:
    """Equal shares of every scale-up domain; see `Cluster.scale`."""
    domain = max(
        (level.domain_chips or 1 for level in cluster.levels if level.kind == "scale-up"),
        default=1,
    )
    share = _share_of_domain(cluster, domain, chips)
    losses = _idle(cluster, domain, chips, share)
    levels: list[Level] = []
    covered = 1
    for level in cluster.levels:
        if covered >= chips:
            break
        size = level.domain_chips or chips
        if level.kind == "scale-out" and level.domain_chips:
            size = size // domain * share
        size = min(size, chips, share if level.kind == "scale-up" else chips)
        if size <= covered:
            continue
        cut, lost = _cut(level, size)
        levels.append(_wired(cut, size // covered))
        losses += lost
        covered = size
    if not levels:
        levels = [_cut(cluster.levels[0], 1)[0]]
    return Allocation(cluster=cluster, chips=chips, levels=tuple(levels), losses=tuple(losses))


def _share_of_domain(cluster: Cluster, domain: int, chips: int) -> int:
    """Chips of the job in each scale-up domain."""
    if chips <= domain:
        return chips
    node = cluster.node_chips
    if domain < node:  # nodes are whole, and so are the domains in them
        return domain
    return next(size for size in range(domain - domain % node, 0, -node) if chips % size == 0)


def _idle(cluster: Cluster, domain: int, chips: int, share: int) -> list[str]:
    """What stays unused in each node or domain that the job occupies."""
    node = cluster.node_chips
    if share < node:
        return [f"{node - share} of the {node} chips of the node stay idle"]
    if share < domain < chips:
        return [f"{domain - share} of the {domain} chips of each scale-up domain stay idle"]
    return []


def _cut(level: Level, size: int) -> tuple[Level, list[str]]:
    """A level whose domains hold `size` chips of the job, and what that loses."""
    if level.torus is not None:
        shape = slice_shapes(level.torus)[size]
        wrap = wraparound(shape, level.torus)
        cut = replace(level, domain_chips=size, torus_dims=shape, torus_wrap=wrap)
        cut = replace(cut, torus_exchange_gain=exchange_gain(shape, level.torus))
        return cut, torus_losses(shape, wrap, level.torus)
    lost = []
    if level.topology == "ring" and level.domain_chips and size < level.domain_chips:
        lost = [f"the {level.name} ring is cut open: no wraparound"]
    if level.topology == "fully-connected" and level.domain_chips and size < level.domain_chips:
        used = level.peer_bandwidth_bytes_per_s * max(size - 1, 1)
        lost = [
            f"{size} of {level.domain_chips} directly wired chips use "
            f"{used / level.bandwidth_bytes_per_s:.0%} of the {level.name} bandwidth"
        ]
        links = level.links_per_pair * max(size - 1, 1)
        cut = replace(level, domain_chips=size, bandwidth_bytes_per_s=used, links=links)
        return cut, lost
    return replace(level, domain_chips=size), lost
