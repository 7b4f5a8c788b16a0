"""What the report on energy and latency leaves out, one thing at a time, by the ordinary model.

The preset `rack-energy` is the report's model of a whole training step; each change replaces some
of its fields by those of the preset `calibrated`, or the plan by another one. The report lists
what it leaves out in its section V: start-up, overlap, bubbles, other collectives, sequence and
expert parallelism, FSDP.
"""

from __future__ import annotations

from dataclasses import field, fields, replace
from typing import Any

from frozen_records import dataclass
from planner.assumptions.assumptions import ORIGIN, Assumptions
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.plan import Plan, PlanTable
from planner.question.provenance import stamped
from planner.question.request import request_from
from planner.question.resolved import resolve

MODEL, EXPERT_MODEL = "llama3-8b", "mixtral-8x7b"
CHIPS, SEQ_LEN, SEQUENCES = 32, 2048, 64

_PLAIN: dict[str, Any] = {"sharding": "ddp", "sequence_parallel": False}
_PLANS: dict[str, Plan] = {
    "DP": Plan(dp=32, micro_batch=2, **_PLAIN),
    "TP": Plan(dp=4, tp=8, **_PLAIN),
    "PP + TP": Plan(dp=2, tp=8, pp=2, **_PLAIN),
    "TP + SP": Plan(dp=4, tp=8, sharding="ddp"),
    "FSDP": Plan(fsdp=32, micro_batch=2, sharding="zero3"),
    "EP": Plan(dp=32, ep=8, micro_batch=2, **_PLAIN),
}
_STRATEGIES = ("DP", "TP", "PP + TP")
_STARTUP = (
    "latencies", "scale_up_latency_s", "scale_out_latency_s", "ring_hop_s", "bucket_hop_s",
    "bucket_bytes",
)  # fmt: skip
_OVERLAP = (
    "tp_overlap", "dp_overlap", "dp_window", "zero3_overlap", "hides_gather", "p2p_exposed",
    "interleaved_p2p",
)  # fmt: skip
_STANDING = ("component_energy",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """One side of a comparison.

    Attributes:
        plan: What the plan is called.
        step_time_s, energy_j: Of one training step; joules of all chips.
        memory_bytes: Of the fullest chip.
        fits: Whether that is within the chip's memory.
    """

    plan: str
    step_time_s: float
    energy_j: float
    memory_bytes: float
    fits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that the report leaves out: before and after.

    Attributes:
        change: Its name.
        words: What is different.
        model: The model that is trained.
        reference: What `before` is: `rack-energy`, or that with earlier changes.
        changed: Fields of `Assumptions` that differ; empty where only the plan does.
        before, after: What each costs.
    """

    change: str
    words: str
    model: str
    reference: str
    changed: tuple[str, ...]
    before: Costs
    after: Costs

    @property
    def time_ratio(self) -> float:
        """Step time after over before."""
        return self.after.step_time_s / self.before.step_time_s

    @property
    def energy_ratio(self) -> float:
        """Energy after over before."""
        return self.after.energy_j / self.before.energy_j

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        sides = {
            side: {f.name: getattr(getattr(self, side), f.name) for f in fields(Costs)}
            for side in ("before", "after")
        }
        names = ("change", "words", "model", "reference")
        return {
            **{name: getattr(self, name) for name in names},
            "changed": list(self.changed),
            **sides,
            "time_ratio": self.time_ratio,
            "energy_ratio": self.energy_ratio,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BeyondAnswer:
    """Before and after for everything that the report leaves out.

    Attributes:
        hardware: Name of the cluster.
        changes: In the order of the report's list.
    """

    hardware: str
    changes: tuple[Change, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        setting = {
            "hardware": self.hardware,
            "chips": CHIPS,
            "batch_tokens": SEQ_LEN * SEQUENCES,
            "seq_len": SEQ_LEN,
        }
        return stamped(
            {"setting": setting, "beyond": [change.to_dict() for change in self.changes]}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A comparison to make: plans by name, and what is switched before and after."""

    change: str
    words: str
    plans: tuple[str, str]
    switched: dict[str, Any] = field(default_factory=dict)
    base: dict[str, Any] = field(default_factory=dict)
    base_words: str = ""
    whole: bool = False
    model: str = MODEL


class _Lab:
    """The cost models of one cluster: `rack-energy` and `calibrated` for each model."""

    def __init__(self, hardware: str) -> None:
        self._hardware = hardware
        self._models: dict[str, tuple[CostModel, Assumptions]] = {}

    def of(self, model: str) -> tuple[CostModel, Assumptions]:
        """The cost model under `rack-energy`, and the assumptions `calibrated`."""
        if model not in self._models:
            asked = {
                "model": model,
                "hardware": self._hardware,
                "chips": CHIPS,
                "seq_len": SEQ_LEN,
                "batch_tokens": float(SEQ_LEN * SEQUENCES),
            }
            found = [
                resolve(request_from({**asked, "assumptions": name})).cost
                for name in ("rack-energy", "calibrated")
            ]
            self._models[model] = (found[0], found[1].assumptions)
        return self._models[model]

    def change(self, row: _Row) -> Change:
        """A comparison, costed."""
        plain, calibrated = self.of(row.model)
        before = replace(plain.assumptions, **row.base)
        after = calibrated if row.whole else replace(before, **row.switched)
        names = [f.name for f in fields(Assumptions) if f.name not in ORIGIN]
        sides = [
            _costs(replace(plain, assumptions=used), name)
            for used, name in zip((before, after), row.plans, strict=True)
        ]
        return Change(
            change=row.change,
            words=row.words,
            model=row.model,
            reference=" + ".join(filter(None, ("rack-energy", row.base_words))),
            changed=tuple(n for n in names if getattr(before, n) != getattr(after, n)),
            before=sides[0],
            after=sides[1],
        )


def _costs(model: CostModel, name: str) -> Costs:
    """What a plan costs in a training step."""
    found = evaluate_table(model, PlanTable.from_plans([_PLANS[name]]))
    held = float(found.memory_per_chip_bytes[0])
    return Costs(
        plan=name,
        step_time_s=float(found.step_time_s[0]),
        energy_j=float(found.energy.total[0]),
        memory_bytes=held,
        fits=held <= model.chip.memory_bytes,
    )


def beyond(hardware: str) -> BeyondAnswer:
    """What the report leaves out, on its rack or another cluster.

    Args:
        hardware: A cluster of at least `CHIPS` chips.

    Raises:
        InputError: The cluster is unknown, too small, or lacks a figure that is needed.
    """
    lab = _Lab(hardware)
    plain, calibrated = lab.of(MODEL)
    if plain.cluster.max_chips < CHIPS:
        raise InputError(
            f"hardware: {plain.cluster.name} has at most {plain.cluster.max_chips:,} chips; "
            f"the comparison needs {CHIPS}"
        )
    rows = [*_timing_rows(calibrated), *_plan_rows(calibrated)]
    return BeyondAnswer(hardware=plain.cluster.name, changes=tuple(lab.change(row) for row in rows))


def _taken(calibrated: Assumptions, names: tuple[str, ...]) -> dict[str, Any]:
    """Fields as `calibrated` has them."""
    return {name: getattr(calibrated, name) for name in names}


def _timing_rows(calibrated: Assumptions) -> list[_Row]:
    """Changes of the model under unchanged plans."""
    startup, overlap = _taken(calibrated, _STARTUP), _taken(calibrated, _OVERLAP)
    rates = _taken(calibrated, ("scale_up_efficiency", "scale_out_efficiency"))
    for_all = (
        ("startup", "messages take time before their first byte", startup),
        ("achieved bandwidth", "links carry what was measured, not their peak", rates),
        ("overlap", "computing hides part of the communication", overlap),
        ("standing power", "chips, hosts and memory draw power", _taken(calibrated, _STANDING)),
    )
    rows = [
        _Row(change=change, words=words, plans=(name, name), switched=switched)
        for change, words, switched in for_all
        for name in _STRATEGIES
    ]
    rows.insert(
        9,
        _Row(
            change="bubbles",
            words="stages wait while the pipeline fills and drains",
            plans=("PP + TP", "PP + TP"),
            switched={"bubbles": True},
        ),
    )
    return rows + _collective_rows(startup)


def _collective_rows(startup: dict[str, Any]) -> list[_Row]:
    """Other collectives than one ring at the pace of its slowest link, start-up counted."""
    own = startup | {"slowest_link": False}
    found: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
        ("links at their own rate", "each level of the network takes its own time",
         {"slowest_link": False}, startup, "startup"),
        ("tree collectives", "the faster of ring and tree",
         {"collective_algorithms": ("ring", "tree")}, own, "startup + links at their own rate"),
        ("hierarchical collectives", "the faster of a ring and of one per level",
         {"collective_algorithms": ("ring", "hierarchical")}, own,
         "startup + links at their own rate"),
    ]  # fmt: skip
    return [
        _Row(
            change=change, words=words, plans=(name, name), switched=switched, base=base,
            base_words=base_words,
        )
        for change, words, switched, base, base_words in found
        for name in ("DP", "TP")
    ]  # fmt: skip


def _plan_rows(calibrated: Assumptions) -> list[_Row]:
    """Other plans, and everything at once."""
    overlap = _taken(calibrated, _OVERLAP)
    return [
        _Row(
            change="sequence parallelism",
            words="tensor ranks keep a part of the sequence between layers",
            plans=("TP", "TP + SP"),
        ),
        _Row(
            change="FSDP",
            words="ranks keep a part of the weights, gather them, and nothing hides that",
            plans=("DP", "FSDP"),
        ),
        _Row(
            change="FSDP, overlapped",
            words="the same where computing hides gathers and reductions",
            plans=("DP", "FSDP"),
            base=overlap,
            base_words="overlap",
        ),
        _Row(
            change="expert parallelism",
            words="8 groups of chips keep different experts and exchange tokens",
            plans=("DP", "EP"),
            model=EXPERT_MODEL,
        ),
        *(
            _Row(
                change="everything",
                words="the preset calibrated: also kernels, host, optimizer, best collective",
                plans=(name, name),
                whole=True,
            )
            for name in _STRATEGIES
        ),
    ]
