"""Times of matrix multiplications from a CSV file or from the output of a common tool.

    CSV                columns m, n, k, dtype and one of seconds, us, tflops
    hipblaslt-bench    its table: a heading `transA,transB,...` and a line per multiplication, as
                       it and rocBLAS's and hipBLAS's benchmarks print it, with a column `us`
    mamf-finder        progress lines `1 | 93.5(mean) 95.3(median) 96.6(max) @ 1024x1024x1024 | ...`
                       below a heading `** Dtype:`

A multiplication is (m x k) @ (k x n) and takes 2 m n k FLOP.

Sources: https://rocm.docs.amd.com/projects/hipBLASLt (clients); mamf-finder.py of
https://github.com/stas00/ml-engineering, benchmark version 2.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_text
from planner.base.flat import csv_fault
from planner.base.messages import did_you_mean, one_line, shown
from planner.base.numerals import number_of

_FORMATS = {
    "bf16": "bf16", "bfloat16": "bf16", "bf16_r": "bf16", "torch.bfloat16": "bf16",
    "fp16": "fp16", "float16": "fp16", "half": "fp16", "f16_r": "fp16", "torch.float16": "fp16",
    "fp32": "fp32", "float32": "fp32", "f32_r": "fp32", "torch.float32": "fp32",
    "fp8": "fp8", "f8_r": "fp8", "f8_fnuz_r": "fp8", "e4m3": "fp8", "float8_e4m3fn": "fp8",
    "torch.float8_e4m3fn": "fp8", "float8_e4m3fnuz": "fp8", "torch.float8_e4m3fnuz": "fp8",
    "fp4": "fp4", "nvfp4": "fp4",
}  # fmt: skip
_SIZES = ("m", "n", "k")
_LEAST, _MOST = 1e-12, 1e12
_TIMES = {"seconds": 1.0, "time_s": 1.0, "us": 1e-6}
_MAMF = re.compile(
    r"^\s*[0-9]+\s*\|\s*[0-9.]+\(mean\)\s+([0-9.]+)\(median\)\s+[0-9.]+\(max\)\s*@\s*([0-9]+)x([0-9]+)x([0-9]+)"
)
_DTYPE = re.compile(r"\*\*\s*Dtype:\s*(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmTime:
    """One matrix multiplication (m x k) @ (k x n).

    Attributes:
        m, n, k: Its sizes.
        dtype: Format of the inputs: bf16, fp16, fp32, fp8 or fp4.
        time_s: How long it took.
    """

    m: float
    n: float
    k: float
    dtype: str
    time_s: float

    @property
    def flop_per_s(self) -> float:
        """Achieved rate."""
        return 2 * self.m * self.n * self.k / self.time_s


def read_gemm(path: Path) -> tuple[GemmTime, ...]:
    """The multiplications of a file.

    Raises:
        InputError: It has none, or lines of it are wrong; one line per fault.
    """
    return parse_gemm(read_text(path), one_line(str(path)))


def parse_gemm(text: str, label: str) -> tuple[GemmTime, ...]:
    """As `read_gemm`, of the text of a file with that name."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not any(line.strip() for line in lines):
        raise InputError(f"{label}: is empty")
    faults: list[str] = []
    if any(_MAMF.match(line) or _is_bench(line) for line in lines):
        found = _of_mamf(lines, label, faults) + _of_bench(lines, label, faults)
    else:
        try:
            found = _of_csv(lines, label, faults)
        except csv.Error as error:
            raise InputError(f"{label}: {csv_fault(error)}") from error
    if faults:
        raise InputError("\n".join(faults))
    if not found:
        raise InputError(f"{label}: has no line of results")
    return tuple(found)


def _of_mamf(lines: list[str], label: str, faults: list[str]) -> list[GemmTime]:
    """Progress lines of mamf-finder, below a format each; the median of a shape's iterations."""
    found: list[GemmTime] = []
    dtype = "bf16"
    for number, line in enumerate(lines, start=1):
        if named := _DTYPE.search(line):
            dtype = named[1]
            if dtype.lower() not in _FORMATS:
                faults.append(
                    f"{label}: line {number}: dtype: {shown(dtype)} is not one of {_allowed()}"
                )
        elif (match := _MAMF.match(line)) and dtype.lower() in _FORMATS:
            cells = dict(zip(("tflops", "m", "n", "k"), match.groups(), strict=True))
            _add(found, {**cells, "dtype": dtype}, f"{label}: line {number}", faults)
    return found


