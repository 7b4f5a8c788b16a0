"""Recipes of NeMo 2 in Python: whole ones, with helpers beside them, and changes of named ones."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.megatron.dialects.named_recipes import NEMO, recipe_named
from planner.question.launch import LaunchRead, read_launch

HEAD = "import nemo_run as run\nfrom nemo.collections import llm\n"
OWN = """\
NAME = "llama3_70b"

def model():
    return run.Config(LlamaModel, config=run.Config(Llama3Config70B))

def trainer(tensor_parallelism: int = 4, chunks: Optional[int] = 5, num_nodes: int = 4):
    strategy = run.Config(
        nl.MegatronStrategy,
        tensor_model_parallel_size=tensor_parallelism,
        pipeline_model_parallel_size=4,
        virtual_pipeline_model_parallel_size=chunks,
        sequence_parallel=True,
        ddp=run.Config(Ddp, overlap_grad_reduce=True, overlap_param_gather=True),
    )
    return run.Config(
        nl.Trainer, devices=8, num_nodes=num_nodes, plugins=bf16_mixed(), strategy=strategy
    )

def pretrain_recipe(num_nodes: int = 8, performance_mode: bool = False) -> run.Partial:
    recipe = run.Partial(
        pretrain,
        model=model(),
        trainer=trainer(num_nodes=num_nodes),
        data=run.Config(MockDataModule, seq_length=8192, global_batch_size=512, micro_batch_size=1),
    )
    if performance_mode:
        recipe.trainer.strategy.tensor_model_parallel_size = 8
    return recipe

def finetune_recipe(peft: str = "lora") -> run.Partial:
    return default_finetune_recipe(model(), peft)
