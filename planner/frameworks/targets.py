"""What a plan can be written for: the targets of `planner export` and `solve --runnable-in`."""

from __future__ import annotations

from dataclasses import dataclass

from planner.base.errors import InputError
from planner.base.messages import not_one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that runs plans.

    Attributes:
        name: As typed by the user.
        title: As its authors write it.
        framework: The framework (`planner.frameworks.profiles`) whose rules hold.
        writer: The module whose `export` writes plans for it.
        rules: Further owners of rules (`planner.frameworks.rules.Rule.framework`).
        lists_layers: Whether it is given the layers of every stage as a list, so that any split
            can be written; else its framework deals them out.
        versions: Versions of its input that can be written, the default first.
    """

    name: str
    title: str
    framework: str
    writer: str
    rules: tuple[str, ...] = ()
    lists_layers: bool = False
    versions: tuple[str, ...] = ("",)


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="megatron",
            title="Megatron-LM",
            framework="megatron",
            writer="planner.frameworks.megatron.write",
            lists_layers=True,
        ),
        Target(
            name="megatron-bridge",
            title="Megatron-Bridge",
            framework="megatron",
            writer="planner.frameworks.megatron.bridge.write",
            rules=("megatron-bridge",),
            lists_layers=True,
        ),
        Target(
            name="torchtitan",
            title="torchtitan",
            framework="torchtitan",
            writer="planner.frameworks.torchtitan.write",
            lists_layers=True,
            versions=("0.3", "0.2", "main"),
        ),
        Target(
            name="deepspeed",
            title="DeepSpeed",
            framework="deepspeed",
            writer="planner.frameworks.deepspeed.write",
            lists_layers=True,
        ),
        Target(
            name="accelerate",
            title="Hugging Face Accelerate",
            framework="fsdp",
            writer="planner.frameworks.accelerate.write",
        ),
        Target(
            name="maxtext",
            title="MaxText",
            framework="jax",
            writer="planner.frameworks.maxtext.write",
            rules=("maxtext",),
        ),
        Target(name="jax", title="JAX", framework="jax", writer="planner.frameworks.jax.write"),
        Target(
            name="nanotron",
            title="Nanotron",
            framework="nanotron",
            writer="planner.frameworks.nanotron.write",
        ),
    )
}


def target_named(name: str) -> Target:
    """The target of that name.

    Raises:
        InputError: The name is unknown; the message lists the known ones.
    """
    if name not in TARGETS:
        raise InputError(f"to: {not_one_of(name, TARGETS)}")
    return TARGETS[name]
