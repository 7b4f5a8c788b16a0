"""MaxText's own parser and mesh check on what is exported for it.

`PLANNER_MAXTEXT` is a checkout of MaxText at the commit of
`planner.frameworks.jax.maxtext.write.SOURCES`, `PLANNER_MAXTEXT_PYTHON` a Python (3.12 or later)
with jax, flax, omegaconf, pydantic, packaging, pathwaysutils and jinja2; without it, this one.
Models are built where it also has grain, tokamax, qwix, aqtp, drjax, transformers, pillow, sympy
and jaxtyping.
"""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.accepted_files import exported, record_acceptance
from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import MODELS, runnable
from hardware_db import load_cluster
from models_db import load_model
from planner.frameworks.decoders import block_of
from planner.frameworks.jax.maxtext import model as maxtext_model
from planner.frameworks.jax.maxtext.models import NAMED, TOKEN_ROWS, name_of
from planner.frameworks.jax.maxtext.slices import SLICES as NAMED_SLICES
from planner.frameworks.jax.maxtext.slices import slice_name
from planner.frameworks.jax.maxtext.write import SOURCES
from planner.frameworks.jax.slices import slice_mesh
from planner.frameworks.jax.specs import vocabulary
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

TARGET = TARGETS["maxtext"]
HOME = os.environ.get("PLANNER_MAXTEXT", "")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not HOME, reason="PLANNER_MAXTEXT names no checkout of MaxText"),
]
PYTHON = os.environ.get("PLANNER_MAXTEXT_PYTHON", sys.executable)
SCRIPT = Path(__file__).parent / "maxtext_parser.py"


def asked(questions: Any) -> Any:
    done = subprocess.run(
        [PYTHON, str(SCRIPT)],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(HOME, "src")), "JAX_PLATFORMS": "cpu"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def question(case: Case, export: Export) -> dict[str, Any]:
    mesh = slice_mesh(case.cost(), case.plan)
    return {
        "text": export.files[0].text,
        "devices": case.plan.chips,
        "slices": mesh.slices,
    }


def parameters(questions: list[dict[str, Any]]) -> list[Any]:
    """Of the models that MaxText builds, each on its devices; or why it does not."""
    answers = asked([one | {"traced": True} for one in questions])
    if any("No module named" in found.get("error", "") for found in answers):
        pytest.skip("packages that MaxText builds models with are not installed")
    return [found.get("parameters", found) for found in answers]


@cache
def golden_answers() -> dict[str, dict[str, Any]]:
    answers = asked([question(CASES[name], exported("maxtext", name)) for name in CASES])
    return dict(zip(CASES, answers, strict=True))


def test_the_golden_files_are_accepted() -> None:
    refused = {name: found["error"] for name, found in golden_answers().items() if "error" in found}
    assert refused == {}
    facts = {
        "framework": "MaxText",
        "version": "main",
        "commit": SOURCES["main"],
        "date": "2026-11-23",
        "by": "configs/pyconfig.py initialize_pydantic, utils/max_utils.py "
        "fill_unspecified_mesh_axes",
        "python": "3.12.1, jax 0.12.0.1",
    }
    record_acceptance("maxtext", facts, [f"{name}/maxtext.yml" for name in CASES])


@each("name", CASES)
def test_it_reads_the_model_and_the_batch(name: str) -> None:
    found, case = golden_answers()[name], CASES[name]
    model = load_model(case.model)
    assert found["global_batch_size_to_train_on"] == case.global_batch
    assert found["emb_dim"] == model.hidden
    assert found["num_decoder_layers"] == model.layers
    assert found["vocab_size"] == model.vocab_size


def test_models_have_the_dimensions_of_their_names() -> None:
    texts = [
        dump_yaml({"base_config": "base.yml", "model_name": name, "dataset_type": "synthetic"})
        for name in NAMED.values()
    ]
    answers = asked([{"text": text, "devices": 1, "slices": 1} for text in texts])
    for name, found in zip(NAMED, answers, strict=True):
        model = load_model(name)
        paired = 2 if name.startswith("gemma2") else 1
        assert "error" not in found, (name, found)
        assert found["emb_dim"] == model.hidden, name
        assert found["num_query_heads"] == model.heads, name
        assert found["num_kv_heads"] == model.kv_heads, name
        assert found["num_decoder_layers"] * paired == model.layers, name
        assert found["vocab_size"] == TOKEN_ROWS.get(NAMED[name], model.vocab_size), name
        if model.moe is not None:
            assert found["num_experts"] == model.moe.experts, name
            assert found["num_experts_per_tok"] == model.moe.experts_per_token, name
            assert found["moe_mlp_dim"] == model.moe.expert_hidden, name


BUILT = ("gpt3-125m", "opt-1.3b", "llama-7b", "llama2-70b", "phi-4", "qwen2.5-32b", "qwen3-8b",
         "deepseek-v2-lite", "deepseek-v3", "kimi-k2", "mixtral-8x7b", "qwen3-30b-a3b",
         "gemma3-4b", "gpt-oss-20b", "mistral-7b", "llama4-scout")  # fmt: skip


@each("named", [True, False])
def test_models_have_the_parameters_of_maxtext(named: bool) -> None:
    """By its name, or by its dimensions where MaxText has its decoder block."""
    models = [load_model(name) for name in BUILT]
    if not named:
        models = [replace(one, layers=one.layers + 1) for one in models if block_of(one)]
    cost = CASES["one-chip"].cost()
    texts = []
    for model in models:
        launch = Launch(cost=replace(cost, job=replace(cost.job, model=model)), plan=Plan())
        batch = {"base_config": "base.yml", "per_device_batch_size": 1, "max_target_length": 256}
        data = {"dataset_type": "synthetic", "enable_checkpointing": False}
        texts.append(dump_yaml(batch | data | maxtext_model.settings(launch)))
    counted = parameters([{"text": one, "devices": 1, "slices": 1} for one in texts])
    assert counted == [model.total_parameters for model in models]


