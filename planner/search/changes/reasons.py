"""Why a field of a record does not count in a question, as far as a rule knows."""

from __future__ import annotations

from collections.abc import Callable

from planner.question.changes.leaves import ASSUMPTIONS, CALIBRATION, CLUSTER, Leaf
from planner.question.changes.values import words_of
from planner.question.resolved import Resolved


def reason_of(leaf: Leaf, before: Resolved | None, resolved: Resolved, chips: int) -> str:
    """Why a change of a field does nothing.

    Args:
        leaf: The field.
        before: The question without the change, if it can be asked.
        resolved: The question.
        chips: Chips of the plans.
    """
    if before is not None and leaf.record == ASSUMPTIONS:
        old, new = (getattr(one.cost.assumptions, leaf.path) for one in (before, resolved))
        if old == new:
            return f"it is {words_of(new, leaf.unit)} already"
    if leaf.record == CLUSTER:
        return _of_level(leaf, resolved, chips)
    if leaf.record in (ASSUMPTIONS, CALIBRATION):
        job = resolved.cost.job
        return (
            f"nothing reads it for {job.precision} on {resolved.cost.chip.calibration_gemm} chips "
            f"with {job.era} software under {resolved.request.assumptions}"
        )
    starts = (rule for start, rule in _OF_CHIP.items() if leaf.path.startswith(start))
    rule = next(starts, None)
    return _NOTHING if rule is None else rule(resolved)


_NOTHING = "no time, energy or memory is computed from it"


def not_reached(name: str, resolved: Resolved, chips: int) -> str:
    """Why a level of the cluster does not count; empty: the chips reach it."""
    reached = [level.name for level in resolved.cost.allocation(chips).levels]
    if name in reached:
        return ""
    return f"{chips:,} chips do not reach the level {name}; they use {', '.join(reached)}"


def _of_level(leaf: Leaf, resolved: Resolved, chips: int) -> str:
    name = leaf.path.split(".")[1] if leaf.path.startswith("levels.") else ""
    if not name:
        return f"it does not limit {chips:,} chips"
    if beyond := not_reached(name, resolved, chips):
        return beyond
    if leaf.path.endswith("nic_power"):
        return "it is part of the host power; use power.host"
    if leaf.path.endswith("energy"):
        return "the network draws its switch_power whatever it carries, and the chip the rest"
    if leaf.path.endswith("latency"):
        return "software takes longer, and the longer of the two counts"
    return _NOTHING


def _links(resolved: Resolved) -> str:
    cluster = resolved.cost.cluster
    inner = next((one.name for one in cluster.levels if one.kind == "scale-up"), None)
    use = f"; use levels.{inner}.bandwidth" if inner else ""
    return f"the levels of {cluster.record_name or cluster.name} set the links{use}"


def _formats(resolved: Resolved) -> str:
    return f"the job computes in {resolved.cost.job.precision}; precision chooses another format"


def _parts(resolved: Resolved) -> str:
    under = resolved.request.assumptions
    return f"under {under} neither the power of the chip nor its split rests on it"


def _on_chip(resolved: Resolved) -> str:
    return (
        f"under {resolved.request.assumptions} only the last shared memory (on_chip.sram, else "
        "on_chip.l2) counts, and for memory traffic alone"
    )


_OF_CHIP: dict[str, Callable[[Resolved], str]] = {
    "scale_up": _links,
    "peak": _formats,
    "pe.flop_per_clock": _formats,
    "energy": _parts,
    "on_chip": _on_chip,
    "host": lambda _: "nothing moves to the host without offload",
    "dvfs": lambda _: "the clock of the plans stays at its highest",
    "memory.type": lambda _: (
        "joules per byte are known of HBM2, HBM3 and GDDR6, and equal within a kind; use "
        "energy.memory"
    ),
    "die": lambda _: "silicon counts under max-area, and where pes are a decision",
    "devices": lambda _: "chips are planned whole",
    "power.host_liquid": lambda _: "the nodes are cooled by air; cooling chooses",
    "power.tdp": lambda _: (
        "power.busy is given and stays; leave it out, and the clock follows the rated power"
    ),
    "power": lambda _: "it is how unsure a power is, or limits nothing here",
}
