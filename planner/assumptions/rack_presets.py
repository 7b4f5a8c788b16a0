"""The simplifications of two studies of racks, as presets of the one cost model.

Both count energy by component only: operations and bytes times the joules of one, with no
standing power, and nothing beside the matrix multiplications, attention and messages takes time.
"""

from __future__ import annotations

from dataclasses import replace

from hardware_db import Chip
from planner.assumptions.assumptions import Assumptions, last_level_bytes
from planner.assumptions.number_formats import operand_bytes


def rack_energy(chip: Chip, precision: str = "bf16") -> Assumptions:
    """The report on energy and latency: one thing after the other, rings on the slowest link.

    Chips compute at their peak; nothing hides anything, pipelines have no bubble and messages no
    latency. A ring of g members moves (g-1)/g of its buffer at the rate at which one chip sends on
    the slowest level that it crosses: with all its links to a switch, with the links of the ring
    where chips are wired directly (both ways round a closed ring, half of the buffer each; one way
    from chip to chip of a line, whose ends have one neighbour). Groups side by side share direct
    links. An all-gather along a line needs no way back: every byte passes every link once, as on
    a ring. Activations and weights travel at 16 bits, gradients at 32; scores are computed whole,
    not the causal half.

    Args:
        chip: The chip.
        precision: One of `PRECISIONS`.

    Raises:
        InputError: The chip has no peak rate at that precision.

    Source: Lu, Hu and Zhu, Investigating the Energy and Latency Tradeoff in Rack Scale Computing
    (student report).
    """
    return replace(
        _plain(chip, precision),
        name="rack-energy",
        slowest_link=True,
        perfect_overlap=False,
        gradient_wire_bytes=4.0,
        zero3_overlap=0.0,
        dp_overlap=0.0,
        dp_window=0.0,
        p2p_exposed=1.0,
        hides_gather=False,
    )


def rack_zero(chip: Chip, precision: str = "bf16") -> Assumptions:
    """The report on ZeRO in racks: weights fetched over average hops, behind computing or not.

    A pass lasts as long as the longest of computing and fetching. Traffic is uniform: a byte
    takes the average hops of its group's topology, each of which occupies the rate of one chip
    and costs the energy of one hop. Gradients do not travel.

    Args:
        chip: The chip.
        precision: One of `PRECISIONS`.

    Raises:
        InputError: The chip has no peak rate at that precision.

    Source: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms (student
    report), with its bandwidth read as that of each GPU (docs/model/within-chip.md).
    """
    return replace(
        _plain(chip, precision), name="rack-zero", uniform_traffic=True, gradient_wire_bytes=0.0
    )


def _plain(chip: Chip, precision: str) -> Assumptions:
    """The whole model at peak rates: `roofline` without what it says of MLPs and volumes."""
    return replace(
        Assumptions.roofline(chip, precision),
        mlp_blocks=False,
        token_granularity=False,
        asymptotic_volume=False,
        component_energy=True,
        operand_bytes=operand_bytes(precision),
        on_chip_bytes=last_level_bytes(chip),
        attention_half_head_dim=0.0,
        causal_share=1.0,
        cp_overlap=0.0,
        cp_least_exposed=1.0,
        host_link_overlap=0.0,
    )
