"""`rocm-smi` with `--showtopo`, `--showproductname` and `--showmeminfo vram`, together or apart.

Links are told apart by type, not counted. A device is a GCD, of which MI250X has two.

Source: manual of rocm-smi,
https://rocm.docs.amd.com/projects/rocm_smi_lib/en/latest/how-to/use-python.html.
"""

from __future__ import annotations

import re

from planner.machine.detection.seen import Fact, Output, Seen, Wiring, one_kind

TOOL = "rocm-smi"
FLAGS = ("--showproductname", "--showmeminfo", "vram", "--showtopo")
"""What is asked of the devices of this node."""

_TYPES = re.compile(r"^=* *Link Type between two GPUs", re.MULTILINE)
_SERIES = re.compile(r"^\s*GPU\[([0-9]+)\]\s*: Card [Ss]eries:\s*+(\S.*)$")
_MEMORY = re.compile(r"^\s*GPU\[([0-9]+)\]\s*: VRAM Total Memory \(B\):\s*([0-9]+)\s*$")
_ROW = re.compile(r"^\s*GPU([0-9]+)\s++((?:(?:0|XGMI|PCIE|N/A)\s*+)+)$")


def recognises(text: str) -> bool:
    """Whether a text is of `rocm-smi`."""
    return "ROCm System Management Interface" in text or _TYPES.search(text) is not None


def read(output: Output) -> Seen:
    """What it says.

    Raises:
        InputError: It says nothing of what is read here, or has devices of different kinds.
    """
    names: list[Fact[str]] = []
    sizes: list[Fact[float]] = []
    for at, line in enumerate(output.lines()):
        if (found := _SERIES.match(line.rstrip())) and found[2] != "N/A":
            names.append(output.fact(found[2], at))
        elif found := _MEMORY.match(line):
            sizes.append(output.fact(output.number(found[2], at, "VRAM Total Memory"), at))
    wiring = _wiring(output)
    if not names and not sizes and wiring is None:
        raise output.mistake(0, f"nothing that is read here; run rocm-smi {' '.join(FLAGS)}")
    counts = [output.fact(len(rows), rows[0].line - 1) for rows in (names, sizes) if rows]
    return Seen(
        tool=TOOL, output=output.name, chip=one_kind(output, names),
        memory=sizes[0] if sizes else None,
        devices=wiring.shown if wiring else counts[0], wiring=wiring,
    )  # fmt: skip


def _wiring(output: Output) -> Wiring | None:
    """The matrix of link types.

    Raises:
        InputError: It is not square.
    """
    lines = output.lines()
    head = next((at for at, line in enumerate(lines) if _TYPES.match(line)), None)
    if head is None:
        return None
    rows: list[list[str]] = []
    first = head
    for at, line in enumerate(lines[head + 1 :], start=head + 1):
        row = _ROW.match(line)
        if row:
            first = first if rows else at
            rows.append(row[2].split())
        elif rows:
            break
    if not rows or any(len(row) != len(rows) for row in rows):
        raise output.mistake(head, "the matrix of link types is cut off")
    links = tuple(tuple(int(cell == "XGMI") for cell in row) for row in rows)
    return Wiring(medium="xGMI", links=links, counted=False, shown=output.fact(len(rows), first))
