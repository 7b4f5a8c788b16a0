"""What publications print of networks: as bytes per second and chip, or as a kind of network.

A text between nodes is a rate (of a node, of a chip, or of so many links), or the name of a kind of
network, whose rate is then that of the cluster. A text inside a node names the kind of its links.
Anything else is refused, because a network that is not understood is not the cluster's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from hardware_db import Cluster, Level, load_calibration
from planner.base.errors import InputError
from planner.base.messages import did_you_mean, shown
from planner.base.numerals import beyond

EXAMPLES = ("8x NDR", "4x HDR", "4x 200 Gb/s", "400 Gb/s per GPU", "800 Gb/s per node",
            "InfiniBand", "Ethernet", "RoCE", "EFA", "DCN", "Omni-Path", "Slingshot")  # fmt: skip
INSIDE = {"NVLink": ("nvlink",), "NVSwitch": ("nvlink",), "PCIe": ("pcie",), "xGMI": ("xgmi",),
          "Infinity Fabric": ("xgmi",), "ICI": ("ici",), "NeuronLink": ("neuronlink",)}  # fmt: skip
"""Links inside a node, as printed, and the levels of the database that they are."""
_LEVELS = frozenset(level for levels in INSIDE.values() for level in levels)
_LINK_GB_PER_S = {"EDR": 100, "HDR": 200, "HDR100": 100, "HDR200": 200, "NDR": 400, "NDR200": 200,
                  "NDR400": 400, "XDR": 800, "XDR800": 800}  # fmt: skip
"""Gb/s of one port, InfiniBand Trade Association, InfiniBand roadmap."""
_KINDS = re.compile(
    r"infini|ethernet|\bGbE\b|gigabit|roce|\befa\b|\bdcn\b|omni-?path|slingshot|tcpx|rdma|"
    r"\b[EHNX]DR[0-9]*\b|connectx|bluefield",
    re.IGNORECASE,
)
_RATE = r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?) ?([GT])(b/s|bps|bit/s|B/s)"
_CHIP = re.compile(rf"{_RATE} ?(?:per|/) ?(?:GPU|chip|accelerator)", re.IGNORECASE)
_LINKS = re.compile(r"(?<![\w.])([0-9]{1,6}) ?x ?[^,;+(]*?\b([EHNX]DR[0-9]*)\b", re.IGNORECASE)
_PORTS = re.compile(rf"(?<![\w.])([0-9]{{1,6}}) ?x ?[^,;+(]*?{_RATE}", re.IGNORECASE)
_NODE = re.compile(rf"{_RATE} ?(?:per|/) ?(?:node|host|server)", re.IGNORECASE)
_PLAIN = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]+)?) ?([GT])(bps)\b", re.IGNORECASE)
_SOME_RATE = re.compile(r"[0-9] ?[GT](b|B|$|[^a-zA-Z])")
_COMPUTE = re.compile(r"^.*compute:", re.IGNORECASE | re.MULTILINE)
SHARED = {"efa": r"\befa\b", "tcpx": r"\btcpx\b"}
"""Networks between nodes that jobs share with others, as constants of NCCL call them, and words."""
_ANY_CASE = re.IGNORECASE
_OF_ONE_PORT = "of one port, whose number is not said"
_WITHOUT_RATE = {
    "100GbE InfiniBand": _OF_ONE_PORT,
    "200Gb InfiniBand (RSC) or RoCE": _OF_ONE_PORT,
    "400G RoCE (3-layer Clos)": _OF_ONE_PORT,
    "6 x BCM57508 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb/200Gb Ethernet, 2 x Ethernet": "of any",
    "EFA 800 (trn1) / 1600 (trn1n) Gbps per node; table lists both": "of two kinds of nodes",
    "Ethernet (slow, ~0.2 Gb/s bus bw measured)": "of a collective, not of the wire",
    "InfiniBand; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s": "of PCIe",
    "ROCE2; Data bandwidth for GPU-PCIe: 504 GB/s; PCIe-NIC: 500 GB/s": "of PCIe",
}
"""Published texts whose figures are not the rate of a node's network, and what they are."""


def with_networks(
    cluster: Cluster,
    row: Mapping[str, str],
    filled: dict[str, str],
    *,
    node: int,
    assume: bool,
) -> Cluster:
    """A cluster with the network that a row prints; what the text leaves open is noted.

    Args:
        cluster: That of the row's chip.
        row: Columns `inter_node_net` and `intra_node_net`.
        filled: Takes what was assumed.
        node: Chips per node.
        assume: Take the cluster's own network for a text that is not understood.

    Raises:
        InputError: A text is not understood, or contradicts the hardware.
    """
    outer, own = row["inter_node_net"], f"that of {cluster.name}"
    faults: list[str] = []
    if wrong := _inside_fault(row.get("intra_node_net", ""), cluster):
        faults.append(f"intra_node_net: {wrong}")
        filled["intra_node_net"] = f"{own}; {shown(row['intra_node_net'])} is not its kind of links"
    per_chip = network_bytes_per_s(outer, node)
    if per_chip is None:
        if wrong := between_fault(outer):
            faults.append(f"inter_node_net: {wrong}")
            filled["network"] = f"{own}; {shown(outer)} is not understood"
        else:
            filled["network"] = f"{own}; {shown(outer)} gives no rate" if outer else own
    if faults and not assume:
        raise InputError("\n".join(faults))
    return cluster if per_chip is None else _with_rate(cluster, per_chip)


