"""Kinds of runs by what is hard about them, and how far off predictions of each may be."""

from __future__ import annotations

from collections.abc import Callable

from frozen_records import dataclass
from planner.evidence.runs.reading import MeasuredRun

NVIDIA = "NVIDIA"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of runs.

    Attributes:
        name: In words.
        goal: Mean error of its sources that is to be reached; None: none is set.
        holds: Whether a run is of it; the first kind that holds is the run's.
    """

    name: str
    goal: float | None
    holds: Callable[[MeasuredRun], bool]


def _nanotron(measured: MeasuredRun) -> bool:
    return measured.run.profile.framework == "nanotron"


def _several_nodes(measured: MeasuredRun) -> bool:
    return measured.run.plan.chips > measured.run.cluster.node_chips


def _of_vendor(*vendors: str) -> Callable[[MeasuredRun], bool]:
    return lambda measured: measured.run.cluster.chip.vendor in vendors


def _is_other_chip(measured: MeasuredRun) -> bool:
    chip = measured.run.cluster.chip
    return chip.vendor != NVIDIA or chip.name.startswith("v100")


KINDS = (
    Kind(
        name="nanotron, several nodes",
        goal=0.20,
        holds=lambda measured: _nanotron(measured) and _several_nodes(measured),
    ),
    Kind(name="nanotron, one node", goal=None, holds=_nanotron),
    Kind(
        name="mixtures of experts",
        goal=0.11,
        holds=lambda measured: measured.run.job.model.moe is not None,
    ),
    Kind(name="adapters", goal=None, holds=lambda measured: measured.run.job.kind == "lora"),
    Kind(name="TPU", goal=0.07, holds=_of_vendor("Google")),
    Kind(name="Trainium", goal=0.09, holds=_of_vendor("AWS")),
    Kind(name="V100, other vendors", goal=0.12, holds=_is_other_chip),
    Kind(
        name="dense, software not known",
        goal=None,
        holds=lambda measured: measured.run.profile.is_fallback,
    ),
    Kind(name="dense, known software", goal=0.06, holds=lambda _: True),
)


def kind_of(measured: MeasuredRun) -> Kind:
    """The kind of a run."""
    return next(kind for kind in KINDS if kind.holds(measured))
