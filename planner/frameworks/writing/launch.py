"""What an exporter reads: a plan of a job on a cluster, with the numbers that files ask for."""

from __future__ import annotations

from collections.abc import Mapping

from frozen_records import dataclass
from models_db import Model
from planner.cost.context import CostModel
from planner.cost.stages.layout import stage_layers
from planner.plan import Plan, code_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """A launch of few steps, the last of which PyTorch's profiler records.

    Attributes:
        steps: All of them.
        recorded: Those that are recorded, at the end.
    """

    steps: int
    recorded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One plan to be launched.

    Attributes:
        cost: Job, cluster and framework.
        plan: The plan.
        version: Version of the target's input.
        profiled: How few steps are run and recorded; None: it trains.
    """

    cost: CostModel
    plan: Plan
    version: str = ""
    profiled: Profiled | None = None

    def read_from(self, sources: Mapping[str, str]) -> str:
        """What the keys of its version were read from; of the first where it names none.

        Args:
            sources: Version, the default first, to release, commit and date.
        """
        return sources[self.version or next(iter(sources))]

    @property
    def model(self) -> Model:
        """The model that is trained."""
        return self.cost.job.model

    @property
    def seq_len(self) -> int:
        """Tokens per sequence."""
        return int(self.cost.job.seq_len)

    @property
    def global_batch(self) -> int:
        """Sequences per step."""
        return self.cost.job.global_batch

    @property
    def micro_batches(self) -> int:
        """Micro-batches of a step on one data rank: steps of gradient accumulation."""
        plan = self.plan
        return self.global_batch // (plan.dp * plan.fsdp * plan.micro_batch)

    @property
    def node_chips(self) -> int:
        """Chips per host: processes that one host starts."""
        return min(self.cost.cluster.node_chips, self.plan.chips)

    @property
    def nodes(self) -> int:
        """Hosts."""
        return -(-self.plan.chips // self.node_chips)

    @property
    def chunk_layers(self) -> tuple[int, ...]:
        """Transformer layers of every stage, with interleaving of every chunk, in pipeline order.

        Explicit stages as the plan has them; else by the plan's split rule. Empty where the rule
        does not divide the layers.
        """
        plan = self.plan
        if plan.stages is not None:
            return tuple(stage.layers for stage in plan.stages)
        dealt = stage_layers(self.model, plan.pp, plan.interleave, code_of("split", plan.split))
        return () if dealt is None else tuple(map(int, dealt))
