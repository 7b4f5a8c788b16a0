"""The fields of the question: name, help, unit, default and place of each, said once.

`Request` takes descriptions and defaults from here, and so the JSON Schema has them; the flags of
commands, the types of `planner.solve` and the table of the documentation are made from it too.
Types and ranges stand in `Request`. Loads nothing heavy, since `--help` reads it. A new field
begins in `job` or `search`; its type is a line of `Request`. Begin with `field`.
"""

from planner.question.asked.field import Asked
from planner.question.asked.job import JOB_FIELDS
from planner.question.asked.recovery import PRICE_FIELDS, RECOVERY_FIELDS
from planner.question.asked.run import RUN_FIELDS
from planner.question.asked.search import SEARCH_FIELDS
from planner.question.asked.upkeep import UPKEEP_FIELDS

__all__ = [
    "ASKED", "BY_NAME", "EXPORTED", "FEASIBLE", "REPLACED", "UPKEEP", "UPKEEP_ALONE", "WHOLE_RUN",
    "Asked",
]  # fmt: skip

ASKED: tuple[Asked, ...] = (
    *JOB_FIELDS, *SEARCH_FIELDS, *PRICE_FIELDS, *UPKEEP_FIELDS, *RECOVERY_FIELDS, *RUN_FIELDS,
)  # fmt: skip
"""All fields, in the order of `planner solve --help`."""
BY_NAME = {field.name: field for field in ASKED}
UPKEEP = tuple(field.name for field in (*UPKEEP_FIELDS, *RECOVERY_FIELDS))
"""Those about how a whole run is kept going: failures, checkpoints, spares."""
UPKEEP_ALONE = tuple(
    name for name in UPKEEP if name not in ("failure_domain", "on_failure", "peer_covers")
)
"""Those of them that are asked without a plan too: the others need its machine and its replicas."""
FEASIBLE = (
    "assumptions", "calibration", "collectives", "degrade_link", "set", "mfu", "torus_axes",
    "seq_len", "lengths", "precision", "job", "lora_rank", "adapter", "lora_targets",
    "lora_dropout", "reference", "frozen_weights", "optimizer",
    "framework", "era", "offload", "max_memory", "memory_margin", "max_oom_risk", "runnable_in",
    *UPKEEP,
)  # fmt: skip
"""Those that `planner feasible` has beside its own."""
REPLACED = (
    "hardware", "lengths", "precision", "frozen_weights", "optimizer", "framework", "era",
    "assumptions", "calibration", "collectives", "degrade_link", "set", "max_memory", "power_cap",
    "cooling", "pue", "memory_margin",
)  # fmt: skip
"""Those that may replace what a plan file says of its job."""
EXPORTED = ("optimizer",)
"""Those of the job that `planner export` may replace: its files say them."""
WHOLE_RUN = (
    "train_tokens", "price_per_chip_hour", "electricity_price", "carbon_intensity", "prices",
    *UPKEEP,
)  # fmt: skip
"""Those about the whole training run."""
