"""The slices of a launch of MaxText: how many, and of how many devices."""

from __future__ import annotations

import re
from math import prod

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.numerals import is_digits
from planner.frameworks.reading.settings import NODE, LaunchSettings

_KINDS = {"v4": 2, "v5p": 2, "v5e": 1, "v5litepod": 1, "v6e": 1, "tpu7x": 2}
"""What the number behind a slice's name counts for a chip; shapes as 4x4x4 count chips."""
_DEVICES = {"tpu7x": 2}
"""Devices that JAX shows for a chip, where not one."""
_NAME = rf"(?P<kind>{'|'.join(_KINDS)})-(?P<size>[0-9]{{1,6}}(?:x[0-9]{{1,3}}){{0,2}})"
_STARTED = re.compile(
    rf"(?:device[-_]type|tpu[-_]type|compile_topology|TOPOLOGY)\s*=\s*[\"']?{_NAME}"
)
_ANYWHERE = re.compile(rf"(?<![\w-]){_NAME}(?![\w-]*/)")
_COUNT = re.compile(r"(?:num[-_]slices|TOPOLOGY_NUM_SLICES)\s*=\s*[\"']?([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """What a launch starts on.

    Attributes:
        count: Slices, or nodes of GPUs.
        devices: Devices of JAX in one.
        per_chip: Devices that are one chip.
    """

    count: int
    devices: int
    per_chip: int = 1


def slices_in(text: str, name: str, launch: LaunchSettings) -> Slices:
    """The slices of a launch: those that are named, else as many as its axes say.

    Raises:
        InputError: Neither says them, and nothing is to be assumed.
    """
    match = _STARTED.search(text) or _ANYWHERE.search(text) or _ANYWHERE.search(name)
    kind = match["kind"] if match else ""
    per_chip = _DEVICES.get(kind, 1)
    count = int(found[1]) if (found := _COUNT.search(text)) else 1
    if launch.asked.chips is not None:
        across = _known(launch, "dcn") or count
        return Slices(
            count=across, devices=launch.asked.chips * per_chip // across, per_chip=per_chip
        )
    if match:
        shape = [int(size) for size in match["size"].split("x")]
        chips = prod(shape) if len(shape) > 1 else max(1, shape[0] // _KINDS[kind])
        if not _STARTED.search(text):
            launch.assume("chips", chips * count, f"{count} x {match[0].strip()} by a remark")
        return Slices(count=count, devices=chips * per_chip, per_chip=per_chip)
    inside, across = _known(launch, "ici"), _known(launch, "dcn") or 1
    if inside is None and launch.asked.assumes:
        inside = _least(launch)
        launch.assume(
            "chips", inside * across, "not said; the fewest that its axes and a node allow"
        )
    if inside is None:
        raise InputError(f"{name}: does not say on how many chips it runs; give --chips")
    return Slices(count=across, devices=inside)


def _sizes(launch: LaunchSettings, kind: str) -> list[int] | None:
    """Sizes of the axes that are given; None where one of them is open, or says nothing."""
    found = [values for name, values in launch.values.items() if name.startswith(f"{kind}_")]
    if not all(values and is_digits(values[-1]) for values in found):
        return None
    return [int(values[-1][:9]) for values in found]


def _known(launch: LaunchSettings, kind: str) -> int | None:
    """The product of the axes; None where an axis is left open, which inside a slice one is."""
    sizes = _sizes(launch, kind)
    free = "ici_fsdp_parallelism" if kind == "ici" else "dcn_data_parallelism"
    if sizes is None or (kind == "ici" and free not in launch.values):
        return None
    return prod(sizes)


def _least(launch: LaunchSettings) -> int:
    """The fewest devices that hold the axes with a size, and a node."""
    found = [
        int(values[-1][:9])
        for name, values in launch.values.items()
        if name.startswith("ici_") and values and is_digits(values[-1])
    ]
    product = prod(size for size in found if size)
    return max(NODE, product)
