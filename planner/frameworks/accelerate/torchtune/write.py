"""Plans for torchtune: a configuration of one of its recipes.

Sources: torchtune 0.6.1 recipes/*.py (the keys that a recipe reads), models/*/_model_builders.py,
datasets/_text_completion.py and _preference.py.
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.accelerate.examples import RESULTS, losses_of_pairs, rows_of
from planner.frameworks.accelerate.torchtune.models import MODELS, Built
from planner.frameworks.accelerate.tuning import data_linked
from planner.frameworks.accelerate.write import comments_of_tuning
from planner.frameworks.hugging_face.adapters import alpha_of
from planner.frameworks.writing.chosen import common_recompute
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.torchrun import (
    FIRST_HOST,
    beside_gpus,
    host_variables,
    static_ranks,
)
from strict_yaml.writing import dump

SOURCES = {
    "0.6.1": "torchtune 0.6.1 (PyPI)",
    "0.6.0": "torchtune 0.6.0 (PyPI)",
}
"""Version to what its keys were read from."""
FILE, DATA = "torchtune.yaml", "data.jsonl"
STEPS = 30
NEAREST = "llama3.1-8b"
"""What is written on demand for a model that there is none of."""
WEIGHTS = "${oc.env:MODEL}"
_NAMES = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "output_proj"}


def export(launch: Launch) -> Export:
    """A plan for torchtune; see `planner.frameworks.writing.Export`."""
    comment = comments_of_tuning(launch, f"{launch.read_from(SOURCES)} and torchao 0.10")
    options = () if launch.plan.chips == 1 else _ranks(launch)
    command = " ".join(["tune run", *options, recipe(launch), f"--config {FILE}"])
    bound = beside_gpus(launch, "tune", 'run --numa-binding node "${@:2}"') if options else ()
    return Export(
        target="torchtune",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(TextFile(name=FILE, text=comment + dump(settings(launch))),),
        command=command,
        environment=(("MODEL", "FOLDER_OF_THE_WEIGHTS"), *host_variables(launch)),
        lossy=_losses(launch),
        start=HostStart(
            command=data_linked(DATA, command),
            needs=(
                ("MODEL", "the folder of the weights"),
                ("DATA", f"the file that stands for {DATA}"),
            ),
            binding=bound,
            results=RESULTS,
            ends=f"{STEPS} steps: max_steps_per_epoch in {FILE}",
            restarts=f"it saves at the end of an epoch; with resume_from_checkpoint in {FILE} it "
            "goes on from there",
        ),
    )


def _ranks(launch: Launch) -> tuple[str, ...]:
    """Options of torchrun; without an end point each host would train alone (_cli/run.py)."""
    if launch.nodes == 1:
        return (f"--nproc-per-node {launch.node_chips}",)
    return (*static_ranks(launch), f'--rdzv-endpoint "{FIRST_HOST}"')


def recipe(launch: Launch) -> str:
    """The recipe that runs the job."""
    job, where = launch.cost.job, "single_device" if launch.plan.chips == 1 else "distributed"
    what = "full" if job.trains_all else "lora"
    return f"{what}_{'dpo' if job.reference else 'finetune'}_{where}"


def settings(launch: Launch) -> dict[str, Any]:
    """The file of `--config`, whose data set is read from lines of JSON beside it."""
    job, plan = launch.cost.job, launch.plan
    own = MODELS.get(launch.model.name, MODELS[NEAREST])
    found: dict[str, Any] = {
        "output_dir": RESULTS,
        "model": _model(launch, own),
        "tokenizer": _tokenizer(launch, own),
        "checkpointer": _checkpointer(own),
        "resume_from_checkpoint": False,
        **(_pairs(launch, own) if job.reference else _texts()),
        "seed": 0,
        "shuffle": True,
        "batch_size": rows_of(launch),
        "gradient_accumulation_steps": launch.micro_batches,
        "epochs": 1,
        "max_steps_per_epoch": STEPS,
        "optimizer": {
            "_component_": "torch.optim.AdamW",
            "fused": True,
            "lr": 1e-5 if job.trains_all else 3e-4,
        },
        **_schedule(launch),
        "device": "cuda",
        "dtype": job.precision,
        "enable_activation_checkpointing": common_recompute(launch) == "full",
        "enable_activation_offloading": False,
        "fsdp_cpu_offload": bool(plan.offload),
        "fsdp_reshard_after_forward": True,
        "metric_logger": {
            "_component_": "torchtune.training.metric_logging.DiskLogger",
            "log_dir": f"{RESULTS}/logs",
        },
        "log_every_n_steps": 1,
        "log_peak_memory_stats": True,
    }
    if job.trains_all or not job.reference:  # the recipe of pairs with adapters reads neither
        found |= {"compile": True, "clip_grad_norm": None}
    return found


def _schedule(launch: Launch) -> dict[str, Any]:
    """Recipes with adapters read a schedule of the learning rate."""
    if launch.cost.job.trains_all:
        return {}
    name = "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup"
    return {
        "lr_scheduler": {"_component_": name, "num_warmup_steps": 10},
        "save_adapter_weights_only": True,
    }


def _model(launch: Launch, own: Built) -> dict[str, Any]:
    job = launch.cost.job
    if job.trains_all:
        return {"_component_": f"torchtune.models.{own.module}.{own.builder}"}
    return {
        "_component_": f"torchtune.models.{own.module}.lora_{own.builder}",
        "lora_attn_modules": [_NAMES[name] for name in job.adapted if name in _NAMES],
        "apply_lora_to_mlp": "up" in job.adapted,
        "lora_rank": job.lora_rank,
        "lora_alpha": alpha_of(job),
        "lora_dropout": job.lora_dropout,
        "use_dora": job.adapter == "dora",
        "quantize_base": job.widens,
    }


def _tokenizer(launch: Launch, own: Built) -> dict[str, Any]:
    paths = {
        "QWEN2": {"path": f"{WEIGHTS}/vocab.json", "merges_file": f"{WEIGHTS}/merges.txt"},
        "LLAMA3": {"path": f"{WEIGHTS}/original/tokenizer.model"},
    }
    found = paths.get(own.kind, {"path": f"{WEIGHTS}/tokenizer.model"})
    return {"_component_": own.tokenizer, **found, "max_seq_len": launch.seq_len}


def _checkpointer(own: Built) -> dict[str, Any]:
    return {
        "_component_": "torchtune.training.FullModelHFCheckpointer",
        "checkpoint_dir": WEIGHTS,
        "checkpoint_files": {"filename_format": own.form, "max_filename": f"{own.files:05}"},
        "recipe_checkpoint": None,
        "output_dir": "${output_dir}",
        "model_type": own.kind,
    }


def _texts() -> dict[str, Any]:
    """Texts fill sequences; attention ends with each of them (datasets/_packed.py)."""
    return {
        "dataset": {
            "_component_": "torchtune.datasets.text_completion_dataset",
            "source": "json",
            "data_files": DATA,
            "column": "text",
            "packed": True,
        },
        "loss": {"_component_": "torchtune.modules.loss.CEWithChunkedOutputLoss"},
    }


def _pairs(launch: Launch, own: Built) -> dict[str, Any]:
    found: dict[str, Any] = {
        "dataset": {
            "_component_": "torchtune.datasets.preference_dataset",
            "source": "json",
            "data_files": DATA,
        },
        "loss": {"_component_": "torchtune.rlhf.loss.DPOLoss", "beta": 0.1},
    }
    if launch.cost.job.trains_all:
        found["ref_checkpointer"] = _checkpointer(own)
    return found


def _losses(launch: Launch) -> tuple[Lost, ...]:
    job = launch.cost.job
    keys = "chosen and rejected conversations" if job.reference else "text"
    found = [
        Lost("model", "the environment variable MODEL names the folder of the weights; "
             f"{DATA} has lines of JSON with {keys}"),
    ]  # fmt: skip
    if job.reference and not job.trains_all:
        found.append(Lost("framework", "the recipe of pairs with adapters does not compile"))
    return (*found, *losses_of_pairs(launch), *lost_clock(launch))
