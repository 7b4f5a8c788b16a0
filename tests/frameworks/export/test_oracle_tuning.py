"""Exports of adapters and of preference pairs, read by the libraries that run them.

PEFT 0.21.2, TRL 1.16.0 and Axolotl 0.19.0 go together in one environment (Axolotl installed with
`--no-deps`), torchtune 0.6.1 wants one of its own with torchao 0.10; what is not installed is
skipped. Files are written for the release that is installed, of the last two.
`PLANNER_MEGATRON_BRIDGE` is a checkout of Megatron-Bridge, whose classes are read as text.
"""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner
from support.cases import each

from frameworks.export.test_export_tuning import (
    JOBS,
    REFUSED,
    SHARDED,
    exported,
    resolved,
    said_by,
    texts,
)
from models_db import list_models, load_model
from planner.cost.job import Job
from planner.cost.memory.adapters import adapted_matrices, adapter_parameters, kept_beside
from planner.frameworks.hugging_face.adapters import adapts_experts, lora_config, module_names
from planner.frameworks.hugging_face.config import dimensions
from planner.frameworks.hugging_face.types import transformers_type
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
BRIDGE = os.environ.get("PLANNER_MEGATRON_BRIDGE", "")
PROGRAM = Path(__file__).with_name("tiny_llama.py")
SHORT = 2


def written(target: str) -> list[str]:
    return [name for name in JOBS if (target, name) not in REFUSED]


def installed(target: str) -> str:
    """The version of the target that the installed package is."""
    own = version(target)
    return next(one for one in TARGETS[target].versions if own.startswith(one))


def needs(*modules: str) -> Any:
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def adapted_model(job: Job, **changes: Any) -> Any:
    """A model of two layers with the adapters that PEFT makes of the exported file."""
    import torch  # noqa: PLC0415 (is not always there)
    import transformers  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415

    kind = transformers_type(job.model)
    assert kind is not None
    keys = {**dimensions(replace(job.model, layers=SHORT), 2048), **changes}
    config = transformers.AutoConfig.for_model(kind, **keys)
    cost = replace(COST, job=job)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
        said = {k: v for k, v in lora_config(cost).items() if k != "peft_type"}
        return get_peft_model(model, LoraConfig(**said), autocast_adapter_dtype=False)


COST = resolved("qlora").cost


def tuned(name: str, **changes: Any) -> Job:
    model = replace(load_model(name), layers=SHORT)
    own = {"kind": "lora", "lora_rank": 8, "framework": FRAMEWORKS["fsdp"], "era": "torch-eager"}
    return Job(model=model, seq_len=2048, global_batch=8, **{**own, **changes})


def counted() -> list[tuple[str, str, tuple[str, ...]]]:
    """Models, adapters and matrices that PEFT is asked about."""
    found = []
    for name in list_models():
        if load_model(name).recurrence is not None:
            continue  # adapters of such a model are not modelled
        for adapter, targets in (("lora", ()), ("dora", ("q", "k", "v", "o"))):
            job = tuned(name, adapter=adapter, lora_targets=targets)
            cost = replace(COST, job=job, shapes=resolved("qlora", model=name).cost.shapes)
            experts = adapts_experts(cost) or (job.model.moe is not None and not targets)
            if module_names(cost) and not experts and job.model.attention.kind != "mla":
                found.append((name, adapter, targets))
    return found


@needs("peft", "transformers")
@each(("name", "adapter", "targets"), counted())
def test_peft_makes_as_many_parameters(name: str, adapter: str, targets: tuple[str, ...]) -> None:
    job = tuned(name, adapter=adapter, lora_targets=targets)
    model = adapted_model(job)
    trained = sum(one.numel() for one in model.parameters() if one.requires_grad)
    assert trained == adapter_parameters(job)


