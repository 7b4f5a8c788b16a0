"""`nvidia-smi topo -m`: links between GPUs, and which network devices are near them.

Source: manual of nvidia-smi, https://docs.nvidia.com/deploy/nvidia-smi/index.html, and the legend
that it prints: NV# (bonded NVLinks), PIX and PXB (PCIe switches alone), PHB, NODE, SYS (beyond).
"""

from __future__ import annotations

import re

from planner.machine.detection.seen import Nic, Output, Seen, Wiring

TOOL = "nvidia-smi topo -m"
_BLANKS = r"[^\S\n]"  # of one line
_HEADER = re.compile(
    rf"^{_BLANKS}*+GPU0{_BLANKS}++(?!X\s)\S.*(Affinity|GPU[0-9]|NIC[0-9])", re.MULTILINE
)
_FIRST_ROW = re.compile(rf"^{_BLANKS}*+GPU0{_BLANKS}++X(\s|$)", re.MULTILINE)
_LEGEND = re.compile(rf"^{_BLANKS}*+(NIC[0-9]++):{_BLANKS}*+(\S++){_BLANKS}*+$", re.MULTILINE)
_NEAR = ("PIX", "PXB")
_FAR = ("PHB", "NODE", "SYS", "SOC")


def recognises(text: str) -> bool:
    """Whether a text has the matrix."""
    return bool(_HEADER.search(text) and _FIRST_ROW.search(text))


def read(output: Output) -> Seen:
    """What the matrix says.

    Raises:
        InputError: A row is cut off or has a cell that is not in the legend.
    """
    lines = output.lines()
    head = next(at for at, line in enumerate(lines) if _HEADER.match(line))
    columns = lines[head].split(" CPU")[0].split("\tCPU")[0].split()
    gpus = [at for at, name in enumerate(columns) if re.fullmatch(r"GPU[0-9]+", name)]
    rows: list[list[str]] = []
    for at, line in enumerate(lines[head + 1 :], start=head + 1):
        if re.match(rf"\s*GPU{len(rows)}\s", line) and len(rows) < len(gpus):
            rows.append(_cells(output, at, len(columns)))
    first = next(at for at, line in enumerate(lines) if _FIRST_ROW.match(line))
    if len(rows) < len(gpus):
        raise output.mistake(head, f"{len(gpus)} GPUs, but rows of only {len(rows)} follow")
    shown = output.fact(len(gpus), first)
    links = tuple(tuple(_links(output, first, row[at]) for at in gpus) for row in rows)
    wiring = Wiring(medium="NVLink", links=links, shown=shown)
    return Seen(
        tool=TOOL, output=output.name, devices=shown, wiring=wiring,
        nics=_nics(output.text, columns, rows),
    )  # fmt: skip


def _cells(output: Output, at: int, count: int) -> list[str]:
    cells = output.lines()[at].split()[1 : 1 + count]
    odd = [cell for cell in cells if not re.fullmatch(r"X|NV[0-9]+", cell)]
    wrong = next((cell for cell in odd if cell not in (*_NEAR, *_FAR)), None)
    if wrong is not None or len(cells) < count:
        what = f"{wrong!r} is not a cell" if wrong else f"{len(cells)} cells of {count}"
        allowed = ", ".join((*_NEAR, *_FAR))
        raise output.mistake(at, f"{what} of the matrix; allowed are X, NV and a number, {allowed}")
    return cells


def _links(output: Output, line: int, cell: str) -> int:
    return int(output.number(cell[2:], line, "NV")) if cell.startswith("NV") else 0


def _nics(text: str, columns: list[str], rows: list[list[str]]) -> tuple[Nic, ...] | None:
    """The network devices of the columns, by the names of the legend; None: there are none."""
    names = dict(_LEGEND.findall(text))
    found = [
        Nic(name=names.get(column, column), near=any(row[at] in _NEAR for row in rows))
        for at, column in enumerate(columns)
        if not re.fullmatch(r"GPU[0-9]+", column)
    ]
    return tuple(found) or None