"""
CHANGED = (
    "recipe = llm.llama3_8b.pretrain_recipe(num_nodes=2, num_gpus_per_node=8)\n"
    "recipe.trainer.strategy.tensor_model_parallel_size = 4\n"
)


def read(text: str, folder: Path, function: str = "") -> LaunchRead:
    path = folder / "recipe.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return read_launch("auto", Path(f"{path}{function}"))


def test_a_recipe_all_of_whose_settings_stand_there(tmp_path: Path) -> None:
    for function in ("", "::pretrain_recipe"):
        found = read(OWN, tmp_path, function)
        plan, request = found.plan, found.request
        assert (plan.chips, plan.tp, plan.pp, plan.interleave, plan.dp) == (64, 4, 4, 5, 4)
        assert (plan.sharding, plan.sequence_parallel, plan.micro_batch) == ("zero1", True, 1)
        assert (request.model, request.precision) == ("llama3-70b", "bf16")
        assert (request.batch_tokens, request.seq_len) == (512 * 8192, 8192)
    with pytest.raises(InputError, match="finetune_recipe: what it trains stands in NeMo's own"):
        read(OWN, tmp_path, "::finetune_recipe")


@each(
    ("old", "new", "field", "value"),
    [
        ("bf16_mixed()", "bf16_with_fp8_current_scaling_mixed()", "fp8_recipe", "current"),
        ("bf16_mixed()", "run.Config(Mixed, precision='16-mixed')", "precision", "fp16"),
        ("Config70B", "Config8B", "model", "llama3-8b"),
        ("Config70B", "ConfigOurs", "model", "llama3-70b"),
        ("performance_mode: bool = False", "performance_mode: bool = True", "tp", 8),
        ("chunks: Optional[int] = 5", "chunks: Optional[int] = 1", "interleave", 1),
        (
            "sequence_parallel=True,",
            "sequence_parallel=True, fsdp='megatron',",
            "sharding",
            "zero3",
        ),
        ("overlap_grad_reduce=True", "grad_reduce_in_fp32=False", "framework", "megatron"),
        (
            "overlap_grad_reduce=True",
            "grad_reduce_in_fp32=True",
            "framework",
            "megatron-fp32-grads",
        ),
        ("chunks: Optional[int] = 5", "chunks: Optional[int] = 1", "pp", 4),
        ("    if performance_mode:", "    if num_nodes != 8:", "tp", 4),
        ("    if performance_mode:", "    if num_nodes is not None:", "tp", 8),
        ("pipeline_model_parallel_size=4", "pipeline_model_parallel_size=1", "pp", 1),
    ],
)
def test_what_its_settings_say(old: str, new: str, field: str, value: Any, tmp_path: Path) -> None:
    text = OWN.replace(old, new)
    if field in ("sharding", "interleave", "model") or value == 1:  # FSDP has no pipeline
        text = text.replace("parallel_size=4", "parallel_size=1").replace("= 5", "= 1")
    found = read(text, tmp_path)
    whole = found.plan if hasattr(found.plan, field) else found.request
    assert getattr(whole, field) == value


@each(
    ("old", "new"),
    [
        ("parallel_size=tensor_parallelism", "parallel_size=int(os.environ['TP'])"),
        ("parallel_size=tensor_parallelism", "parallel_size=tensor_parallelism + 1"),
        ("tensor_parallelism: int = 4", "tensor_parallelism: int = float('nan')"),
        ("trainer(num_nodes=num_nodes)", "trainer(tensor_parallelism=degree)"),
        ("trainer(num_nodes=num_nodes)", "trainer(degree())"),
        ("trainer(num_nodes=num_nodes)", "trainer(*degrees)"),
        ("trainer(num_nodes=num_nodes)", "trainer(**degrees)"),
        ("    strategy =", "    tensor_parallelism = max(8, tensor_parallelism)\n    strategy ="),
        ("    strategy =", "    for tensor_parallelism in (2, 8): pass\n    strategy ="),
    ],
)
def test_what_is_computed_is_no_default(old: str, new: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tensor_model_parallel_size is computed, and left out"):
        read(OWN.replace(old, new), tmp_path)


@each(
    ("old", "new", "said"),
    [
        ("trainer=trainer(num_nodes=num_nodes)", "trainer=other.trainer()", "trainer"),
        ("trainer=trainer(num_nodes=num_nodes)", "trainer=made", "trainer"),
        ("strategy=strategy", "strategy=strategies[0]", "trainer.strategy"),
        ("    return recipe", "    recipe.data = data()[0]\n    return recipe", "recipe.data"),
        ("    return recipe", "    setattr(recipe.data, n, 1)\n    return recipe", "recipe.data"),
        ("    return recipe", "    exec(n)\n    return recipe", "what `exec` sets"),
    ],
)
def test_nor_is_an_object_that_is_not_known(old: str, new: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf": {said} is computed, and left out"):
        read(OWN.replace(old, new), tmp_path)


def test_helpers_of_nemo_that_lie_beside_it(tmp_path: Path) -> None:
    helper, _, recipe = OWN.partition("def pretrain_recipe")
    (tmp_path / "llama.py").write_text(helper.replace("int = 4", "int = 2"))
    imported = "from nemo.collections.llm.recipes.llama import model, trainer\n"
    text = f'{imported}NAME = "llama3_70b"\ndef pretrain_recipe{recipe}'
    assert read(text, tmp_path).plan.tp == 2
    (tmp_path / "llama.py").write_text(
        helper.replace("plugins=bf16_mixed()", "plugins=p").replace(
            "    strategy =",
            "    p = None\n    if num_nodes == 8:\n        p = bf16_mixed()\n"
            "    elif num_nodes != 8:\n        p = fp16_mixed()\n    strategy =",
            1,
        )
    )
    assert read(text, tmp_path).request.precision == "bf16"


def test_a_program_that_changes_a_named_recipe(tmp_path: Path) -> None:
    found = read(f"{CHANGED}recipe.data.micro_batch_size = 2\nrun.run(recipe)\n", tmp_path)
    plan = found.plan
    # llama3_8b of NeMo: tp 1, pp 1, cp 2, 512 sequences of 8,192
    assert (plan.chips, plan.tp, plan.cp, plan.dp, plan.micro_batch) == (16, 4, 2, 2, 2)
    assert (found.request.model, found.request.batch_tokens) == ("llama3-8b", 512 * 8192)
    assert any((one.name, one.value) == ("recipe", "llama3_8b") for one in found.imported.assumed)
    faster = CHANGED.replace("num_nodes", "performance_mode=True, num_nodes")
    assert any("performance_mode: what it changes" in one
               for one in read(faster, tmp_path).imported.warnings)  # fmt: skip
    assert (
        read(f"{CHANGED}recipe.model.config.num_layers = 32\n", tmp_path).plan
        == read(CHANGED, tmp_path).plan
    )
    with pytest.raises(InputError, match="says no hidden; name its model with --model"):
        read(f"{CHANGED}recipe.model.config.num_layers = 7\n", tmp_path)


def test_the_kept_recipes_are_of_models_that_are_known() -> None:
    rows = [json.loads(line) for line in NEMO.file.read_text().splitlines()]
    assert rows[0]["source"] == NEMO.source
    assert len(rows) > 50
    for row in rows[1:]:
        assert recipe_named(NEMO, row["name"]) == row
        assert re.fullmatch(r"[a-z0-9.-]+", row["model"])
        assert row["values"]["global_batch_size"] % row["values"]["micro_batch_size"] == 0
