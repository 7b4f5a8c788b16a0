"""Slices of TPUs as GKE's node pools name them."""

from __future__ import annotations

from math import prod

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.frameworks.writing.launch import Launch

ACCELERATORS = {
    "tpu-v4": "tpu-v4-podslice",
    "tpu-v5e": "tpu-v5-lite-podslice",
    "tpu-v5p": "tpu-v5p-slice",
    "tpu-v6e": "tpu-v6e-slice",
}
"""Chip to the label cloud.google.com/gke-tpu-accelerator ("Plan TPUs in GKE")."""
HOST_CHIPS = 4
"""Of a machine of a slice of several hosts, whatever its generation (the same page)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """The slices of a launch.

    Attributes:
        count: How many there are.
        hosts: Machines of each.
        host_chips: Chips of each machine.
        labels: Of the nodes of their pools.
    """

    count: int
    hosts: int
    host_chips: int
    labels: dict[str, str]


def slices_of(launch: Launch) -> Slices:
    """The slices that a launch asks for.

    Raises:
        InputError: GKE has no pools of these chips, or the shape of the slice is not known.
    """
    chip, allocation = launch.cost.chip, launch.cost.allocation(launch.plan.chips)
    shape = allocation.levels[0].torus_dims
    if chip.name not in ACCELERATORS or not shape:
        known = ", ".join(ACCELERATORS)
        raise InputError(
            f"launcher: kubernetes asks GKE for slices of {known}; {chip.name} is none of them"
        )
    chips = prod(shape)
    host = min(chips, HOST_CHIPS)
    labels = {
        "cloud.google.com/gke-tpu-accelerator": ACCELERATORS[chip.name],
        "cloud.google.com/gke-tpu-topology": "x".join(map(str, shape)),
    }
    return Slices(count=allocation.slices, hosts=chips // host, host_chips=host, labels=labels)
