"""What becomes of the flags of Megatron-LM that say nothing of the plan, and of those that say all.

Every flag is read, refused or warned about by the other parts of this reader, or belongs to a
group of the parser's `--help` (`megatron_names.GROUPS`) that is decided here.
"""

from __future__ import annotations

from planner.base.messages import one_line, shown
from planner.frameworks.megatron.reading.names import known_flags
from planner.frameworks.reading.settings import LaunchSettings

ASSUMED = frozenset(
    {
        "transformer configuration", "network size", "mixed precision", "distributed init", "mla",
        "moe", "experimental_attention_variant", "Transformer-Engine", "experimental", "training",
    }
)  # fmt: skip
"""Groups whose flags the prediction has assumptions of its own about, where none is read."""
NO_PART = frozenset(
    {
        "regularization", "profiling", "rl", "RNG and initialization",
        "learning rate and weight decay", "checkpointing", "validation", "data and dataloader",
        "tokenizer", "autoresume", "biencoder", "vision", "heterogeneous architecture", "logging",
        "opentelemetry", "Logits Distillation", "straggler", "workload inspector", "inference",
        "one logger", "In-process restart", "ft_package", "rerun engine", "msc", "sft",
        "fault injector", "older versions",
    }
)  # fmt: skip
"""Groups whose flags change neither the time nor the memory of a step of training."""
_ELSEWHERE = {
    "--yaml-cfg": "a file takes the place of the arguments",
    "--use-checkpoint-args": "a checkpoint takes the place of the arguments",
    "--use-mp-args-from-checkpoint-args": "a checkpoint takes the place of the mesh",
}
_OTHER_JOBS = {
    "--perform-rl-step": "a job that no plan describes",
    "--skip-train": "a job that no plan describes",
}
_GONE = {
    "--batch-size": "--micro-batch-size",
    "--warmup": "--lr-warmup-fraction",
    "--model-parallel-size": "--tensor-model-parallel-size",
    "--checkpoint-activations": "--recompute-activations",
    "--no-position-embedding": "--position-embedding-type",
}
"""Flags that the parser has and `validate_args` stops at, and what takes their place."""
_ROTARY = "--use-rotary-position-embeddings"


def refuse_what_replaces(launch: LaunchSettings) -> None:
    """Notes flags after which the others say neither the model, the mesh nor the job."""
    for name, what in _ELSEWHERE.items():
        if name in launch.values:
            launch.wrong(name, f"{what}, which this text does not show; give them as arguments")
    rotary = _ROTARY in launch.values or launch.look("--position-embedding-type") == "rope"
    for name, other in _GONE.items():
        if name in launch.values and not (name == "--no-position-embedding" and rotary):
            launch.wrong(name, f"Megatron-LM no longer takes it; give {other}")
    for name, what in _OTHER_JOBS.items():
        if name in launch.values:
            launch.wrong(name, f"is {what}")


def warn_of_others(launch: LaunchSettings) -> None:
    """Notes layers that are frozen, and flags that are not known."""
    if "--freeze-all-layers" in launch.values:
        launch.warnings.append("--freeze-all-layers: the prediction trains all weights")
    known = known_flags()
    launch.warnings += [
        f"{shown(name)}: not known to this reader; the prediction leaves it out"
        for name in launch.values
        if name.startswith("--") and name not in known
    ]
    launch.warnings += [
        f"{one_line(name)}: is not known from the text; flags that it may hold are not read"
        for name in launch.values
        if name.startswith(("$", "`"))
    ]


def reasons() -> dict[str, str]:
    """Flag to why it has no part in a plan, where it is not read."""
    return {name: f"{title}: {_reason(title)}" for name, (_, title) in known_flags().items()}


def _reason(title: str) -> str:
    return "no part of a plan" if title in NO_PART else "part of the prediction's own assumptions"
