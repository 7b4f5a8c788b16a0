"""The rules of torchtitan about models and jobs, which differ between its versions.

Which models a version ships: `planner.frameworks.torchtitan.models`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray
from planner.cost.context import CostModel
from planner.frameworks.rules import alike, shared
from planner.frameworks.rules.numbers import nearest, nearest_divisors
from planner.frameworks.rules.rule import Rule
from planner.frameworks.torchtitan.models import FLAVORS, Flavor, builds_llama, flavor_of
from planner.plan import DDP, Plan, PlanTable

PRECISIONS = ("bf16", "fp32")
SOURCES = {
    "0.2": "v0.2.2 73a0e69 (2026-02-20)",
    "0.3": "0.3.0 (PyPI)",
    "main": "main b5bcd76 (2026-08-21)",
}
"""Version of `planner.frameworks.targets` to what was read."""


def known_precision(model: CostModel, plans: PlanTable) -> BoolArray:
    """Matrices are multiplied as they are stored."""
    return np.full(len(plans), model.job.precision in PRECISIONS)


def sequence_parallel(model: CostModel, plans: PlanTable) -> BoolArray:
    """Tensor parallelism divides the norms too."""
    return np.asarray((plans.tp == 1) | plans.sequence_parallel)


@dataclass(frozen=True, slots=True)
class Models:
    """Predicates about the models of one version, a key of `SOURCES`."""

    version: str

    def known(self, model: CostModel, plans: PlanTable) -> BoolArray:
        """The version ships the model, or builds it as it does Llama 3."""
        built = builds_llama(model.job.model, self.version)
        return np.full(len(plans), built or self._flavor(model) is not None)

    def unknown(self, model: CostModel, plan: Plan) -> str:
        """Which models there are, in one sentence."""
        shipped = dict.fromkeys(one.module for one in FLAVORS if self.version in one.versions)
        tied = " with a head of its own" if self.version == "0.2" else ""
        return (
            f"torchtitan {self.version} has no model with the dimensions of "
            f"{model.job.model.name}; it has those of {', '.join(shipped)}, and any that is built "
            f"as llama3{tied}"
        )

    def contexts_split(self, model: CostModel, plans: PlanTable) -> BoolArray:
        """The version has context parallelism for the model."""
        flavor = self._flavor(model)
        splits = flavor is None or self.version in flavor.splits_context
        return np.asarray((plans.cp == 1) | splits)

    def unsplit(self, model: CostModel, plan: Plan) -> str:
        """Whose contexts are not split, in one sentence."""
        return (
            f"torchtitan {self.version} does not split the contexts of {model.job.model.name}: "
            f"cp {plan.cp} must be 1"
        )

    def short(self, model: CostModel, plans: PlanTable) -> BoolArray:
        """The model has positions for whole sequences."""
        flavor = self._flavor(model)
        return np.full(len(plans), flavor is None or model.job.seq_len <= flavor.longest)

    def long(self, model: CostModel, plan: Plan) -> str:
        """How long sequences may be, in one sentence."""
        flavor = self._flavor(model)
        most = flavor.longest if flavor else model.job.seq_len
        return (
            f"torchtitan {self.version} has {model.job.model.name} with at most {most} tokens per "
            f"sequence, not {model.job.seq_len}"
        )

    def _flavor(self, model: CostModel) -> Flavor | None:
        return flavor_of(model.job.model, self.version)


def context_fused(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences are divided where cuDNN or FlashAttention runs; Intel's GPUs have others."""
    return np.asarray((plans.cp == 1) | (not alike.keeps_scores(model)))


