"""`nvidia-smi -q` and `nvidia-smi --query-gpu=... --format=csv`: name, memory, PCIe link.

Source: manual of nvidia-smi, https://docs.nvidia.com/deploy/nvidia-smi/index.html.
"""

from __future__ import annotations

import re

from planner.machine.detection.seen import Fact, Output, Seen, one_kind, pcie_bytes_per_s

TOOL = "nvidia-smi -q"
CSV_TOOL = "nvidia-smi --query-gpu"
QUERY = "index,name,memory.total,pcie.link.gen.max,pcie.link.width.max"
"""What is asked of the GPUs of this node."""

_TRANSFERS_PER_S = {1: 2.5e9, 2: 5e9, 3: 8e9, 4: 16e9, 5: 32e9, 6: 64e9}
_NAMED = re.compile(r"^[^\S\n]++Product Name[^\S\n]++: \S", re.MULTILINE)
_NEEDED = "name"


def recognises(text: str) -> bool:
    """Whether a text is the long list of `-q`."""
    return _NAMED.search(text) is not None


def read(output: Output) -> Seen:
    """What the long list says.

    Raises:
        InputError: It lists GPUs of different kinds.
    """
    names: list[Fact[str]] = []
    numbers: dict[str, Fact[float]] = {}
    count: Fact[int] | None = None
    section = ""
    for at, line in enumerate(output.lines()):
        key, colon, value = map(str.strip, line.partition(" : "))
        if not key or not colon:
            section = line.strip()
            continue
        digits = re.match(r"[0-9]+", value)
        if key == "Product Name":
            names.append(output.fact(value, at))
        elif digits and key == "Attached GPUs":
            count = output.fact(_some(output, digits[0], at, key), at)
        elif digits and (section, key) in _NUMBERS:
            number = output.number(digits[0], at, key)
            numbers.setdefault(section, output.fact(number, at))
    return Seen(
        tool=TOOL, output=output.name, chip=one_kind(output, names),
        devices=count or output.fact(len(names), names[0].line - 1),
        memory=_mebibytes(numbers.get("FB Memory Usage")),
        pcie=_pcie(numbers.get("PCIe Generation"), numbers.get("Link Width")),
    )  # fmt: skip


_NUMBERS = (("FB Memory Usage", "Total"), ("PCIe Generation", "Max"), ("Link Width", "Max"))


def recognises_csv(text: str) -> bool:
    """Whether a text has the heading of a table with names of GPUs."""
    return _heading(text.splitlines()) is not None


def read_csv(output: Output) -> Seen:
    """What the table says.

    Raises:
        InputError: It has no row, or GPUs of different kinds.
    """
    lines = output.lines()
    head = _heading(lines) or 0
    columns = [column.split(" [")[0] for column in _cells(lines[head])]
    rows: list[tuple[int, dict[str, str]]] = []
    for at, line in enumerate(lines[head + 1 :], start=head + 1):
        cells = _cells(line)
        if len(cells) != len(columns):
            break
        rows.append((at, dict(zip(columns, cells, strict=True))))
    if not rows:
        raise output.mistake(head, "the heading of a table without a row")

    def number(column: str) -> Fact[float] | None:
        at, row = rows[0]
        digits = re.match(r"[0-9]+", row.get(column, ""))
        return output.fact(output.number(digits[0], at, column), at) if digits else None

    names = [output.fact(row[_NEEDED], at) for at, row in rows]
    return Seen(
        tool=CSV_TOOL, output=output.name, chip=one_kind(output, names),
        devices=output.fact(len(rows), rows[-1][0]), memory=_mebibytes(number("memory.total")),
        pcie=_pcie(number("pcie.link.gen.max"), number("pcie.link.width.max")),
    )  # fmt: skip


def _some(output: Output, digits: str, line: int, what: str) -> int:
    """How many there are, one at least.

    Raises:
        InputError: There is none, or more than can be meant.
    """
    count = int(output.number(digits, line, what))
    if count < 1:
        raise output.mistake(line, f"{what} is 0, not 1 or more")
    return count


def _heading(lines: list[str]) -> int | None:
    """The line with the names of the columns."""
    for at, line in enumerate(lines):
        cells = _cells(line)
        known = [cell for cell in cells if re.fullmatch(r"[a-z_][a-z_0-9.]*+( \[\S+\])?", cell)]
        if _NEEDED in cells and len(known) == len(cells):
            return at
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def _mebibytes(fact: Fact[float] | None) -> Fact[float] | None:
    if fact is None:
        return None
    return Fact(value=fact.value * 2**20, output=fact.output, line=fact.line, text=fact.text)


def _pcie(generation: Fact[float] | None, lanes: Fact[float] | None) -> Fact[float] | None:
    if generation is None or lanes is None or int(generation.value) not in _TRANSFERS_PER_S:
        return None
    rate = pcie_bytes_per_s(_TRANSFERS_PER_S[int(generation.value)], int(lanes.value))
    text = generation.text if generation.line == lanes.line else f"PCIe {generation.value:.0f}.0 x"
    text += "" if generation.line == lanes.line else f"{lanes.value:.0f}"
    return Fact(value=rate, output=generation.output, line=generation.line, text=text)
