"""The file of runs that `planner check` adds a row to: all that is not of this run stays."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_text, write_atomically
from planner.base.locks import holding
from planner.base.messages import one_line
from planner.base.units import plural
from planner.evidence.csvfile import Record, lines_of, records
from planner.evidence.own_columns import RUNS
from strict_yaml.inputs import replacing

_WAIT_S = 60.0
"""Another process holds the file for as long as it takes to write it."""
_MARK = "\ufeff"
_TIME = "step_time_s"
_OF_MODEL = (
    "n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff", "gated_mlp", "vocab", "moe_experts",
    "moe_topk", "moe_d_ff", "architecture",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A file of runs with the row of a run in it.

    Attributes:
        text: All of it.
        remarks: What became of an older row of the run, one sentence each.
    """

    text: str
    remarks: tuple[str, ...] = ()


def add_row(path: Path, row: Mapping[str, str]) -> tuple[str, ...]:
    """Writes a row to a file of runs, one process at a time; returns what else there is to say.

    Raises:
        InputError: It is no such file, cannot be written, or another process keeps it.
    """
    with holding(path, _WAIT_S, "try again when it has ended") as alone:
        changed = with_row(path, row)
        write_atomically(path, changed.text)
    shared = f"{path} cannot be locked here: two checks that write it at once may lose a row"
    return changed.remarks if alone else (*changed.remarks, shared)


def with_row(path: Path, row: Mapping[str, str]) -> Changed:
    """A file of runs with a row at its end, in the place of one of the same id.

    Cells that the row leaves empty keep what the older one has.

    Raises:
        InputError: The file is there and is no such file.
    """
    if not path.exists():
        return Changed(text=_csv(RUNS.columns) + _csv(row.values()))
    with replacing():
        text = read_text(path)
    mark = _MARK if text.startswith(_MARK) else ""
    name = one_line(str(path))
    found = records(text.removeprefix(mark), name)
    columns, lines = lines_of(found, name)
    if columns != list(RUNS.columns):
        raise InputError(
            f"output: {name} is there and has other columns than planner check writes; name "
            "another file"
        )
    old = {line.number: line.cells for line in lines if line.cells.get("id") == row["id"]}
    kept = "".join(one.text for one in found if one.number not in old)
    end = _end_of(found)
    kept += "" if kept.endswith(("\n", "\r")) else end
    older = list(old.values())
    whole = _filled(row, older)
    return Changed(
        text=mark + kept + _csv(whole.values(), end), remarks=_remarks(path, row, whole, older)
    )


def _filled(row: Mapping[str, str], older: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """A row whose empty cells are those of older ones; of another model nothing is taken."""
    cells = dict(row)
    for one in older:
        other = one.get("model_name") != row["model_name"]
        names = [name for name in cells if not (other and name in _OF_MODEL)]
        cells |= {name: one[name] for name in names if not row[name] and one.get(name)}
    return cells


def _remarks(
    path: Path,
    row: Mapping[str, str],
    whole: Mapping[str, str],
    older: Sequence[Mapping[str, str]],
) -> tuple[str, ...]:
    """What was replaced, and what of it is kept."""
    if not older:
        return ()
    times = " and ".join(one.get(_TIME) or "no time" for one in older)
    kept = [name for name in row if whole[name] != row[name]]
    return (
        f"{path} had {plural(len(older), 'row')} of this run ({_TIME} {times}), which this one "
        f"replaces{': it keeps ' + ', '.join(kept) if kept else ''}",
    )


def _end_of(found: Sequence[Record]) -> str:
    """How lines of a file end, as its first one does."""
    first = found[0].text
    return next((end for end in ("\r\n", "\n", "\r") if first.endswith(end)), "\n")


def _csv(cells: Iterable[str], end: str = "\n") -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator=end).writerow(cells)
    return text.getvalue()