def early_sequence(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences divide over 2 cp tp, whatever is parallel; odd ones are another rule's matter."""
    whole = model.job.seq_len % (2 * plans.cp * plans.tp) == 0
    return np.asarray(whole | ~even_sequence(model, plans) | model.assumptions.token_granularity)


def even_sequence(model: CostModel, plans: PlanTable) -> BoolArray:
    """Sequences have an even number of tokens."""
    even = model.job.seq_len % 2 == 0 or model.assumptions.token_granularity
    return np.full(len(plans), even)


def early_replicas(model: CostModel, plans: PlanTable) -> BoolArray:
    """Without sharding there is data parallelism alone, or none; cp is another rule's matter."""
    alone = (plans.dp == 1) | (plans.dp == plans.chips)
    return np.asarray((plans.sharding != DDP) | alone | (plans.cp > 1))


def _even_nearby(tokens: int) -> str:
    return nearest(tokens, [even for even in (tokens - 1, tokens + 1) if even > 0])


def _only(version: str) -> partial[Rule]:
    """What rules of one version alone have in common."""
    return partial(
        Rule,
        framework="torchtitan",
        version=SOURCES[version],
        launch=True,
        versions=(version,),
    )


def _model(version: str) -> Rule:
    models = Models(version)
    return _only(version)(
        name=f"torchtitan-model-{version}",
        field="model",
        source="torchtitan models/*/__init__.py: tables of configurations; a configuration of "
        "Llama 3 with other dimensions can be added",
        holds=models.known,
        explain=models.unknown,
    )


def _contexts(version: str) -> Rule:
    models = Models(version)
    return _only(version)(
        name=f"torchtitan-contexts-{version}",
        field="cp",
        source="torchtitan models/*/infra/parallelize.py: not every model takes cp > 1",
        holds=models.contexts_split,
        explain=models.unsplit,
    )


def _positions(version: str) -> Rule:
    models = Models(version)
    return _only(version)(
        name=f"torchtitan-positions-{version}",
        field="seq_len",
        source="torchtitan models/*/__init__.py: positions of the rotary table",
        holds=models.short,
        explain=models.long,
    )


_DIVISOR = (
    "torchtitan v0.2.2 distributed/parallel_dims.py: seq_len_divisor = tp * 2 cp, asserted in "
    "models/*/infra/parallelize.py; later versions double cp above 1 only (trainer.py)"
)

TORCHTITAN_VERSIONS: tuple[Rule, ...] = (
    *map(_model, SOURCES),
    *map(_contexts, SOURCES),
    *map(_positions, ("0.3", "main")),  # 0.2 makes the table as long as the sequence
    _only("0.2")(
        name="torchtitan-sequence-0.2",
        field="cp",
        source=_DIVISOR,
        holds=early_sequence,
        explain=lambda c, p: (
            f"torchtitan 0.2 needs sequences that are a multiple of 2 x cp {p.cp} x tp {p.tp}, not "
            f"of {c.job.seq_len} tokens; nearest cp x tp: "
            f"{nearest_divisors(p.cp * p.tp, int(c.job.seq_len) // 2)}"
        ),
    ),
    _only("0.2")(
        name="torchtitan-context-kernel-0.2",
        field="cp",
        source="torchtitan v0.2.2 models/attention.py: cuDNN, flash or plain products; PyTorch "
        "distributed/tensor/experimental/_context_parallel/_attention.py divides no plain ones",
        holds=context_fused,
        explain=lambda c, p: (
            "torchtitan 0.2 divides sequences in 16 bits, on NVIDIA's chips from Ampere on, not in "
            f"{c.job.precision} on {c.chip.title}: cp {p.cp} must be 1"
        ),
    ),
    _only("0.2")(
        name="torchtitan-even-sequence-0.2",
        field="seq_len",
        source=_DIVISOR,
        holds=even_sequence,
        explain=lambda c, p: (
            "torchtitan 0.2 needs an even number of tokens in a sequence whatever cp and tp are, "
            f"not {c.job.seq_len}; nearest: {_even_nearby(int(c.job.seq_len))}"
        ),
    ),
    _only("0.2")(
        name="torchtitan-sequence-parallel-0.2",
        field="sequence_parallel",
        source="torchtitan v0.2.2 models/llama3/infra/parallelize.py: norms are sequence parallel",
        holds=sequence_parallel,
        explain=lambda c, p: (
            f"torchtitan 0.2 has sequence parallelism wherever tp > 1 (tp {p.tp}); set it"
        ),
    ),
    _only("0.2")(
        name="torchtitan-ddp-0.2",
        field="sharding",
        source="torchtitan v0.2.2 models/llama3/infra/parallelize.py: DDP has not supported > 1D "
        "parallelism; later versions replicate by FSDP with one shard",
        holds=early_replicas,
        per_stage=True,
        explain=lambda c, p: (
            f"torchtitan 0.2 has ddp without tp and pp only, not with dp {p.dp}, tp {p.tp}, "
            f"pp {p.pp}; use zero3"
        ),
    ),
    _only("0.2")(
        name="torchtitan-moments-0.2",
        field="optimizer",
        source="torchtitan v0.2.2 config/job_config.py: optimizer.implementation is for-loop, "
        "foreach or fused; 0.3.0 has fused_opt_states_bf16",
        holds=shared.steps_by_adam,
        explain=lambda c, p: (
            f"torchtitan 0.2 keeps moments in the format of the weights, not as {c.job.optimizer}; "
            "nearest: adam"
        ),
    ),
    Rule(
        name="torchtitan-precision",
        field="precision",
        framework="torchtitan",
        version=SOURCES["main"],
        source="torchtitan config/configs.py: training.mixed_precision_param; other formats are "
        "converters of a model (components/quantization)",
        holds=known_precision,
        explain=lambda c, p: (
            f"torchtitan runs in {', '.join(PRECISIONS)} without a converter, not in "
            f"{c.job.precision}; nearest: bf16"
        ),
        launch=True,
    ),
    Rule(
        name="torchtitan-adapters",
        field="job",
        framework="torchtitan",
        version=SOURCES["main"],
        source="torchtitan train.py: the optimizer has all weights, but with a converter for LoRA",
        holds=shared.no_adapters,
        explain=lambda c, p: "torchtitan trains all weights; job lora must be finetune",
        launch=True,
    ),
)
"""Each of some versions, or of all."""
