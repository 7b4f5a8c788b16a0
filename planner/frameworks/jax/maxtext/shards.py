"""Over which ranks MaxText divides the dimensions of a model's parameters.

MaxText e591f30 (2026-08-22), configs/base.yml `logical_axis_rules`, by the first rule of a name
whose axes divide no other dimension of the array (flax linen/spmd.py `_logical_to_mesh_axes`);
jax.jit with `out_shardings` (utils/maxtext_utils.py setup_initial_state) refuses a dimension that
its axes do not divide. The axis `expert` is taken from fsdp, so that these are the ranks:

- fsdp x cp: `embed`, `embed_vocab` (the hidden width, rule jax-hidden), `q_lora`, `kv_lora`;
  `embed_moe` fsdp / ep x cp, which divides what they do.
- tp: `vocab`, `heads` and `mlp` (rules heads and mlp-width), `kv_heads` (maxtext-kv-heads),
  `mlp_moe` (maxtext-experts), and `norm` where no sequences are divided by tp (axis `tensor`;
  `tensor_sequence` divides no norm).
- ep: `exp` (rule experts); pp: `layers` (maxtext-micro-batches, layers).

Rows of `vocab` that an export counts itself are padded to tp.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from frozen_records import dataclass
from models_db import Model
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.jax.maxtext.models import TOKEN_ROWS, name_of
from planner.frameworks.rules.numbers import divisors, nearest
from planner.frameworks.rules.rule import Rule
from planner.plan import Plan, PlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A dimension of parameters that MaxText divides.

    Attributes:
        title: What it counts.
        size: Of a model; 0 where it has none.
    """

    title: str
    size: Callable[[Model], int]


def _rows(model: Model) -> int:
    """Rows of the table of tokens where a name of MaxText says them."""
    name = name_of(model)
    return 0 if name is None else TOKEN_ROWS.get(name, model.vocab_size)


def _normed_head(model: Model) -> int:
    """Width of the norms of queries and keys."""
    return model.head_dim if model.attention.qk_norm == "per-head" else 0


HIDDEN = Dimension(title="hidden width", size=lambda m: m.hidden)
LATENTS = (
    Dimension(title="latents of queries", size=lambda m: m.attention.q_lora_rank or 0),
    Dimension(title="latents of keys and values", size=lambda m: m.attention.kv_lora_rank or 0),
)
ROWS = Dimension(title="rows of the table of tokens", size=_rows)
NORMS = (HIDDEN, *LATENTS, Dimension(title="width of normed heads", size=_normed_head))


def latents_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Latents divide over the ranks of fsdp and cp."""
    ranks, one = plans.fsdp * plans.cp, model.job.model
    return np.asarray(np.all([dim.size(one) % ranks == 0 for dim in LATENTS], axis=0))


def rows_and_norms_divide(model: CostModel, plans: PlanTable) -> BoolArray:
    """Tokens divide over tp, and norms where sequences do not."""
    one = model.job.model
    whole = np.all([dim.size(one) % plans.tp == 0 for dim in NORMS], axis=0)
    return np.asarray((ROWS.size(one) % plans.tp == 0) & (plans.sequence_parallel | whole))


def _undivided(dims: tuple[Dimension, ...], model: Model, ranks: int) -> str:
    """The first dimension that the ranks do not divide, with its size."""
    one = next(dim for dim in dims if dim.size(model) % ranks)
    return f"the {one.size(model)} {one.title} of {model.name}"


def _latents(model: CostModel, plan: Plan) -> str:
    one = model.job.model
    shared = math.gcd(*(dim.size(one) for dim in (HIDDEN, *LATENTS)))
    ranks = plan.fsdp * plan.cp
    fsdp = [n // plan.cp for n in divisors(shared) if n % (plan.cp * plan.ep) == 0]
    near = f"fsdp: {nearest(plan.fsdp, fsdp)}" if fsdp else ""
    return (
        f"maxtext divides {_undivided(LATENTS, one, ranks)} equally over fsdp {plan.fsdp} x cp "
        f"{plan.cp}; nearest {near or f'fsdp x cp: {nearest(ranks, divisors(shared))}'}"
    )


def _tensor_dims(plan: Plan) -> tuple[Dimension, ...]:
    return (ROWS,) if plan.sequence_parallel else (ROWS, *NORMS)


def _tensor(model: CostModel, plan: Plan) -> str:
    one, dims = model.job.model, _tensor_dims(plan)
    allowed = divisors(math.gcd(model.shapes.heads, *(dim.size(one) for dim in dims)))
    return (
        f"maxtext divides {_undivided(dims, one, plan.tp)} equally over tp {plan.tp}; nearest: "
        f"{nearest(plan.tp, allowed)}"
    )


_VERSION = "e591f30 (2026-08-22)"
_SOURCE = "MaxText configs/base.yml, logical_axis_rules"

MAXTEXT_SHARDS: tuple[Rule, ...] = (
    Rule(
        name="maxtext-latents",
        field="fsdp",
        framework="maxtext",
        version=_VERSION,
        source=f"{_SOURCE}: q_lora and kv_lora are sharded over fsdp, context and expert",
        holds=latents_divide,
        explain=_latents,
        launch=True,
    ),
    Rule(
        name="maxtext-tensor",
        field="tp",
        framework="maxtext",
        version=_VERSION,
        source=f"{_SOURCE}: vocab is sharded over tensor and tensor_sequence, norm over tensor",
        holds=rows_and_norms_divide,
        explain=_tensor,
        launch=True,
    ),
)
