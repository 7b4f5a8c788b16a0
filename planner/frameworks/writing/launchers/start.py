"""The script of one host: its number, its environment, and what it runs."""

from __future__ import annotations

from collections.abc import Sequence

from planner.cost.context import mesh_of
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers.launcher import Job
from planner.frameworks.writing.texts import made_by
from planner.frameworks.writing.torchrun import FIRST_PORT, beside_gpus, rank_comments
from planner.network.where import crossed_levels
from planner.plan import PlanTable

ALONE = ("NODE_RANK=0", "MASTER_ADDR=localhost")
"""Which host it is, where there is one."""
_NCCL = """\
# The prediction leaves algorithm and protocol to {library}, which finds the network cards of the
# rails and the interface of the first contact by itself; name yours where it does not.
unset NCCL_ALGO NCCL_PROTO
# export NCCL_IB_HCA=
# export NCCL_SOCKET_IFNAME="""


def start_text(job: Job, which: Sequence[str], usage: Sequence[str]) -> str:
    """The script.

    Args:
        job: Whose.
        which: Lines of bash that set `NODE_RANK` and `MASTER_ADDR`.
        usage: Lines that say who runs it.
    """
    comments = (made_by(job.launch), *usage, *rank_comments(job.launch))
    parts = (
        "#!/bin/bash\n" + "\n".join(f"# {line}" for line in comments),
        "set -euo pipefail",
        "\n".join(which),
        f'export NODE_RANK MASTER_ADDR MASTER_PORT="{FIRST_PORT}" NNODES={job.launch.nodes}',
        needs_text(job),
        "\n".join(f'[[ -n "${{{name}:-}}" ]] || unset {name}' for name, _ in job.start.wants),
        _NCCL.format(library=job.device.collectives) if job.device.collectives else "",
        _binding(job),
        "\n".join(f'export {name}="{value}"' for name, value in job.start.environment),
        job.start.command,
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def levels_text(launch: Launch) -> str:
    """Which axis of the mesh crosses which levels of the network, as the prediction has it."""
    mesh = mesh_of(PlanTable.from_plans([launch.plan]))
    crossed = crossed_levels(launch.cost.fabric(launch.plan.chips), mesh)
    sizes = launch.plan.mesh
    named = [f"{axis} {sizes[axis]} over {' and '.join(names)}" for axis, names in crossed.items()]
    return f"Predicted with {', '.join(named) or 'one chip'}."


def needs_text(job: Job) -> str:
    """Lines that end a script, with what is missing, where the user filled a variable not in."""
    return "\n".join(f': "${{{name}:?is {what}}}"' for name, what in job.start.needs)


def _binding(job: Job) -> str:
    """How processes keep to cores; one that has all chips of its host has all of its cores."""
    if job.start.binding:
        return "\n".join(job.start.binding)
    if job.processes != "chips":
        return ""
    return "\n".join(beside_gpus(job.launch, "torchrun", '--numa-binding node "$@"'))