def small_llama(layers: int, **changes: Any) -> Any:
    """A small llama with adapters of PEFT beside all matrices."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=256, intermediate_size=704, num_hidden_layers=layers, vocab_size=256,
        num_attention_heads=8, num_key_value_heads=4,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    adapters = LoraConfig(r=8, target_modules=modules, task_type="CAUSAL_LM", **changes)
    return get_peft_model(model, adapters, autocast_adapter_dtype=False).train()


def kept_bytes(**changes: Any) -> float:
    """Bytes per token and layer that PyTorch keeps of a small llama with adapters of PEFT."""
    import torch  # noqa: PLC0415

    def saved(layers: int, tokens: int) -> int:
        model = small_llama(layers, **changes)
        own = {one.untyped_storage().data_ptr() for one in model.parameters()}
        kept: dict[int, Any] = {}

        def pack(tensor: Any) -> Any:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                kept[storage.data_ptr()] = storage
            return tensor

        ids = torch.zeros(1, tokens, dtype=torch.int64)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda one: one):
            loss = model(input_ids=ids, labels=ids).loss
        assert loss.requires_grad
        return sum(storage.nbytes() for storage in kept.values())

    few, many = (saved(4, tokens) - saved(2, tokens) for tokens in (128, 512))
    return (many - few) / 2 / (512 - 128)


def executed_flop(tokens: int, **changes: Any) -> float:
    """FLOP per layer that PyTorch counts in both passes over a small llama."""
    import torch  # noqa: PLC0415
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    counted = []
    for layers in (2, 4):
        model, ids = small_llama(layers, **changes), torch.zeros(1, tokens, dtype=torch.int64)
        with FlopCounterMode(display=False) as counter:
            model(input_ids=ids, labels=ids).loss.backward()
        counted.append(counter.get_total_flops())
    return (counted[1] - counted[0]) / 2


@needs("peft", "transformers")
def test_pytorch_counts_a_second_product_of_dora_with_dropout() -> None:
    """Forward and for the gradients of inputs; of LoRA, and without dropout, there is none."""
    elements = 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 704
    for dora, products in ((False, 0), (True, 2)):
        few, many = (executed_flop(128, use_dora=dora, lora_dropout=share) for share in (0.0, 0.1))
        assert many - few == products * 2 * 128 * elements


@needs("peft", "transformers")
def test_pytorch_keeps_what_is_counted_of_dora_and_dropout() -> None:
    inputs, outputs = 3 * 256 + 256 + 2 * 256 + 704, 256 + 2 * 128 + 256 + 2 * 704 + 256
    plain = kept_bytes()
    assert kept_bytes(use_dora=True) - plain == pytest.approx(4 * outputs, rel=1e-6)
    assert kept_bytes(lora_dropout=0.1) - plain == pytest.approx(3 * inputs, rel=0.03)
    matrices = list(adapted_matrices(tuned("llama3-8b"), "dense"))
    of_model = kept_beside(tuned("llama3-8b", adapter="dora"), moe=False)
    assert of_model == 4 * sum(one.crossed * one.outputs for one in matrices)


@needs("trl")
@each("name", written("trl"))
def test_trl_parses_its_file(name: str, tmp_path: Path) -> None:
    from trl import get_peft_config, get_quantization_config  # noqa: PLC0415
    from trl.scripts import dpo, sft  # noqa: PLC0415

    export = exported("trl", name, version=installed("trl"))
    (tmp_path / "trl.yaml").write_text(texts(export)["trl.yaml"], encoding="utf-8")
    script = dpo if "trl.scripts.dpo" in export.command else sft
    words = shlex.split(export.command.partition("-m trl.scripts.")[2])[1:]
    words[words.index("trl.yaml")] = str(tmp_path / "trl.yaml")
    _, training, model, _ = script.make_parser().parse_args_and_config(
        words, fail_with_unknown_args=True
    )
    said = said_by("trl", export)
    assert training.per_device_train_batch_size == said["per_device_train_batch_size"]
    assert training.gradient_accumulation_steps == said["gradient_accumulation_steps"]
    assert training.max_length == 2048
    assert training.bf16 is False
    adapters = get_peft_config(model)
    assert (adapters is None) == ("use_peft" not in said)
    if adapters is not None:
        assert (adapters.r, adapters.use_dora) == (said["lora_r"], said["use_dora"])
    quantized = get_quantization_config(model)
    assert (quantized is not None) == (name == "qlora")
    assert quantized is None or quantized.bnb_4bit_use_double_quant


@needs("axolotl")
@each("name", written("axolotl"))
def test_axolotl_validates_its_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from axolotl.utils.schemas.config import AxolotlConfigWCapabilities  # noqa: PLC0415

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = said_by("axolotl", exported("axolotl", name, version=installed("axolotl")))
    checked = AxolotlConfigWCapabilities(
        **said,
        capabilities={"bf16": True, "fp8": False, "n_gpu": 8, "compute_capability": "sm_90"},
        env_capabilities={"torch_version": "2.8.0"},
    )
    assert checked.micro_batch_size == said["micro_batch_size"]
    assert checked.sequence_len == 2048
    assert checked.adapter == said.get("adapter")


@needs("torchtune")
@each("name", written("torchtune"))
def test_tune_validate_takes_its_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from omegaconf import OmegaConf  # noqa: PLC0415
    from torchtune import config  # noqa: PLC0415
    from torchtune._recipe_registry import get_all_recipes  # noqa: PLC0415

    monkeypatch.setenv("MODEL", "weights")
    export = exported("torchtune", name, version=installed("torchtune"))
    config.validate(OmegaConf.create(texts(export)["torchtune.yaml"]))
    recipes = {one.name for one in get_all_recipes()}
    assert {word for word in export.command.split() if word.endswith("_distributed")} <= recipes


@pytest.mark.skipif(not BRIDGE, reason="no checkout is named")
@each("name", written("megatron-bridge"))
def test_megatron_bridge_has_such_adapters(name: str) -> None:
    program = texts(exported("megatron-bridge", name))["pretrain.py"]
    compile(program, "pretrain.py", "exec")
    for module, called in re.findall(r"from megatron\.bridge\.peft\.(\w+) import (\w+)", program):
        path = Path(BRIDGE, "src/megatron/bridge/peft", f"{module}.py")
        classes = {one.name: one for one in ast.parse(path.read_text("utf-8")).body
                   if isinstance(one, ast.ClassDef)}  # fmt: skip
        own = [one for one in classes[called].body if isinstance(one, ast.AnnAssign)]
        known = {ast.unparse(one.target) for one in own}
        assert {*said_by("megatron-bridge", exported("megatron-bridge", name))} <= known


@needs("peft", "transformers", "accelerate")
def test_two_processes_tune_a_tiny_llama(tmp_path: Path) -> None:
    """The commands of docs/fine-tuning.md, on two processes of a CPU in place of GPUs."""
    folder = tmp_path / "tiny"
    subprocess.run([sys.executable, str(PROGRAM), str(folder)], check=True, capture_output=True)
    model, plan, launch = (tmp_path / name for name in ("tiny.yaml", "plan.yaml", "launch"))
    assert planner("models", "import", folder / "config.json", "-o", model).code == 0
    asked = ("--seq-len", "128", "--batch-tokens", "2048", "--hardware", "dgx-h100-ndr")
    words = ("--model", model, "--chips", "2", "--job", "lora", "--lora-rank", "8", *asked)
    assert planner("solve", *words, "-o", plan).code == 0
    shown = planner("export", plan, "--to", "accelerate", "-o", launch, "--json")
    assert shown.code == 0
    own = shlex.split(json.loads(shown.out)["command"])
    assert own[:2] == ["accelerate", "launch"]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", "--cpu", *own[2:]],
        cwd=launch,
        env=os.environ | {
            "MODEL": str(folder), "DATA": str(folder / "data.jsonl"), "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    losses = [
        float(one) for one in re.findall(r"^step \d+: loss (\S+),", done.stdout, re.MULTILINE)
    ]
    assert len(losses) > 20
    assert sum(losses[-5:]) < sum(losses[:5])
    from peft import LoraConfig  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    again = LoraConfig.from_pretrained(launch / "adapter")
    assert again.r == 8
    weights = load_file(launch / "adapter" / "adapter_model.safetensors")
    assert sum(one.numel() for one in weights.values()) == 4 * 8 * (
        2 * (128 + 128) + 2 * (128 + 64) + 3 * (128 + 352)
    )
    assert any(one.abs().sum() > 0 for name, one in weights.items() if "lora_B" in name)


@needs("peft")
def test_peft_takes_every_field_of_its_file() -> None:
    from peft import LoraConfig  # noqa: PLC0415

    known = {one.name for one in fields(LoraConfig)}
    for name in written("accelerate"):
        export = export_plan(resolved(name).cost, SHARDED, TARGETS["accelerate"])
        assert {*said_by("accelerate", export)} <= known