def beside_others(cluster: Cluster, text: str) -> Cluster:
    """A cluster whose network between nodes carries others' traffic, as clouds' Ethernet does.

    What is left to a job is the bandwidth that NCCL reached there over what it reached of
    InfiniBand (`efficiency` of the constants `nccl`, fitted to nccl-tests). RoCE showed no loss.

    Args:
        cluster: That of a row's chip, of NVIDIA; others run other libraries.
        text: As printed; kinds that are not of `SHARED` change nothing.
    """
    kind = next((name for name, words in SHARED.items() if re.search(words, text, _ANY_CASE)), "")
    if not kind or cluster.chip.vendor != "NVIDIA":
        return cluster
    numbers = load_calibration("nccl")
    left = numbers.value(f"efficiency.{kind}") / numbers.value("efficiency.infiniband")
    return _with_share(cluster, left)


@cache
def _with_share(cluster: Cluster, left: float) -> Cluster:
    """A cluster with a share of its network between nodes."""
    levels = [
        replace(level, oversubscription=level.oversubscription / left)
        if level.kind == "scale-out"
        else level
        for level in cluster.levels
    ]
    return replace(cluster, levels=tuple(levels))


@cache
def _with_rate(cluster: Cluster, per_chip: float) -> Cluster:
    """A cluster whose chips reach other nodes at a rate, bytes per second."""

    def changed(level: Level) -> Level:
        if level.kind != "scale-out":
            return level
        return replace(level, bandwidth_bytes_per_s=per_chip, peer_bandwidth_bytes_per_s=per_chip)

    return replace(cluster, levels=tuple(map(changed, cluster.levels)))


@cache
def network_bytes_per_s(text: str, node: int) -> float | None:
    """Bytes per second and chip that a printed network between nodes gives; None: no rate.

    Args:
        text: As printed: a rate per chip or per node, so many links of a generation of InfiniBand,
            or so many of a rate; a rate in "Gbps" alone is that of a node. The first one counts.
        node: Chips per node.
    """
    if text in _WITHOUT_RATE:
        return None
    rate = _rate_in(_COMPUTE.sub("", text), node)
    return None if rate is None or beyond(rate) else rate


def _rate_in(said: str, node: int) -> float | None:
    """The first rate of a text, whatever its size."""
    if found := _CHIP.search(said):
        return _bytes_per_s(*found.groups())
    if (found := _LINKS.search(said)) and (link := _LINK_GB_PER_S.get(found[2].upper())):
        return int(found[1]) * link * 1e9 / 8 / node
    rates = [found for rule in (_PORTS, _NODE, _PLAIN) if (found := rule.search(said))]
    if not rates:
        return None
    first = min(rates, key=re.Match.start)
    ports = int(first[1]) if first.re is _PORTS else 1
    return ports * _bytes_per_s(*first.groups()[-3:]) / node


def _bytes_per_s(number: str, prefix: str, unit: str) -> float:
    return float(number) * {"G": 1e9, "T": 1e12}[prefix.upper()] / (1 if unit == "B/s" else 8)


@cache
def between_fault(text: str) -> str:
    """Why a text without a rate is not understood either; empty: it is."""
    if not text or text in _WITHOUT_RATE:
        return ""
    if not _KINDS.search(text):
        near = did_you_mean(text, EXAMPLES)
        return f"{shown(text)} is not understood{near}; {_FORMS}"
    if _SOME_RATE.search(text) and not _COMPUTE.search(text):
        return f"{shown(text)}: its rate is not understood; {_FORMS}"
    return ""


_FORMS = (
    "write a rate as in '8x NDR', '4x 200 Gb/s', '400 Gb/s per GPU', '800 Gb/s per node', or a "
    "kind: InfiniBand, Ethernet, RoCE, EFA, DCN, Omni-Path, Slingshot (--assume-network: the "
    "cluster's own)"
)


@cache
def _levels_named(text: str) -> frozenset[str]:
    """Levels of the database that a text about links inside a node names."""
    said = text.lower()
    return frozenset(
        level for word, levels in INSIDE.items() if word.lower() in said for level in levels
    )


def _inside_fault(text: str, cluster: Cluster) -> str:
    """Why a text about links inside a node is not understood or not those of a cluster."""
    if not text:
        return ""
    named = _levels_named(text)
    if not named:
        return (
            f"{shown(text)} is not understood{did_you_mean(text, INSIDE)}; name one of "
            f"{', '.join(INSIDE)} (--assume-network: the cluster's own)"
        )
    own = {level.name for level in cluster.levels if level.kind == "scale-up"}
    known = own & _LEVELS
    if known and not named & known:
        return (
            f"{shown(text)} is not what joins the chips of {cluster.name}, {' and '.join(known)} "
            "(--assume-network: the cluster's own)"
        )
    return ""
