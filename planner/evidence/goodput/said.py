"""What published runs say of themselves: `hardware_db/data/reference/published-runs.yaml`."""

from __future__ import annotations

from functools import cache

from frozen_records import dataclass
from hardware_db import Reference, load_reference
from planner.base.units import HOUR_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A run; None, zero and empty: it does not say.

    Attributes:
        key, run, chips: Of the file, its name, and chips of the job.
        row, also: Row of the published runs with its plan, and columns that the row lacks.
        step_s: Step time.
        batch_tokens: Of a step.
        tokens, chip_hours: Of the whole run.
        site: Whose failures are its own.
        as_often_as: Key of a run of the same job, which failed as often.
        published: Its effective time in words.
        projected: Whether that is what its authors expect, not what they measured.
        share: The same; None of a bound.
        at_least: The bound.
        every_s: Work between two checkpoints.
        down_s: From a failure until the job works again.
        stall_s, write_s: Of a checkpoint.
        missing: What it does not say, or what is put in.
        source: Address.
    """

    key: str
    run: str
    chips: int
    row: str
    also: tuple[tuple[str, str], ...]
    step_s: float | None
    batch_tokens: float
    tokens: float | None
    chip_hours: float | None
    site: str
    as_often_as: str
    published: str
    projected: bool
    share: float | None
    at_least: float | None
    every_s: float | None
    down_s: float | None
    stall_s: float
    write_s: float
    missing: str
    source: str

    @property
    def shown(self) -> float | None:
        """Its effective time, or the bound that it says."""
        return self.at_least if self.share is None else self.share


@cache
def runs_said() -> tuple[Said, ...]:
    """The runs, in the order of the file."""
    table = load_reference("published-runs")
    return tuple(_said(table, key) for key in dict.fromkeys(_key(path) for path in table.labels))


def _key(path: str) -> str:
    return path.partition(".")[0]


def _said(table: Reference, key: str) -> Said:
    def number(name: str) -> float | None:
        found = table.quantities.get(f"{key}.{name}")
        return None if found is None else found.number

    def words(name: str) -> str:
        return table.labels.get(f"{key}.{name}", "")

    lacks = f"{key}.also."
    exposure_s, chips = number("exposure"), table.quantities[f"{key}.chips"]
    return Said(
        key=key,
        run=words("what"),
        chips=int(chips.number),
        row=words("row"),
        also=tuple(
            (path.removeprefix(lacks), text)
            for path, text in table.labels.items()
            if path.startswith(lacks)
        ),
        step_s=number("step"),
        batch_tokens=number("step_tokens") or 0.0,
        tokens=number("tokens"),
        chip_hours=None if exposure_s is None else exposure_s / HOUR_S,
        site=words("site"),
        as_often_as=words("as_often_as"),
        published=words("says"),
        projected=bool(words("projected_by")),
        share=number("share"),
        at_least=number("at_least"),
        every_s=number("every"),
        down_s=number("down"),
        stall_s=number("stall") or 0.0,
        write_s=number("write") or 0.0,
        missing=words("missing"),
        source=table.sources[chips.sources[0]].reference,
    )
