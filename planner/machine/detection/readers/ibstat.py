"""`ibstat`: ports of InfiniBand and RoCE devices, with their rates.

Source: rdma-core, https://github.com/linux-rdma/rdma-core/blob/master/infiniband-diags/ibstat.c
(rates in Gb/s, as the driver states them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planner.machine.detection.seen import Nic, Output, Seen

TOOL = "ibstat"
_DEVICE = re.compile(r"^CA '([^']+)'")
_PAIR = re.compile(r"^\s+(State|Rate|Link layer): (\S+)")
_GIGABITS_PER_S = 1e9 / 8


def recognises(text: str) -> bool:
    """Whether a text lists devices."""
    return re.search(_DEVICE.pattern, text, re.MULTILINE) is not None


def read(output: Output) -> Seen:
    """Devices with an active port; the rate of one is that of its active ports together.

    Raises:
        InputError: No port is active, or none that is states its rate.
    """
    nics: dict[str, Nic] = {}
    for name, at, port in _ports(output):
        if port.get("State") != "Active" or not re.fullmatch(r"[1-9][0-9]*", port.get("Rate", "")):
            continue
        before = nics[name].rate if name in nics else None
        own = output.number(port["Rate"], at, "Rate") * _GIGABITS_PER_S
        rate = own + (before.value if before else 0.0)
        nics[name] = Nic(
            name=name, rate=output.fact(rate, at), ethernet=port.get("Link layer") == "Ethernet"
        )
    if not nics:
        active = any(port.get("State") == "Active" for _, _, port in _ports(output))
        what = "active port states a rate in Gb/s" if active else "port of any device is active"
        raise output.mistake(0, f"no {what}")
    return Seen(tool=TOOL, output=output.name, nics=tuple(nics.values()))


def _ports(output: Output) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Device, line of the rate and fields of each port."""
    name, at, port = "", 0, dict[str, str]()
    for line_at, line in enumerate(output.lines()):
        device, pair = _DEVICE.match(line), _PAIR.match(line)
        if (device or re.match(r"^\s+Port [0-9]+:", line)) and port:
            yield name, at, port
            port = {}
        if device:
            name = device[1]
        elif pair:
            port[pair[1]] = pair[2]
            at = line_at if pair[1] == "Rate" else at
    if port:
        yield name, at, port
