"""The topology that NCCL and RCCL write to `NCCL_TOPO_DUMP_FILE`: GPUs, their links, networks.

Source: NCCL, https://github.com/NVIDIA/nccl/blob/master/src/graph/xml.cc (elements and attributes;
speed of `net` in Mb/s, `link_speed` in GT/s), and NCCL's manual of that variable,
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import permutations
from xml.parsers import expat

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.machine.detection.seen import (
    Fact,
    Nic,
    Output,
    Seen,
    Wiring,
    pcie_bytes_per_s,
)

TOOL = "NCCL_TOPO_DUMP_FILE"
_LINKS = {"nvlink": "NVLink", "xgmi": "xGMI"}
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
_MEGABITS_PER_S = 1e6 / 8
_MOST_GPUS = 1024
"""Of one node; the links of more would take memory by their square."""
_COMMENT = r"<!--[^-]*+(?:-(?!->)[^-]*+)*-->"
_START = re.compile(rf"\ufeff?\s*+(?:<\?xml[^>]*+>\s*+)?(?:{_COMMENT}\s*+)*<system[\s>]")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Element:
    """An element with what is around it.

    Attributes:
        tag, fields, line: Its name, attributes and line, from 0.
        host: Fingerprint of the node that it is of; empty: the file has one node.
        bus: Of the PCIe device that it is of, lower case.
    """

    tag: str
    fields: dict[str, str]
    line: int
    host: str
    bus: str


def recognises(text: str) -> bool:
    """Whether a text is such a file."""
    return _START.match(text) is not None


def read(output: Output) -> Seen:
    """What the file says of its first node.

    Raises:
        InputError: It is no XML, an attribute is no number, or it has too many GPUs.
    """
    elements = _elements(output)
    hosts = [element.host for element in elements if element.tag == "gpu"]
    elements = [element for element in elements if element.host in ("", *hosts[:1])]
    gpus = [element for element in elements if element.tag == "gpu"]
    if len(gpus) > _MOST_GPUS:
        most = f"a node of {len(gpus):,} GPUs; at most {_MOST_GPUS:,} are read"
        raise output.mistake(gpus[_MOST_GPUS].line, most)
    devices = [
        element
        for element in elements
        if element.tag == "pci" and element.fields.get("class", "").startswith(_GPU_CLASSES)
    ]
    shown = gpus or devices
    nets = [element for element in elements if element.tag == "net"]
    return Seen(
        tool=TOOL, output=output.name,
        devices=output.fact(len(shown), shown[0].line) if shown else None,
        pcie=_pcie(output, devices), wiring=_wiring(output, gpus, elements),
        nics=_nics(output, nets) if nets else None,
    )  # fmt: skip


def _elements(output: Output) -> list[_Element]:
    """All elements in their order; the text has no document type, and so no entities that grow.

    Raises:
        InputError: The text is no XML.
    """
    found: list[_Element] = []
    around: list[tuple[str, str]] = [("", "")]
    parser = expat.ParserCreate()

    def start(tag: str, fields: dict[str, str]) -> None:
        host, bus = around[-1]
        host = fields.get("host_hash", host) if tag == "cpu" else host
        bus = fields.get("busid", bus).lower() if tag == "pci" else bus
        around.append((host, bus))
        line = parser.CurrentLineNumber - 1
        found.append(_Element(tag=tag, fields=fields, line=line, host=host, bus=bus))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: around.pop() and None
    try:
        parser.Parse(output.text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{output.name}: line {error.lineno}: not valid XML: {reason}") from error
    return found


def _number(output: Output, element: _Element, name: str) -> float:
    """An attribute as a number.

    Raises:
        InputError: It is missing, or none.
    """
    text = element.fields.get(name)
    if text is None:
        raise output.mistake(element.line, f"{name} of <{element.tag}> is missing, not a number")
    number = text.partition(" GT/s")[0]
    return output.number(number, element.line, f"{name} of <{element.tag}>")


def _pcie(output: Output, devices: list[_Element]) -> Fact[float] | None:
    """The rate of the first device whose link is stated; virtual machines state a width of 0."""
    for device in devices:
        if (
            not {"link_speed", "link_width"} <= set(device.fields)
            or not device.fields["link_speed"]
        ):
            continue
        speed, width = (_number(output, device, name) for name in ("link_speed", "link_width"))
        if speed and width:
            return output.fact(pcie_bytes_per_s(speed * 1e9, int(width)), device.line)
    return None


def _wiring(output: Output, gpus: list[_Element], elements: list[_Element]) -> Wiring | None:
    """Links between GPUs; those that end at what is no GPU end at a switch.

    Some virtual machines state that links end where they begin: then nothing is known of them.
    """
    links = [element for element in elements if element.tag in _LINKS]
    if not gpus or any(link.fields.get("target", "").lower() == link.bus for link in links):
        return None
    place = {gpu.bus: at for at, gpu in enumerate(gpus)}
    matrix = [[0] * len(gpus) for _ in gpus]
    switched: dict[int, int] = defaultdict(int)
    for link in links:
        count, one = int(_number(output, link, "count")), place.get(link.bus)
        other = place.get(link.fields.get("target", "").lower())
        if one is None:
            continue
        if other is None:
            switched[one] += count
        else:
            matrix[one][other] += count
    for (one, count), (other, others) in permutations(switched.items(), 2):
        matrix[one][other] += min(count, others)
    medium = _LINKS[links[0].tag] if links else "NVLink"
    shown = output.fact(len(gpus), links[0].line if links else gpus[0].line)
    return Wiring(
        medium=medium, links=tuple(map(tuple, matrix)), switched=bool(switched), shown=shown
    )


def _nics(output: Output, nets: list[_Element]) -> tuple[Nic, ...]:
    """Networks by name; of those that GPUs can reach directly, where there are any, those alone."""
    direct = [net for net in nets if net.fields.get("gdr") == "1"] or nets
    ports = {(net.fields.get("name", ""), net.fields.get("port", "")): net for net in direct}
    rates: dict[str, Fact[float]] = {}
    for (name, _), net in ports.items():
        before = rates[name].value if name in rates else 0.0
        rate = _number(output, net, "speed") * _MEGABITS_PER_S
        if not rate:
            raise output.mistake(net.line, f"speed of <net> {name} is 0, not a rate in Mb/s")
        rates[name] = output.fact(before + rate, net.line)
    return tuple(Nic(name=name, rate=rate) for name, rate in rates.items())
