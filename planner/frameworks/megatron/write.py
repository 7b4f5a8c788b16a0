"""Megatron-LM: a script with the call of pretrain_gpt.py, and its arguments alone."""

from __future__ import annotations

from planner.frameworks.megatron.writing.environment import environment
from planner.frameworks.megatron.writing.flags import Group, argument_text, flag
from planner.frameworks.megatron.writing.lost import lost_of
from planner.frameworks.megatron.writing.model import flags_of_weights, model_groups, model_lost
from planner.frameworks.megatron.writing.parallel import parallel_groups
from planner.frameworks.megatron.writing.script import host_start, launch_command, script_text
from planner.frameworks.writing.export import Export, TextFile
from planner.frameworks.writing.launch import Launch, Profiled
from planner.frameworks.writing.texts import left_to_weights

_STEPS = 100
SOURCES = {
    "0.16": "core 0.16.1, 55ac708251 (2026-03-16)",
    "0.19": "core 0.19.0, 5be9626709 (2026-08-19)",
    "0.18": "core 0.18.2, 571370c829 (2026-07-20)",
}
"""Version to what its flags were read from, by its own parser; 0.16 is the newest on PyPI."""


def export(launch: Launch) -> Export:
    """The plan as `run.sh` and `args.txt`; see `planner.frameworks.writing`."""
    groups, variables = all_groups(launch), environment(launch)
    source = launch.read_from(SOURCES)
    script = script_text(
        launch,
        framework=f"Megatron-LM, {source}",
        home="MEGATRON_HOME",
        program="pretrain_gpt.py",
        groups=groups,
        variables=variables,
    )
    return Export(
        target="megatron",
        version=launch.version,
        framework_version=source,
        files=(
            TextFile(name="run.sh", text=script),
            TextFile(name="args.txt", text=argument_text(groups)),
        ),
        command=launch_command(launch),
        environment=variables,
        lossy=(
            *lost_of(launch),
            *model_lost(launch),
            left_to_weights("Megatron-LM", flags_of_weights(launch)),
        ),
        start=host_start(
            "MEGATRON_HOME",
            f"the folder of Megatron-LM, {source}",
            ends=f"{steps(launch)} steps: --train-iters in run.sh",
            restarts="it saves no checkpoint; --save and --load of one folder go on from it",
        ),
    )


def steps(launch: Launch) -> int:
    """After how many a run ends."""
    return launch.profiled.steps if launch.profiled else _STEPS


def all_groups(launch: Launch) -> tuple[Group, ...]:
    """Every flag of a launch, in groups."""
    return (*model_groups(launch), *parallel_groups(launch), *_run(launch), _data(launch))


def _run(launch: Launch) -> tuple[Group, ...]:
    """Placeholders for what a plan does not say, and the profiler where it records."""
    profiled = launch.profiled
    training = Group(
        name="TRAINING_ARGS",
        comments=("Placeholders: how long and how fast it learns is no matter of the plan.",),
        flags=(
            flag("--train-iters", steps(launch)),
            flag("--lr", "1e-4"),
            flag("--clip-grad", "1.0"),
            flag("--eval-iters", 0),
            flag("--eval-interval", 1000),
            flag("--log-interval", 1),
            flag("--log-throughput"),
        ),
    )
    return (training,) if profiled is None else (training, _profiler(profiled))


def _profiler(profiled: Profiled) -> Group:
    """The profiler of PyTorch on the first rank.

    It writes into the folder of TensorBoard, or from 0.20 on into `torch_profile` beside it
    (megatron/training/training.py, train).
    """
    return Group(
        name="PROFILE_ARGS",
        flags=(
            flag("--profile"),
            flag("--use-pytorch-profiler"),
            flag("--profile-step-start", profiled.steps - profiled.recorded),
            flag("--profile-step-end", profiled.steps),
            flag("--profile-ranks", 0),
            flag("--tensorboard-dir", "tensorboard"),
        ),
    )


def _data(launch: Launch) -> Group:
    """Megatron-LM's own mock data."""
    return Group(
        name="DATA_ARGS",
        comments=("Mock data; --data-path and a tokenizer take its place.",),
        flags=(
            flag("--mock-data"),
            flag("--tokenizer-type", "NullTokenizer"),
            flag("--vocab-size", launch.model.vocab_size),
            flag("--split", "99,1,0"),
            flag("--no-create-attention-mask-in-dataloader"),
        ),
    )
