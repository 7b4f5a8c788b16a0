"""The bash script that starts a launch on every host with torchrun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.base.messages import printable
from planner.base.version import __version__
from planner.frameworks.megatron.writing.flags import Group, array_text
from planner.frameworks.writing.export import HostStart
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.torchrun import rank_comments, static_ranks
from planner.plan.words import recompute_words, sharding_words, split_words

SCRIPT = "run.sh"


def title(launch: Launch) -> tuple[str, ...]:
    """Which plan a text is about and which planner wrote it, a line each."""
    plan, job = launch.plan, launch.cost.job
    mesh = " ".join(f"{axis} {size}" for axis, size in plan.mesh.items() if size > 1) or "one chip"
    words = [mesh, f"micro-batch {plan.micro_batch}", sharding_words(plan)]
    words += [f"recompute {recompute_words(plan)}", f"split {split_words(plan)}"]
    if plan.pp > 1:
        words.append(f"schedule {plan.schedule}" + f" x {plan.interleave}" * (plan.interleave > 1))
    return (
        f"{printable(job.model.title)} on {plan.chips} chips of {launch.cost.cluster.name}, "
        f"{job.global_batch} sequences of {launch.seq_len} tokens a step.",
        f"Plan: {', '.join(words)}.",
        f"Written by planner {__version__}.",
    )


def launch_command(launch: Launch) -> str:
    """What is typed on every host."""
    if launch.nodes == 1:
        return f"bash {SCRIPT}"
    return f"MASTER_ADDR=HOST_0 NODE_RANK=0..{launch.nodes - 1} bash {SCRIPT}"


def host_start(home: str = "", what: str = "", **more: Any) -> HostStart:
    """What a host runs: the script, which has its environment and starts torchrun.

    Args:
        home: Variable that only the user can fill; empty: none.
        what: What it is.
        more: Further fields of `HostStart`.
    """
    needs = ((home, what),) if home else ()
    return HostStart(command=f"bash {SCRIPT}", needs=needs, **more)


def script_text(
    launch: Launch,
    *,
    framework: str,
    home: str,
    program: str,
    groups: Sequence[Group],
    variables: Sequence[tuple[str, str]],
) -> str:
    """The script.

    Args:
        launch: What it launches.
        framework: Name and version, as its first lines say.
        home: Variable that holds the directory of the framework's source.
        program: What torchrun starts, relative to that directory.
        groups: Its arguments.
        variables: Environment variables with their values.
    """
    exports = "\n".join(f"export {name}={value}" for name, value in variables)
    head = "\n".join(f"# {line}" for line in (*title(launch), f"For {framework}."))
    arrays = "\n\n".join(array_text(group) for group in groups if group.flags)
    names = [group.name for group in groups if group.flags]
    call = [
        'torchrun "${DISTRIBUTED_ARGS[@]}"',
        f'"${home}/{program}"',
        *(f'"${{{name}[@]}}"' for name in names),
    ]
    parts = (
        f"#!/bin/bash\n{head}",
        "set -euo pipefail",
        f"{home}=${{{home}:-.}}",
        _distributed(launch),
        exports,
        arrays,
        " \\\n    ".join(call),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _distributed(launch: Launch) -> str:
    """Arguments of torchrun; Slurm and the user may say which host this is."""
    return "\n".join(
        (
            *(f"# {line}" for line in rank_comments(launch)),
            "DISTRIBUTED_ARGS=(",
            *(f"    {option}" for option in static_ranks(launch)),
            ")",
        )
    )
