"""What a plan was predicted with, and no framework runs, whatever the target."""

from __future__ import annotations

from planner.assumptions.assumptions import PRESETS
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch
from planner.network.domains import link_words

_MSCCL = ("NVIDIA", "AMD")
"""Vendors whose collective library runs schedules of MSCCL."""


def lost_prediction(launch: Launch) -> tuple[Lost, ...]:
    """Collectives, links, chips and constants that the run will not have, one line each."""
    found = (
        ("assumptions", _assumptions(launch)),
        ("seq_len", _shares(launch)),
        ("lengths", _lengths(launch)),
        ("collectives", _collectives(launch)),
        ("degrade_link", _slow_links(launch)),
        ("hardware" if launch.cost.cluster.changed else "topology", _wiring(launch)),
        ("hardware" if launch.cost.chip.changed else "pes", _chips(launch)),
        ("hardware", _devices(launch)),
        ("torus_axes", _torus_axes(launch)),
    )
    return tuple(Lost(field, reason) for field, reason in found if reason)


def _assumptions(launch: Launch) -> str:
    """Constants that are neither the shipped ones nor measured on the user's machine."""
    constants = launch.cost.assumptions
    if constants.are_fitted and (constants.name == PRESETS[0] or constants.local_runs):
        return ""
    return (
        f"predicted under {constants.name}; planner evaluate --assumptions {PRESETS[0]} predicts "
        "from published runs"
    )


def _shares(launch: Launch) -> str:
    """Where chips share a step's tokens evenly, a sequence is the share of one of them."""
    if not launch.cost.assumptions.token_granularity:
        return ""
    return (
        f"{launch.cost.assumptions.name} shares the tokens of a step out evenly: written are "
        f"{launch.global_batch} sequences of {launch.seq_len} tokens, one for each chip"
    )


def _lengths(launch: Launch) -> str:
    """Where documents end is a matter of the data."""
    if not launch.cost.job.lengths:
        return ""
    return (
        "predicted with attention inside of documents, or over a warm-up: the data set has to pack "
        "them, and attention to end with them"
    )


def _collectives(launch: Launch) -> str:
    if launch.cost.assumptions.collectives == "nccl" or launch.plan.chips == 1:
        return ""
    line = "predicted with schedules made for the machine; the run has those of its library"
    if launch.cost.chip.vendor not in _MSCCL:
        return line
    return f"{line} (planner collective export writes MSCCL files)"


def _slow_links(launch: Launch) -> str:
    """Degraded links between chips that the plan uses."""
    links = [
        f"{level.name}:{link_words(u, v)}={share:g}"
        for level in launch.cost.cluster.levels
        for u, v, share in level.degraded
        if max(u, v) < launch.plan.chips
    ]
    if not links:
        return ""
    return f"predicted with the slow links {', '.join(links)}; the run has those of its machine"


def _wiring(launch: Launch) -> str:
    cluster = launch.cost.cluster
    if cluster.record_name is None and not cluster.changed:
        return ""
    return f"predicted for {cluster.name}, which is no machine that can be had"


def _chips(launch: Launch) -> str:
    chip = launch.cost.chip
    if chip.record_pe_count is None and not chip.changed:
        return ""
    return f"predicted for {chip.name}, which is no chip that can be had"


def _devices(launch: Launch) -> str:
    """Devices of the chips that no rank of the plan is on."""
    chip, chips = launch.cost.chip, launch.plan.chips
    if chip.devices == 1:
        return ""
    return (
        f"predicted with whole chips, each {chip.devices} devices: the {chips:,} ranks take "
        f"{chips:,} of the {chips * chip.devices:,} devices, the others of every {chip.title} idle"
    )


def _torus_axes(launch: Launch) -> str:
    given = ", ".join(f"{axis} on {count:g}" for axis, count in launch.cost.torus_axes.items())
    if not given:
        return ""
    return f"predicted with {given} axes of the torus; the run lays axes out by their placement"
