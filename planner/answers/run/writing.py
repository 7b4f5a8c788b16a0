"""Which ranks write a checkpoint, how much each, and whether their hosts have room for it."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.cost.goodput.checkpoints import checkpoint_bytes
from planner.frameworks.checkpoints import ONE, REPLICA, SHARDS, checkpoint_of
from planner.frameworks.registry import framework_of
from planner.plan import Plan
from planner.results.recovery import Writing


def writing(
    model: CostModel, plan: Plan, copied_bytes: float, host_bytes: float, form: str | None
) -> Writing | None:
    """Who writes the checkpoints of a plan; None: no form of its framework is known.

    Args:
        model: Job, cluster and framework.
        plan: The plan.
        copied_bytes: What its fullest rank copies.
        host_bytes: Of host memory per chip that is taken already.
        form: Of the checkpoint, as asked for; None: the usual one.
    """
    framework = framework_of(model.framework.name)
    if framework is None:
        return None
    try:
        found = checkpoint_of(framework, form, plan)
    except InputError:
        return None
    if not found.writers:
        return None
    ranks = _ranks(plan, found.writers)
    whole = checkpoint_bytes(model.job)
    each = copied_bytes if found.writers == SHARDS else whole / ranks
    on_node = min(model.cluster.node_chips, ranks)
    return Writing(
        form=found.name,
        ranks=ranks,
        bytes_each=each,
        host_bytes=on_node * each + model.cluster.node_chips * host_bytes,
        host_room_bytes=model.cluster.node_chips * model.chip.host_memory_bytes,
    )


def _ranks(plan: Plan, writers: str) -> int:
    """How many ranks write something."""
    replica = plan.tp * plan.pp * plan.expert_ranks
    if writers == ONE:
        return 1
    alike = writers == SHARDS and plan.sharding == "ddp"
    return min(replica, plan.chips) if alike or writers == REPLICA else plan.chips
