"""Ten small changes that somebody may wish for, each in the one file that the page names."""

from collections.abc import Callable
from dataclasses import dataclass

COST = """
import planner
def cost(**choices):
    plan = planner.Plan(**choices)
    return planner.evaluate(
        plan, model="llama3-8b", hardware="h100-sxm5-80", chips=plan.chips, batch_tokens="1Mi"
    )
"""
"""Begins the checks that evaluate plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one file, and what it does.

    Attributes:
        wish: As the page words it.
        old, new: Text that the file has once, and what takes its place.
        copy: Name of a new file beside the one of the page: that file with the change; empty: the
            file itself is changed.
        asks: Python that prints a line.
        holds: Whether the lines from before and after the change are as wished.
    """

    wish: str
    old: str
    new: str
    copy: str = ""
    asks: str
    holds: Callable[[str, str], bool]


def grew(before: str, after: str) -> bool:
    """Whether the first number grew and all others are what they were."""
    (changed, *others), (now, *others_now) = before.split(), after.split()
    return float(now) > float(changed) and others == others_now


def appeared(name: str) -> Callable[[str, str], bool]:
    """Whether a name is new in a list of names."""
    return lambda before, after: {name} == set(after.split()) - set(before.split())


def reworded(old: str, new: str) -> Callable[[str, str], bool]:
    """Whether one text stands where another stood, and nothing else changed."""
    return lambda before, after: old in before and after == before.replace(old, new)


CHANGES = (
    Change(
        wish="add a chip",
        copy="h100-lab.yaml",
        old="name: h100-sxm5-80\n",
        new="name: h100-lab\n",
        asks="import hardware_db; print(*hardware_db.list_chips())",
        holds=appeared("h100-lab"),
    ),
    Change(
        wish="add a cluster",
        copy="lab.yaml",
        old="name: dgx-h100-ndr\n",
        new="name: lab\n",
        asks="import hardware_db; print(*hardware_db.list_clusters())",
        holds=appeared("lab"),
    ),
    Change(
        wish="add a model",
        copy="llama2-lab.yaml",
        old="name: llama2-13b\n",
        new="name: llama2-lab\n",
        asks="import models_db; print(*models_db.list_models())",
        holds=appeared("llama2-lab"),
    ),
    Change(
        wish="change how tensor parallelism overlaps",
        old='sent["tp"] * (1 - a.tp_overlap)',
        new='sent["tp"] * (1 - 0.5 * a.tp_overlap)',
        asks=f"{COST}print(*(cost(tp=tp, dp=16 // tp).result.step_time_s for tp in (8, 1)))",
        holds=grew,
    ),
    Change(
        wish="change what an all-gather costs",
        old="best = np.minimum(ring, self._row(4) + self._row(5) * size_bytes)",
        new="best = 1.5 * np.minimum(ring, self._row(4) + self._row(5) * size_bytes)",
        asks=f"{COST}print(cost(tp=8, dp=2, sequence_parallel=True).result.step_time_s)",
        holds=grew,
    ),
    Change(
        wish="change how long a matrix multiplication takes",
        old="moved / a.memory_bytes_per_s) + a.matmul_overhead_s",
        new="moved / a.memory_bytes_per_s) + 2.0 * a.matmul_overhead_s",
        asks=f"{COST}print(cost(dp=16).result.step_time_s)",
        holds=grew,
    ),
    Change(
        wish="change what activations take in memory",
        old="full = 2.0 * shapes.hidden / rows",
        new="full = 4.0 * shapes.hidden / rows",
        asks=f"{COST}print(*(cost(dp=16, recompute=r).result.memory_per_chip_bytes"
        ' for r in ("full", "none")))',
        holds=grew,
    ),
    Change(
        wish="change the law of clock and power",
        old="1 + chip.voltage_slope * (clock - 1))",
        new="1 + 0.5 * chip.voltage_slope * (clock - 1))",
        asks=f"{COST}print(*(cost(dp=16, clock=f).result.energy_per_step_j for f in (0.8, 1.0)))",
        holds=grew,
    ),
    Change(
        wish="say something else about a plan",
        old="is none of the levels that the search tries",
        new="lies beside the levels that the search tries",
        asks=f"{COST}print(*cost(dp=16, clock=0.77).warnings)",
        holds=reworded("is none of the levels", "lies beside the levels"),
    ),
    Change(
        wish="accept another unit",
        old='"y": 31557600.0}',
        new='"y": 31557600.0, "w": 604800.0}',
        asks="from planner.base import errors, units\n"
        "try: print(units.parse_seconds('2w'))\n"
        "except errors.InputError as error: print(error)",
        holds=lambda before, after: "unknown unit" in before and after == "1209600.0",
    ),
)
