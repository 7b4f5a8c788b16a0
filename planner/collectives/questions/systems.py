"""The question of `planner collective compare --system`: what NCCL takes on a real system.

The costs are those of `planner.collectives.nccl.costs`, fitted to measured calls: each algorithm in
each protocol over sizes. No schedule is synthesized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from hardware_db import Cluster, HardwareError, load_cluster
from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.messages import Attempts, Origin, not_one_of
from planner.base.units import parse_whole
from planner.collectives.nccl.costs import CALLS, NETWORKS, CallLine, call_lines, crosses_network
from planner.collectives.questions.question import size_words
from planner.collectives.runs.times import TimeComparison, TimeLine, crossovers, fine_sizes

FIELDS = ("system", "chips", "network", "collective")
"""Names of what can be asked."""
_EVERYBODYS = ("allgather", "reduce-scatter", "alltoall")
_VARIANTS = ("Simple", "LL128", "LL")
_BUS = {"allreduce": 2.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemQuestion:
    """A collective on all chips of a job.

    Attributes:
        name: Of the system, as it was asked.
        cluster: The system.
        chips: Of the job, at least 2.
        network: One of `NETWORKS`; None: the chips are one domain of the innermost links.
        collective: One of `CALLS`.
    """

    name: str
    cluster: Cluster
    chips: int
    network: str | None
    collective: str

    @property
    def call_bytes(self) -> int:
        """Bytes of a call, as nccl-tests counts them, per byte of L."""
        return self.chips if self.collective in _EVERYBODYS else 1

    def lines(self) -> tuple[CallLine, ...]:
        """Each algorithm in each protocol, over L.

        Raises:
            InputError: The library does not serve the chips.
        """
        network = self.network or NETWORKS[0]
        found = call_lines(self.cluster, self.chips, self.collective, network=network)
        return tuple(replace(one, s_per_byte=one.s_per_byte * self.call_bytes) for one in found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SystemAnswer:
    """Times of calls.

    Attributes:
        question: What was asked.
        sizes_bytes: (n,) L, rising.
        lines: Each algorithm in each protocol.
        times_s: (lines, n) seconds.
        curves: The same over a fine range, those that are the fastest of their algorithm somewhere.
    """

    question: SystemQuestion
    sizes_bytes: FloatArray
    lines: tuple[CallLine, ...]
    times_s: FloatArray
    curves: TimeComparison

    @property
    def best(self) -> list[int]:
        """(n,) which of `lines` is the fastest at each size."""
        return [int(row) for row in np.argmin(self.times_s, axis=0)]

    @property
    def bus_bytes_per_s(self) -> list[float]:
        """(n,) bus bandwidth of the fastest, as nccl-tests reports it (doc/PERFORMANCE.md)."""
        asked = self.question
        share = _BUS.get(asked.collective, 1.0) * (asked.chips - 1) / asked.chips
        moved = self.sizes_bytes * asked.call_bytes * share
        found: list[float] = (moved / self.times_s.min(axis=0)).tolist()
        return found

    def to_fields(self) -> dict[str, Any]:
        """JSON-ready, without the versions."""
        asked = self.question
        return {
            "system": asked.name,
            "cluster": asked.cluster.name,
            "chips": asked.chips,
            "network": asked.network,
            "collective": asked.collective,
            "size_is": size_words(asked.collective),
            "constants": "nccl",
            "sizes_bytes": self.sizes_bytes.tolist(),
            "algorithms": [
                {"algorithm": one.algorithm, "protocol": one.protocol, "alpha_s": one.alpha_s,
                 "s_per_byte": one.s_per_byte, "times_s": times}
                for one, times in zip(self.lines, self.times_s.tolist(), strict=True)
            ],
            "fastest": [
                {"algorithm": self.lines[row].algorithm, "protocol": self.lines[row].protocol,
                 "time_s": float(self.times_s[row, at]), "bus_bytes_per_s": bus}
                for at, (row, bus) in enumerate(zip(self.best, self.bus_bytes_per_s, strict=True))
            ],
            "crossovers": [
                {"size_bytes": one.size_bytes, "time_s": one.time_s, "before": one.before,
                 "after": one.after}
                for one in self.curves.crossovers
            ],
        }  # fmt: skip


def system_question(asked: Mapping[str, Any], others: Mapping[str, Any]) -> SystemQuestion:
    """The question that flags ask.

    Args:
        asked: `FIELDS`; None where not given.
        others: Flags that go with a wiring alone, by name.

    Raises:
        InputError: A value is unknown, the system cannot give the chips, or a flag does not go with
            a system; one line per mistake.
    """
    if asked.get("system") is None:
        first = next(name for name in ("chips", "network") if asked.get(name) is not None)
        raise InputError(f"{first}: goes with --system alone; name one, e.g. h100-sxm5-80")
    attempts = Attempts(Origin(dashes=True), (*FIELDS, *others))
    attempts.add(
        f"{name.replace('_', '-')}: does not go with --system, whose links and constants are known"
        for name, value in others.items()
        if value is not None
    )
    collective = asked.get("collective") or "allgather"
    if collective not in CALLS:
        attempts.add([f"collective: {not_one_of(collective, tuple(CALLS))} (with --system)"])
    network = asked.get("network")
    if network is not None and network not in NETWORKS:
        attempts.add([f"network: {not_one_of(network, NETWORKS)}"])
    cluster = attempts.attempt(_cluster, asked["system"])
    chips = attempts.attempt(_chips, asked.get("chips"), cluster)
    cluster, chips = attempts.needed(cluster), attempts.needed(chips)
    crosses = crosses_network(cluster, chips)
    if network is not None and not crosses:
        raise InputError(
            f"network: has no effect: {chips} chips of {asked['system']} are joined by "
            f"{cluster.levels[0].name} alone; leave it out"
        )
    return SystemQuestion(
        name=str(asked["system"]),
        cluster=cluster,
        chips=chips,
        network=(network or NETWORKS[0]) if crosses else None,
        collective=collective,
    )


def system_times(question: SystemQuestion, sizes_bytes: Sequence[float]) -> SystemAnswer:
    """Times over sizes.

    Args:
        question: The system and the collective.
        sizes_bytes: L, rising.

    Raises:
        InputError: The library does not serve the chips.
    """
    sizes = np.asarray(sizes_bytes, dtype=np.float64)
    lines = question.lines()
    return SystemAnswer(
        question=question,
        sizes_bytes=sizes,
        lines=lines,
        times_s=np.stack([line.time_s(sizes) for line in lines]),
        curves=_curves(question, lines, sizes),
    )


def _curves(
    question: SystemQuestion, lines: Sequence[CallLine], sizes: FloatArray
) -> TimeComparison:
    """Lines that are the fastest of their algorithm somewhere, over a fine range."""
    fine = fine_sizes(sizes)
    shown: list[CallLine] = []
    for algorithm in dict.fromkeys(line.algorithm for line in lines):
        own = [line for line in lines if line.algorithm == algorithm]
        fastest = np.argmin([line.time_s(fine) for line in own], axis=0)
        shown += [own[at] for at in np.unique(fastest).tolist()]
    network = f" over {question.network}" if question.network else ""
    return TimeComparison(
        title=f"{question.collective} on {question.chips} chips of {question.name}{network}",
        sizes_bytes=fine,
        simulated_bytes=np.zeros(0),
        mode="synchronous",
        lines=tuple(
            TimeLine(
                name=line.name,
                library=True,
                time_s=line.time_s(fine),
                of=line.algorithm,
                variant=_VARIANTS.index(line.protocol),
            )
            for line in shown
        ),
        crossovers=crossovers(shown, fine),
        own_crossovers=(),
        notes=(
            "A protocol of an algorithm is shown where it is its fastest at some size. Constants "
            "are fitted to measured calls.",
        ),
    )


def _cluster(name: object) -> Cluster:
    try:
        return load_cluster(str(name))
    except HardwareError as error:
        raise InputError(str(error).replace("hardware: ", "system: ", 1)) from None


def _chips(given: object, cluster: Cluster | None) -> int | None:
    if given is None:
        raise InputError("chips: is missing; how many chips of the system, e.g. 16?")
    chips = parse_whole(str(given), "chips")
    if chips < 2:
        raise InputError(f"chips: {chips} must be at least 2: one chip has no collective")
    if cluster is None:
        return None
    try:
        cluster.scale(chips)
    except HardwareError as error:
        raise InputError(str(error)) from None
    return chips