def built(case: Case, plan: Plan) -> int:
    """Parameters in MaxText, whose tables of tokens and positions may be longer."""
    model = load_model(case.model)
    name = name_of(model)
    launch = Launch(cost=case.cost(), plan=plan)
    rows = vocabulary(launch) if name is None else TOKEN_ROWS.get(name, model.vocab_size)
    tables = 1 if model.tied_embeddings else 2
    known = model.positions.max_positions
    more = tables * (rows - model.vocab_size)
    more += maxtext_model.positions(launch) - known if known else 0
    return model.total_parameters + more * model.hidden


def test_the_models_of_golden_files_are_built() -> None:
    """With the kernel of attention that the file names, on its mesh, without breaking a rule."""
    whole = [name for name in CASES if not exported("maxtext", name).unsupported]
    found = parameters([question(CASES[name], exported("maxtext", name)) for name in whole])
    assert {"one-chip", "dense-sharded", "dense-hybrid", "slices"} <= set(whole)
    assert found == [built(CASES[name], CASES[name].plan) for name in whole]


TRACED = ("megatron-1t", "mistral-7b", "gemma2-9b", "gemma3-4b", "gpt-oss-20b", "llama4-scout",
          "deepseek-v2-lite", "qwen3-30b-a3b")  # fmt: skip


@each("hardware", ["dgx-h100-ndr", "tpu-v5p"])
def test_the_models_of_random_plans_are_built(hardware: str) -> None:
    """With their own kernels and meshes, each model by one plan."""
    plain = replace(CASES["slices"], hardware=hardware, global_batch=192)
    drawn = [
        (case, plan, export)
        for seed, name in enumerate(TRACED)
        for case, plan, export in runnable(TARGET, replace(plain, model=name), count=1, seed=seed)
    ]
    found = parameters([question(case, export) for case, _, export in drawn])
    assert len(drawn) == len(TRACED)
    for (case, plan, _), one in zip(drawn, found, strict=True):
        assert one == built(case, plan), case


def test_random_plans_are_accepted() -> None:
    drawn = [
        (case, export)
        for seed, name in enumerate(MODELS)
        for case, _, export in runnable(
            TARGET, replace(CASES[name], framework="jax"), count=20, seed=seed
        )
    ]
    answers = asked([question(case, export) for case, export in drawn])
    assert len(drawn) >= 140
    for (case, _), found in zip(drawn, answers, strict=True):
        assert "error" not in found, (case, found)
        assert found["global_batch_size_to_train_on"] == case.global_batch


SLICES = CASES["slices"]
PIPELINE = replace(SLICES, plan=Plan(fsdp=16, tp=4, pp=8, sharding="zero3", schedule="gpipe"))
REFUSED = {
    "micro-batches": (
        replace(
            PIPELINE,
            global_batch=80,
            plan=Plan(fsdp=4, tp=4, pp=8, sharding="zero3", schedule="gpipe", micro_batch=5),
        ),
        {},
    ),
    "ring": (
        replace(
            SLICES, seq_len=1024, plan=Plan(fsdp=2, tp=4, cp=64, sharding="zero3", micro_batch=1)
        ),
        {},
    ),
    "exchange over slices": (
        replace(
            SLICES,
            model="llama2-7b",
            hardware="tpu-v5e",
            global_batch=2048,
            plan=Plan(
                fsdp=128,
                cp=4,
                cp_mode="all-to-all",
                sharding="zero3",
                order=("tp", "fsdp", "dp", "pp", "cp"),
            ),
        ),
        {},
    ),
    "mesh": (PIPELINE, {"ici_fsdp_parallelism": 8}),
    "layers": (PIPELINE, {"num_layers_per_pipeline_stage": 3}),
    "key": (PIPELINE, {"remat_polcy": "full"}),
}


def test_what_breaks_a_rule_is_refused() -> None:
    questions = []
    for case, changes in REFUSED.values():
        export = export_plan(case.cost(), case.plan, TARGET, allow_lossy=True)
        one = question(case, export)
        one["text"] = dump_yaml(load_yaml(one["text"]) | changes)
        questions.append(one)
    for name, found in zip(REFUSED, asked(questions), strict=True):
        assert "error" in found, name


def test_slices_are_those_that_maxtext_lists() -> None:
    names = [f"{name}-{number}" for name, _, listed in NAMED_SLICES.values() for number in listed]
    assert sorted(names) == sorted(name for name in asked("slices") if name != "a3")


@each("name", ["tpu-v4", "tpu-v5p", "tpu-v6e", "tpu-v5e"])
def test_slices_have_the_shapes_of_their_names(name: str) -> None:
    known, cluster, named = asked("slices"), load_cluster(name), 0
    cost = replace(SLICES, hardware=name).cost()
    for chips in itertools.takewhile(lambda n: n <= 4096, cluster.chip_counts(4096)):
        plan = Plan(fsdp=chips, sharding="zero3" if chips > 1 else "ddp")
        title = slice_name(name, chips)
        if not title or slice_mesh(cost, plan).slices > 1:
            continue
        shape = sorted(cost.allocation(chips).levels[0].torus_dims)
        assert sorted(map(int, known[title].split(":")[1].split("x"))) == shape, chips
        named += 1
    assert named >= 4
