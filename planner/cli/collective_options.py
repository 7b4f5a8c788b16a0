"""Flags that the commands of `planner collective` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from planner.cli.options import option

MACHINE = "Machine"
QUESTION = "Question"
FEW_SHARED = {
    "topology": "dgx-1, nvl72, ring:8, torus:4x4x4, ...",
    "graph": "A wiring of your own, from a file of links.",
    "bandwidth": "Of a link in each direction, e.g. 25GB/s.",
    "collective": "allgather, allreduce, alltoall, ...",
    "sizes": "Bytes: 64MB, 1KB,1MB or 1KB..1GB by doubling.",
}
"""What the short `--help` of each command says of some of them."""

Topology = Annotated[
    str | None,
    option(
        "dgx-1 (dgx-1:nodes=2 for two of them), gigabyte-z52, nvl72, ring:8, linear:4, "
        "torus:4x4x4, mesh:4x4, hypercube:16, hyperx:4x4, fully-connected:8, star:8, switch:16, "
        "leaf-spine:chips=16,leaf=4,spines=4, fat-tree:k=4 or dragonfly:a=4,h=2,p=2.",
        MACHINE,
    ),
]
Graph = Annotated[
    Path | None,
    option(
        "A wiring of your own: .yaml, .json (node-link), .graphml, .edgelist or .adjlist; "
        "directed edges carry one way.",
        MACHINE,
    ),
]
Lanes = Annotated[str | None, option("Parallel links in place of each one (default: 1).", MACHINE)]
Bandwidth = Annotated[
    str | None,
    option(
        "Of a link in each direction, e.g. 25GB/s (default: the graph's, the system's, else that "
        "of an NVLink of V100).",
        MACHINE,
    ),
]
Latency = Annotated[
    str | None,
    option("Of a message on each link, e.g. 700ns (default: the graph's, else 700ns).", MACHINE),
]
Start = Annotated[
    str | None, option("Of starting a collective at all, e.g. 6us (default: 0).", MACHINE)
]
Numbering = Annotated[
    str | None,
    option("Chips of a DGX-1 as sccl or nvidia-smi numbers them (default: sccl).", MACHINE),
]
Collective = Annotated[
    str | None,
    option(
        "allgather, reduce-scatter, allreduce, broadcast, reduce, gather, scatter or alltoall "
        "(default: allgather).",
        QUESTION,
    ),
]
Root = Annotated[
    str | None,
    option("Chip of a broadcast, reduce, gather or scatter (default: the first).", QUESTION),
]
Chunks = Annotated[str | None, option("C: pieces that the buffer is cut into.", QUESTION)]
Steps = Annotated[str | None, option("S: steps of the schedule.", QUESTION)]
MaxChunks = Annotated[
    str | None,
    option(
        "The most chunks that are tried, of an all-reduce in each half per chip (default: 32, and "
        "more where the least rounds per chunk need them and they are not too many; in phases and "
        "along trees up to 64 pieces).",
        QUESTION,
    ),
]
Method = Annotated[
    str | None,
    option(
        "search, phases (over groups of chips) or trees (packed into the links) (default: search, "
        "and where it proves no least R / C the better of what applies).",
        QUESTION,
    ),
]
TimeLimit = Annotated[
    str | None, option("When the search ends, e.g. 10s (default: 60s).", QUESTION)
]
Sizes = Annotated[
    str | None,
    option("Bytes: 64MB, 1KB,1MB or 1KB..1GB by doubling (default: 1KB..1GB).", QUESTION),
]
