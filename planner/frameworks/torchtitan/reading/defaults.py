"""What a command of torchtitan 0.3 leaves to the configuration that `--config` names.

Every setting that is not overridden is that configuration's own; some of those that torchtitan
ships are known (`planner.frameworks.torchtitan.reading.registry`), and of others nothing is.
"""

from __future__ import annotations

from models_db import Model
from planner.base.messages import shown
from planner.frameworks.reading.settings import LaunchSettings
from planner.frameworks.torchtitan.reading.registry import REGISTRY, Registered
from planner.frameworks.torchtitan.reading.text import is_choice

MESH = {
    "parallelism.data_parallel_replicate_degree": "dp",
    "parallelism.data_parallel_shard_degree": "fsdp",
    "parallelism.tensor_parallel_degree": "tp",
    "parallelism.context_parallel_degree": "cp",
    "parallelism.pipeline_parallel_degree": "pp",
    "parallelism.expert_parallel_degree": "ep",
}
"""Settings of the mesh, with the field of a plan that each sets."""

BESIDE = (
    "training.seq_len",
    "training.local_batch_size",
    "training.mixed_precision_param",
    "activation_checkpoint.mode",
    "compile.enable",
    "parallelism.fsdp_reshard_after_forward",
)
"""Settings beside the mesh on which time and memory depend most."""


OF_MAIN = {
    "training.num_tokens_per_microbatch_per_dp_rank": "training.local_batch_size",
    "training.num_tokens_per_train_step": "training.global_batch_size",
    "training.max_context_length": "training.seq_len",
    "parallelism.num_pp_microbatches": "parallelism.pipeline_parallel_microbatch_size",
}
"""Settings of main b5bcd76 (torchtitan/config/configs.py), with the nearest one of 0.3."""


def module_of(launch: LaunchSettings) -> str:
    """The module that a command names, alone or by its path (0.3.0 config/manager.py)."""
    path = launch.text("module").removesuffix(".config_registry")
    return path.removeprefix("torchtitan.models.")


def registered(launch: LaunchSettings) -> Registered | None:
    """The configuration of torchtitan that a command names."""
    return REGISTRY.get((module_of(launch), launch.text("config")))


def fill(launch: LaunchSettings) -> None:
    """Puts in place what the named configuration sets and the command does not override."""
    one = registered(launch)
    if one is None:
        return
    for name, values in one.settings().items():
        if name not in launch.values:
            launch.values[name] = values
            launch.taken.add(name)
            launch.assume(name, ", ".join(values), f"--config {one.name} says so")


def check_known(launch: LaunchSettings, model: Model) -> None:
    """Notes what a command leaves to a configuration that is not known.

    A mesh that nothing says is an error; the rest are defaults of torchtitan, with a warning.
    """
    if registered(launch) is not None:
        return
    name = launch.text("config")
    whose = f"{shown(name)}, which this reader does not know" if name else "which is not named"
    unsaid = [
        (setting, field)
        for setting, field in MESH.items()
        if setting not in launch.values and (field != "ep" or model.moe is not None)
    ]
    for setting, field in unsaid:
        what = f"is left to --config, {whose}; say it on the command line"
        launch.unsupported(field, setting, what, f"{field}=1")
    if defaults := [one for one in BESIDE if one not in launch.values]:
        launch.warnings.append(
            f"config: {whose}: defaults of torchtitan are taken for {', '.join(defaults)}"
        )


def check_source(launch: LaunchSettings) -> None:
    """Notes settings that are those of another version."""
    for name, here in OF_MAIN.items():
        if name in launch.values:
            launch.wrong(
                name, f"is a setting of torchtitan main, which is not read; nearest of 0.3: {here}"
            )


def add_choices(launch: LaunchSettings) -> None:
    """Warns of optimizers with other states than Adam's in 32 bits, and of chosen sections.

    0.3.0 components/optimizer/optimizer.py, OptimizersContainer.Config; `activation-checkpoint:`
    is the only section whose kind its command line chooses (trainer.py, Trainer.Config).
    """
    name = "optimizer.implementation"
    if launch.look(name) == "fused_opt_states_bf16":
        launch.warnings.append(
            f"{name}: keeps moments in 16 bits: less memory than the answer counts"
        )
    for word in filter(is_choice, launch.values):
        launch.taken.add(word)
        what = "torchtitan 0.3.0 has this choice for activation-checkpoint alone and stops"
        adam = "; the answer counts Adam's two numbers per weight"
        launch.warnings.append(f"{word}: {what}{adam if word.startswith('optimizer') else ''}")
