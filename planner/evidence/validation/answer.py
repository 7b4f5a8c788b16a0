"""What `planner validate` answers: predictions of measured runs, scores, what was skipped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frozen_records import dataclass
from hardware_db import Calibration
from planner.assumptions.local_file import LocalCalibration, read_local
from planner.base.errors import InputError
from planner.base.messages import not_one_of
from planner.base.progress import Progress
from planner.base.units import plural
from planner.evidence.left_out.sources import LeftOutTable, left_out_table
from planner.evidence.own_columns import COLLECTIVES, ENERGY, MICROBENCH, PEAK
from planner.evidence.own_tables import OwnRows, read_own
from planner.evidence.power.energy import EnergyTables, energy_tables
from planner.evidence.power.power import PowerTable, own_power
from planner.evidence.runs.reading import Reading, Skipped, of_sources, read_runs
from planner.evidence.validation.baselines import peers_of
from planner.evidence.validation.collectives import (
    CollectiveScore,
    Measured,
    collective_scores,
    measured_collectives,
    own_call,
    predicted_calls,
)
from planner.evidence.validation.failures import FailuresTable, failures_table, own_failures
from planner.evidence.validation.families import FamilyTable, family_table
from planner.evidence.validation.measured_runs import (
    Runs,
    left_out_rows,
    plain,
    runs_document,
)
from planner.evidence.validation.memory import MemoryTable, own_memory, published_memory
from planner.evidence.validation.microbench import Benchmark, benchmarks, own_benchmark
from planner.evidence.validation.predicting import Predictions, predict
from planner.evidence.validation.scores import names_of, score
from planner.evidence.validation.scores import of_sources as rows_of
from planner.evidence.validation.targets import (
    aggregates,
    mean_of_sources,
    reached,
)
from planner.evidence.validation.transfer import TransferTable, transfer_table
from planner.question.provenance import versions

if TYPE_CHECKING:
    from planner.evidence.goodput.table import GoodputTables

KINDS = (
    "runs",
    "collectives",
    "microbench",
    "failures",
    "energy",
    "memory",
    "left-out",
    "transfer",
    "families",
    "goodput",
)
EVERYTHING = "all"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A user's file: its name, rows that are left out, and notes, one sentence each."""

    name: str
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]

    @staticmethod
    def of(read: Reading | OwnRows[Any], refused: Sequence[Skipped] = ()) -> OwnFile:
        """What is told of a file beside its measurements."""
        skipped = sorted((*read.skipped, *refused), key=lambda row: row.line)
        return OwnFile(name=read.name, skipped=tuple(skipped), notes=read.notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """The answer of `planner validate`; what was not asked for is None.

    Attributes:
        runs: Training runs.
        calls: Measured collectives; `collectives` has their errors.
        collectives: Errors by system and collective, those left out by system.
        left_out: Measured collectives of systems that are not in the database: how many each.
        microbench: Matrix multiplications and memory streams.
        failures: Configurations that failed, and how many a limit of the memory flags.
        energy: Power figures of meters, clocks and power caps.
        memory: Peak memory of all rows that have one.
        sources_left_out: Each published source, predicted without itself.
        transfer: Larger runs predicted from the smallest ones of their installation.
        families: Newer chips predicted from older ones.
        goodput: Of whole runs, beside simulated and published ones.
        own: A user's file of another kind than runs; None: the data of the package.
        seconds: Wall time.
    """

    runs: Runs | None
    calls: tuple[Measured, ...] | None
    collectives: tuple[CollectiveScore, ...] | None
    left_out: dict[str, int]
    microbench: tuple[Benchmark, ...] | None
    failures: FailuresTable | None
    energy: EnergyTables | None
    memory: MemoryTable | None = None
    sources_left_out: LeftOutTable | None = None
    transfer: TransferTable | None = None
    families: FamilyTable | None = None
    goodput: GoodputTables | None = None
    own: OwnFile | None = None
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The JSON document: SI units, fractions, null for what is unknown or was not asked for."""
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
        if self.runs is not None:
            document |= runs_document(self.runs)
        if self.collectives is not None:
            document["collectives"] = [plain(asdict(row)) for row in self.collectives]
            document["collectives_left_out"] = self.left_out
        if self.microbench is not None:
            document["microbench"] = [
                {**asdict(row), "error": row.error} for row in self.microbench
            ]
        if self.failures is not None:
            document["failures"] = plain(asdict(self.failures))
        for name in ("energy", "memory", "sources_left_out", "transfer", "families", "goodput"):
            table = getattr(self, name)
            if table is not None:
                document[name] = table.to_dict()
        if self.own is not None:
            document |= {"data": self.own.name, **left_out_rows(self.own.skipped, self.own.notes)}
        return {**document, "seconds": self.seconds, "versions": versions()}


def validate(
    *,
    data: Path | None = None,
    sources: Sequence[str] = (),
    what: str = "runs",
    assume_network: bool = False,
    site_factors: bool = False,
    calibration: Calibration | None = None,
    local: str | None = None,
    on_progress: Progress | None = None,
) -> Validation:
    """Predicts measurements and says how far off the predictions are.

    Args:
        data: A CSV file of the kind `what`; default the data of the package.
        sources: Names or patterns of the sources that count; default all.
        what: One of `KINDS`, or "all".
        assume_network: Take the cluster's own network for a text that is not understood.
        site_factors: Show times with site factors.
        calibration: Another set of constants; default the shipped one.
        local: File of `planner calibrate`, whose constants hold for its chips.
        on_progress: Called with what is done, how many, of how many.

    Raises:
        InputError: The file or a name cannot be used, or no row is left.
    """
    started = time.perf_counter()
    _check_asked(what, data=data, sources=sources, local=local, assume_network=assume_network)
    if data is not None and what != "runs":
        found = _own(what, data, calibration, assume_network=assume_network)
        return replace(found, seconds=time.perf_counter() - started)
    wanted = KINDS if what == EVERYTHING else (what,)
    runs = None
    if "runs" in wanted:
        mine = None if local is None else read_local(local)
        whole = read_runs(data, on_progress, assume_network=assume_network)
        runs = _runs(
            whole, sources, calibration, mine, on_progress,
            site_factors=site_factors, shipped=data is None,
        )  # fmt: skip
    calls, left_out = measured_collectives(calibration) if "collectives" in wanted else ([], {})
    return replace(
        _NOTHING,
        runs=runs,
        calls=tuple(calls) or None,
        collectives=tuple(collective_scores(calls)) if calls else None,
        left_out=left_out,
        microbench=tuple(benchmarks(calibration)) if "microbench" in wanted else None,
        failures=failures_table() if "failures" in wanted else None,
        energy=energy_tables() if "energy" in wanted else None,
        memory=published_memory() if "memory" in wanted else None,
        sources_left_out=left_out_table(on_progress) if "left-out" in wanted else None,
        transfer=transfer_table(sources, on_progress) if "transfer" in wanted else None,
        families=family_table(on_progress) if "families" in wanted else None,
        goodput=_whole_runs(on_progress) if "goodput" in wanted else None,
        seconds=time.perf_counter() - started,
    )


def _whole_runs(on_progress: Progress | None) -> GoodputTables:
    from planner.evidence.goodput.table import goodput_tables  # noqa: PLC0415  (what simulates runs is asked for alone)

    return goodput_tables(on_progress)


def _check_asked(
    what: str, *, data: Path | None, sources: Sequence[str], local: str | None, assume_network: bool
) -> None:
    """Refuses unknown words, and options that have no effect on what is asked for.

    Raises:
        InputError: There is one.
    """
    if what not in (*KINDS, EVERYTHING):
        raise InputError(f"what: {not_one_of(what, (*KINDS, EVERYTHING))}")
    if data is not None and what not in OF_FILES:
        raise InputError(f"what: --data is a file of one kind; give one of {', '.join(OF_FILES)}")
    if local is not None and what in _NO_FILES[1:]:
        raise InputError(f"what: {what!r} uses the shipped constants; leave out --calibration")
    if (sources and what not in _BY_SOURCE) or (local is not None and what != "runs"):
        raise InputError(
            f"what: {what!r} uses the shipped constants and all sources; leave out --source and "
            "--calibration"
        )
    if assume_network and (data is None or what not in _OF_RUNS):
        raise InputError(
            "assume-network: has no effect without --data of runs, failures or memory; leave it out"
        )


_BY_SOURCE = ("runs", "transfer")
_OF_RUNS = ("runs", "failures", "memory")
_NO_FILES = ("left-out", "transfer", "families", "goodput")
OF_FILES = tuple(kind for kind in KINDS if kind not in _NO_FILES)
"""Kinds of which a user may have a file."""
_NOTHING = Validation(
    runs=None, calls=None, collectives=None, left_out={}, microbench=None, failures=None,
    energy=None, memory=None, own=None, seconds=0.0,
)  # fmt: skip


def _own(
    what: str, path: Path, calibration: Calibration | None, *, assume_network: bool
) -> Validation:
    """The answer for a user's file of another kind than runs."""
    if what == "collectives":
        read = read_own(path, COLLECTIVES, own_call)
        calls = predicted_calls(read.found, calibration)
        scores = tuple(collective_scores(calls))
        return replace(_NOTHING, calls=tuple(calls), collectives=scores, own=OwnFile.of(read))
    if what == "microbench":
        measured = read_own(path, MICROBENCH, own_benchmark)
        return replace(_NOTHING, microbench=measured.found, own=OwnFile.of(measured))
    if what == "energy":
        figures = read_own(path, ENERGY, own_power)
        power = PowerTable(rows=figures.found, refused=())
        tables = EnergyTables(power=power, clocks={}, caps=None)
        return replace(_NOTHING, energy=tables, own=OwnFile.of(figures))
    if what == "failures":
        failures, reading = own_failures(path, assume_network=assume_network)
        return replace(_NOTHING, failures=failures, own=OwnFile.of(reading))
    reading = read_runs(path, assume_network=assume_network, measured=PEAK)
    memory, refused = own_memory(reading)
    return replace(_NOTHING, memory=memory, own=OwnFile.of(reading, refused))


def _runs(
    whole: Reading,
    sources: Sequence[str],
    calibration: Calibration | None,
    local: LocalCalibration | None,
    on_progress: Progress | None,
    *,
    site_factors: bool,
    shipped: bool,
) -> Runs:
    known = sorted({measured.set_name for measured in whole.runs})
    reading: Reading = of_sources(whole, sources) if sources else whole
    predictions, refused = predict(reading, calibration, on_progress, local)
    names = names_of(predictions)
    return Runs(
        data=reading.name,
        predictions=predictions,
        site_factors=site_factors,
        sources=tuple(score(name, predictions, rows_of(predictions, [name])) for name in names),
        aggregates=tuple(aggregates(predictions)) if len(names) > 1 else (),
        gold_sources=mean_of_sources(predictions),
        peers=tuple(peers_of(predictions, names, cited=shipped)),
        targets=tuple(reached(predictions, known)) if shipped else (),
        skipped=tuple(sorted((*reading.skipped, *refused), key=lambda row: row.line)),
        notes=(*reading.notes, *_local_notes(predictions, local)),
    )


def _local_notes(predictions: Predictions, local: LocalCalibration | None) -> list[str]:
    """How much of a local calibration was used, by chip and software."""
    if local is None:
        return []
    counted = Counter((m.run.cluster.chip, m.run.job.era) for m in predictions.runs)
    used = {at: count for at, count in counted.items() if local.holds_for(at[0])}
    notes = [
        f"calibration for {plural(count, 'row')}: {'; '.join(local.use(*at))}"
        for at, count in used.items()
    ]
    if other := sum(counted.values()) - sum(used.values()):
        notes.append(f"calibration: not used for {plural(other, 'row')} of other chips")
    return notes
