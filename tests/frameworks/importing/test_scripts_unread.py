"""Launches whose settings stand elsewhere: read with the file beside them, or told what to give."""

import re
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.yaml_files import last_of_repeated, yaml_settings
from planner.question.launch import read_launch

GOLDEN = Path(__file__).parents[1] / "export" / "golden" / "torchtitan-0.2"
CHANGED = "    cfg = our_70b_pretrain_config({})\n    cfg.model.tensor_model_parallel_size = 4\n"
BRIDGE = "from megatron.bridge.recipes.llama import llama3_70b_pretrain_config\n"
KNOWN = CHANGED.replace("our_", "llama3_")
ELSEWHERE = "builds on (our|llama3)_70b_pretrain_config, which stands in another file"


def read(text: str, folder: Path, name: str = "launch", source: str = "auto"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_launch(source, path, {"model": "llama3-70b", "hardware": "dgx-h100-ndr"})


@each(
    "text",
    [
        f"def mine():\n{CHANGED.format('')}    return cfg\n",
        f"def mine():\n{CHANGED.format('tensor_model_parallel_size=4')}    return cfg\n",
        "cfg = llama3_70b_pretrain_config(tensor_model_parallel_size=4)\npretrain(config=cfg)\n",
        f"def mine():\n{KNOWN.format('tensor_model_parallel_size=4')}    return cfg\n",
        "def main():\n    cfg = our_70b_pretrain_config()\n    pretrain(cfg)\n\nmain()\n",
        "def mine() -> ConfigContainer:\n    return our_70b_pretrain_config()\n",
    ],
)
def test_a_recipe_over_one_of_another_file(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=ELSEWHERE):
        read(BRIDGE + text, tmp_path)


def test_a_recipe_of_a_diffusion_model(tmp_path: Path) -> None:
    text = "from megatron.bridge.diffusion.models import WanModelProvider\n"
    with pytest.raises(InputError, match="trains a diffusion model, which no plan says"):
        read(text + BRIDGE + f"def mine():\n{KNOWN.format('')}    return cfg\n", tmp_path)


def test_a_program_that_imports_and_sets_nothing(tmp_path: Path) -> None:
    text = 'from megatron.bridge import AutoBridge\nAutoBridge.from_hf_pretrained("a/llama3-8b")\n'
    with pytest.raises(InputError, match="the program sets nothing of a recipe"):
        read(text, tmp_path)


def test_a_recipe_over_one_of_the_same_file(tmp_path: Path) -> None:
    base = (
        "def our_70b_pretrain_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
        "    cfg.model.pipeline_model_parallel_size = 4\n    return cfg\n\n"
    )
    text = f"{base}def mine():\n{CHANGED.format('')}    return cfg\n"
    (tmp_path / "recipes.py").write_text(text, encoding="utf-8")
    path = tmp_path / "recipes.py::mine"
    plan = read_launch("auto", path, {"model": "llama3-70b", "hardware": "dgx-h100-ndr"}).plan
    assert (plan.tp, plan.pp) == (4, 4)


@each(
    ("text", "changed"),
    [
        ("    return cfg\n", {}),
        ("    cfg.model.pipeline_model_parallel_size *= 2\n    return cfg\n", None),
        ("    cfg.train.micro_batch_size = 2\n    return cfg\n", {"micro_batch": 2}),
        ("    cfg.train.micro_batch_size = size()\n    return cfg\n", None),
        ("    if long:\n        cfg.model.context_parallel_size = 4\n    return cfg\n", None),
        ("    x = 2\n    x *= 2\n    cfg.train.micro_batch_size = x\n", {"micro_batch": 4}),
    ],
)
def test_a_recipe_over_a_named_one_of_the_framework(
    text: str, changed: dict[str, int] | None, tmp_path: Path
) -> None:
    whole = f"{BRIDGE}def mine():\n{KNOWN.format('')}{text}    pretrain(cfg)\n"
    (tmp_path / "mine.py").write_text(whole, encoding="utf-8")
    if changed is None:
        with pytest.raises(
            InputError, match=r"line \d: cfg\.\w+\.\w+ is computed, and left out; write"
        ):
            read_launch("auto", tmp_path / "mine.py")
        return
    found = read_launch("auto", tmp_path / "mine.py")
    plan = found.plan
    # llama3_70b_pretrain_32gpu_h100_bf16_config: tp 4, pp 4 in 5 chunks, cp 2, 512 sequences
    assert (plan.chips, plan.tp, plan.pp, plan.cp, plan.interleave) == (32, 4, 4, 2, 5)
    assert plan.micro_batch == changed.get("micro_batch", 1)
    assert (found.request.model, found.request.batch_tokens) == ("llama3-70b", 512 * 8192)
    assert any(one.name == "llama3_70b_pretrain_config" for one in found.imported.assumed)


def test_functions_that_do_not_say_what_they_return(tmp_path: Path) -> None:
    text = f"{BRIDGE}def a():\n    return 1\n\ndef b():\n{CHANGED.format('')}    return cfg\n"
    with pytest.raises(InputError, match="name one as FILE::FUNCTION, of a, b"):
        read(text, tmp_path)


@each(("folder", "model"), [("uneven", "llama2-13b"), ("dense-sharded", "llama3-8b")])
def test_a_command_with_its_file_of_settings(folder: str, model: str) -> None:
    """What the command starts and what the file says are one launch, as of the file alone."""
    asked = {"model": model, "hardware": "dgx-h100-ndr"}
    command = read_launch("auto", GOLDEN / folder / "launch.txt", asked)
    chips = {"chips": command.plan.chips}
    alone = read_launch("torchtitan", GOLDEN / folder / "torchtitan.toml", {**asked, **chips})
    assert command.plan == alone.plan
    assert command.request == alone.request


TRAIN = (
    "#!/bin/bash\nNGPU=${NGPU:-8}\nTRAIN_FILE=${TRAIN_FILE:-torchtitan.train}\n"
    "CONFIG_FILE=${CONFIG_FILE:-./train_configs/a.toml}\n"
    "torchrun --nnodes 2 --nproc_per_node=${NGPU} -m ${TRAIN_FILE} "
    '--job.config_file ${CONFIG_FILE} "$@"\n'
)
SETTINGS = (
    '[model]\nname = "llama3"\nflavor = "70B"\n[training]\nlocal_batch_size = 2\n'
    "seq_len = 4096\n[parallelism]\ntensor_parallel_degree = 8\n"
)


@each("place", ["train_configs/a.toml", "a.toml"])
def test_overrides_of_a_file(place: str, tmp_path: Path) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(SETTINGS, encoding="utf-8")
    found = read(TRAIN, tmp_path)
    assert (found.plan.chips, found.plan.tp, found.plan.fsdp) == (16, 8, 2)
    asked = {"model": "llama3-70b", "hardware": "dgx-h100-ndr"}
    more = "launch::--parallelism.tensor_parallel_degree=4 --training.seq_len 8192"
    found = read_launch("auto", tmp_path / more, asked)
    assert (found.plan.chips, found.plan.tp, found.plan.fsdp) == (16, 4, 4)
    assert found.request.seq_len == 8192


def test_a_file_of_settings_that_the_script_writes(tmp_path: Path) -> None:
    document = f"cat > ./train_configs/a.toml <<EOF\n{SETTINGS}EOF\ntorchrun"
    found = read(TRAIN.replace("torchrun", document), tmp_path)
    assert (found.plan.chips, found.plan.tp, found.plan.fsdp) == (16, 8, 2)


def test_a_file_of_settings_that_lies_elsewhere(tmp_path: Path) -> None:
    line = "'./train_configs/a.toml', which does not lie beside it; put it there, or give that file"
    with pytest.raises(InputError, match=re.escape(f"{line} with --chips 16")):
        read(TRAIN, tmp_path)


NEMO = (
    "import nemo_run as run\nfrom nemo.collections import llm\n"
    "recipe = llm.llama3_8b.pretrain_recipe(num_nodes=2, num_gpus_per_node=8)\n"
    "recipe.trainer.strategy.tensor_model_parallel_size = 4\n"
    "recipe.trainer.strategy.pipeline_model_parallel_size = stages()\n"
    "recipe.data.micro_batch_size = 2\nrun.run(recipe)\n"
)
FLAGS = (
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 --bf16 "
    "--num-attention-heads 40 --seq-length 2048 --micro-batch-size 1 --tensor-model-parallel-size 8"
)


@each("more", ["$(flags)", "`flags`", '"${MORE[@]}"', "${MORE}"])
def test_what_may_hold_any_flags_is_listed(more: str, tmp_path: Path) -> None:
    found = started(f"{FLAGS} {more}\n", tmp_path)
    assert found.plan.tp == 8
    assert any("flags that it may hold are not read" in one for one in found.imported.warnings)
    assert [one.name for one in found.imported.unknown] == [more.strip('"')]


UNSAID = (
    "N=8\naccelerate launch --config_file fsdp.yaml --num_processes $N my/train.py "
    "--model_name_or_path Qwen/Qwen2.5-7B --max_length 4096 --gradient_accumulation_steps=8 "
    "--use_peft --lora_r 16\n"
)
DEEPSPEED = "deepspeed --num_nodes 4 --num_gpus 8 train.py --deepspeed my/ds.json --bf16 True\n"


@each(
    ("text", "source", "words"),
    [
        (DEEPSPEED, "auto", "--from deepspeed my/ds.json --model NAME --hardware NAME --chips 32"),
        (DEEPSPEED, "deepspeed", "is a script that starts a program with DeepSpeed"),
        ("torchrun t.py --deepspeed $A\n", "auto", "--from deepspeed ds_config.json"),
        ("accelerate launch --num_processes 16 --use_fsdp t.py\n", "auto", "--chips 16 --fix"),
        (UNSAID, "auto", "which is not read: what my/train.py does with its arguments stands in"),
        (
            UNSAID,
            "auto",
            "--framework fsdp --model Qwen/Qwen2.5-7B --job lora --lora-rank 16 --seq-len 4096",
        ),
        (UNSAID, "auto", "--hardware NAME --chips 8 --fix fsdp=8"),
        (UNSAID.replace("fsdp", "zero3"), "auto", "--framework deepspeed --model Qwen/Qwen2.5-7B"),
        (
            NEMO,
            "auto",
            "line 5: recipe.trainer.strategy.pipeline_model_parallel_size is computed, and left "
            "out; write the value there",
        ),
        (
            NEMO.replace("pretrain_", "finetune_"),
            "auto",
            "most of whose settings stand in llama3_8b.finetune_recipe of NeMo, which is not read. "
            "With what is set here and there as --fix: planner solve --framework megatron --model "
            "llama3-8b --job finetune",
        ),
        (NEMO.replace("llama3_8b", "bert_110m"), "auto", "stand in bert_110m.pretrain_recipe of"),
        ("python a.py trainer.num_nodes=4 model.x=1\n", "auto", "starts NeMo with overrides"),
        ("ls -l\n", "auto", "is not known as a launch of any of"),
    ],
)
def test_what_to_give_in_the_place_of_a_script(
    text: str, source: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        read(text, tmp_path, source=source)


HF = (
    "cat > ds.json <<EOF\n"
    '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",'
    ' "train_batch_size": "auto", "bf16": {"enabled": "auto"},'
    ' "zero_optimization": {"stage": $Z}}\n'
    "EOF\n"
)
RUN = (
    "deepspeed --num_nodes 2 --num_gpus 8 train.py --deepspeed ds.json --bf16 True "
    "--model_name_or_path meta-llama/Meta-Llama-3-8B --model_max_length 2048 "
    "--per_device_train_batch_size=4 --gradient_accumulation_steps 2 "
    "--gradient_checkpointing True\n"
)


def started(text: str, folder: Path, name: str = "run.sh"):
    (folder / name).write_text(text, encoding="utf-8")
    return read_launch("auto", folder / name)


def test_a_script_of_deepspeed_with_the_json_that_it_writes(tmp_path: Path) -> None:
    found = started(f"Z=3\n{HF}{RUN}", tmp_path)
    plan = found.plan
    assert (plan.chips, plan.fsdp, plan.sharding, plan.micro_batch) == (16, 16, "zero3", 4)
    assert (plan.recompute, found.request.precision, found.request.seq_len) == (
        "full",
        "bf16",
        2048,
    )
    assert (found.request.model, found.request.batch_tokens) == ("llama3-8b", 4 * 2 * 16 * 2048)
    document = HF.replace("$Z", "3").split("EOF\n")[1]
    (tmp_path / "ds.json").write_text(document, encoding="utf-8")
    assert started(RUN, tmp_path).plan == plan
    twice = started(f"{RUN}{RUN.replace('--num_nodes 2', '--num_nodes 4')}", tmp_path)
    assert twice.plan == plan
    assert any("line 2: another launch is left out" in line for line in twice.imported.warnings)
    adapted = started(RUN.replace("--bf16", "--use_lora --bf16"), tmp_path)
    assert (adapted.plan, adapted.request.job) == (plan, "lora")


def test_the_last_of_a_key_that_comes_again() -> None:
    text = "a: 1\nb:\n  c: null\n  d: 2\n  c:\n    e: 3\n"
    kept, notes = last_of_repeated(text)
    assert yaml_settings(kept, "x") == {"a": ("1",), "b.d": ("2",), "b.c.e": ("3",)}
    assert notes == ("line 3: c comes again, and the last one holds",)
    whole = "a:\n  b: 1\na:\n  c: 2\n"
    assert last_of_repeated(whole) == (whole, ())
    assert last_of_repeated("a: [") == ("a: [", ())