def _is_bench(line: str) -> bool:
    cells = line.split(",")
    return "transA" in cells[0] and cells[-1].strip() != "" and "us" in map(str.strip, cells)


def _of_bench(lines: list[str], label: str, faults: list[str]) -> list[GemmTime]:
    """The table of hipblaslt-bench; a heading may precede every line."""
    found: list[GemmTime] = []
    names: list[str] = []
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line.lstrip("# ").split(",")]
        if _is_bench(line):
            names = [name.rpartition(":")[2].lower() for name in cells]
        elif names and cells[0] in ("N", "T", "C") and len(cells) > len(names) // 2:
            row = _bench_row(names, cells)
            _add(found, row, f"{label}: line {number}", faults)
    return found


def _bench_row(names: list[str], cells: list[str]) -> dict[str, str]:
    """A line by column; older versions print one bias column more than they name."""
    row = dict(zip(names, cells, strict=False))
    if len(cells) > len(names):
        row |= dict(zip(reversed(names), reversed(cells), strict=False))
        row |= dict(zip(names[:5], cells[:5], strict=False))
    kinds = [row[name] for name in ("a_type", "d_type") if name in row]
    batches = row.get("batch_count", "1")
    times = row.get("us", "")  # of a line that is cut off
    if batches not in ("", "1"):
        try:
            times = str(number_of(times) / number_of(batches))
        except (ValueError, ZeroDivisionError):
            times = ""
    return {**{name: row.get(name, "") for name in "mnk"}, "us": times,
            "dtype": kinds[0] if kinds else ""}  # fmt: skip


def _of_csv(lines: list[str], label: str, faults: list[str]) -> list[GemmTime]:
    """A CSV file with the documented columns."""
    rows = csv.DictReader(lines)
    names = [name.strip().lower() for name in rows.fieldnames or []]
    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise InputError(f"{label}: column {shown(twice)} appears twice")
    missing = [name for name in ("m", "n", "k", "dtype") if name not in names]
    if missing or not {*_TIMES, "tflops"} & {*names}:
        what = missing[0] if missing else "seconds"
        hint = "; 'ms' is there: give seconds" if "ms" in names else did_you_mean(what, names)
        raise InputError(
            f"{label}: column {what!r} is missing{hint}; a CSV file with the columns m, n, k, "
            "dtype and seconds (or us, or tflops), or the output of hipblaslt-bench or "
            "mamf-finder, is required"
        )
    found: list[GemmTime] = []
    for row in rows:
        cells = {k.strip().lower(): (v or "").strip() for k, v in row.items() if k}
        _add(found, cells, f"{label}: line {rows.line_num}", faults)
    return found


def _add(found: list[GemmTime], cells: dict[str, str], where: str, faults: list[str]) -> None:
    """Adds the multiplication of some cells, or what is wrong with them."""
    numbers = {}
    named = [name for name in (*_TIMES, "tflops") if name in cells]
    timed = next((name for name in named if cells[name]), (*named, "seconds")[0])
    for name in ("m", "n", "k", timed):
        text = cells.get(name, "")
        try:
            numbers[name] = number_of(text)
        except ValueError:
            faults.append(f"{where}: {name}: {shown(text)} is not a number")
            return
        least = 1.0 if name in _SIZES else _LEAST
        if not least <= numbers[name] < _MOST:
            above = f"from {least:g} to {_MOST:g}" if numbers[name] > 0 else "greater than 0"
            faults.append(f"{where}: {name}: {numbers[name]:g}: must be {above}")
            return
    dtype = _FORMATS.get(cells.get("dtype", "").lower())
    if dtype is None:
        faults.append(f"{where}: dtype: {shown(cells.get('dtype', ''))} is not one of {_allowed()}")
        return
    flop = 2 * numbers["m"] * numbers["n"] * numbers["k"]
    time_s = (
        flop / (numbers["tflops"] * 1e12) if timed == "tflops" else numbers[timed] * _TIMES[timed]
    )
    found.append(
        GemmTime(m=numbers["m"], n=numbers["n"], k=numbers["k"], dtype=dtype, time_s=time_s)
    )


def _allowed() -> str:
    return ", ".join(dict.fromkeys(_FORMATS.values()))
