"""Published recipes of fine-tuning, and the defaults of jobs that come from them."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from typing import Any, get_type_hints

import pytest
from support.cases import each

import planner
from planner.base.errors import InputError
from planner.question.asked.usual import RECIPE_SEQ_LEN, RECIPE_SEQUENCES
from planner.question.recipes.recipes import Recipe, known_recipes, known_sources, usual_of
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve

H100 = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 16}
PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
TUNING = ("finetune", "lora")


def resolved(**asked: Any) -> Resolved:
    return resolve(request_from({**H100, **asked}))


def taken(found: Resolved) -> dict[str, tuple[str, str]]:
    return {name: (value, reason) for name, value, reason in found.defaults}


def test_every_recipe_has_its_types_and_a_source_with_a_commit() -> None:
    kinds = get_type_hints(Recipe)
    for recipe in known_recipes():
        for name, kind in kinds.items():
            assert isinstance(getattr(recipe, name), kind), (recipe.path, name)
        assert recipe.job in TUNING
        assert (recipe.lora_rank is None) == (recipe.job == "finetune")
        assert recipe.seq_len is not None or not recipe.packed
        assert re.fullmatch(r"https://github.com/.*/tree/[0-9a-f]{40}", source_of(recipe))
    assert {recipe.source for recipe in known_recipes()} == set(known_sources())


def source_of(recipe: Recipe) -> str:
    return known_sources()[recipe.source].url


@each("job", TUNING)
def test_the_defaults_are_the_medians_of_the_recipes(job: str) -> None:
    own = [recipe for recipe in known_recipes() if recipe.job == job]
    usual = usual_of(job)
    assert usual.recipes == len(own)
    lengths = [recipe.seq_len for recipe in own if recipe.packed and recipe.seq_len]
    assert usual.seq_len == median(lengths) == RECIPE_SEQ_LEN
    wholes = [recipe.sequences for recipe in own if recipe.sequences]
    assert usual.sequences == median(wholes) == RECIPE_SEQUENCES
    assert {recipe.precision for recipe in own} == {"bf16"}
    if job == "lora":
        assert usual.lora_rank == median([recipe.lora_rank or 0 for recipe in own])
        assert usual.lora_dropout == 0


@each("job", TUNING)
def test_a_tuning_job_takes_them_and_says_whose_they_are(job: str) -> None:
    found = resolved(job=job)
    assert (found.seq_len, found.batch_tokens) == (4096, 32 * 4096)
    assert (found.cost.job.seq_len, found.cost.job.global_batch) == (4096, 32)
    assert found.cost.job.precision == "bf16"
    said = taken(found)
    assert said["seq-len"][0] == "4,096"
    assert "Axolotl, Megatron-Bridge, TRL" in said["seq-len"][1]
    assert said["batch-tokens"][0] == "131,072 tokens = 32 sequences"
    assert "torchtune, NeMo, Megatron-Bridge, TRL" in said["batch-tokens"][1]


def test_pre_training_takes_what_it_took() -> None:
    found = resolved()
    assert (found.seq_len, found.batch_tokens) == (8192, 4 * 2**20)
    assert found.cost.framework.name == "megatron"


@each("job", TUNING)
def test_a_model_that_was_trained_with_less_keeps_its_length(job: str) -> None:
    found = resolved(model="gpt3-125m", job=job)
    assert (found.seq_len, found.batch_tokens) == (2048, 32 * 2048)
    assert "gpt3-125m was trained with" in taken(found)["seq-len"][1]


@each("job", TUNING)
def test_what_is_asked_for_is_not_replaced(job: str) -> None:
    found = resolved(job=job, seq_len=1024, batch_tokens=2**16, framework="megatron")
    assert (found.cost.job.seq_len, found.cost.job.global_batch) == (1024, 64)
    assert not {"seq-len", "batch-tokens", "framework"} & taken(found).keys()
    longer = resolved(job=job, seq_len=8192)
    assert (longer.seq_len, longer.cost.job.global_batch) == (8192, 32)
    with pytest.raises(InputError, match="not a whole number of sequences"):
        resolved(job=job, batch_tokens=5000)


@each(
    ("asked", "name"),
    [
        ({}, "fsdp"),
        ({"hardware": "mi300x"}, "fsdp"),
        ({"fix": {"pp": [1, 2]}}, "fsdp"),
        ({"hardware": "tpu-v5p"}, "jax"),
        ({"hardware": "gaudi2"}, "megatron"),
        ({"hardware": "trn1"}, "jax"),
        ({"layout": "uneven"}, "megatron"),
        ({"fix": {"pp": [2]}}, "megatron"),
        ({"precision": "fp8"}, "megatron"),
        ({"runnable_in": ["deepspeed"]}, "deepspeed"),
        ({"framework": "torchtitan"}, "torchtitan"),
        ({"assumptions": "roofline"}, "textbook"),
    ],
)
def test_full_fine_tuning_runs_in_what_its_users_run(asked: dict[str, Any], name: str) -> None:
    found = resolved(job="finetune", **asked)
    assert found.cost.framework.name == name
    if name == "fsdp":
        reason = taken(found)["framework"][1]
        assert reason == "what TRL, Axolotl and torchtune fine-tune with"
        assert taken(found)["era"][0] == "torch-fsdp"
    adapters = resolved(job="lora", **asked)
    assert adapters.cost.framework.name == name
    if name == "fsdp":
        assert taken(adapters)["era"] == ("torch-eager", "software era of fsdp with adapters")


def test_sft_is_another_word_for_finetune() -> None:
    small = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}
    one, other = (planner.solve(**small, job=word) for word in ("sft", "finetune"))
    assert one.question.to_dict() == other.question.to_dict()
    assert one.best == other.best
    assert one.notes == other.notes
    assert request_from({**small, "job": "sft"}).job == "finetune"
    with pytest.raises(InputError, match="pretrain, finetune, lora, sft"):
        planner.solve(**small, job="tune")


@each("job", TUNING)
def test_a_plan_file_and_an_answer_have_the_values_that_were_taken(job: str) -> None:
    small = {**H100, "job": job}
    answer = planner.solve(**small)
    said = answer.question.plan_job
    assert said["seq_len"] == 4096
    assert said["batch_tokens"] == 32 * 4096
    assert said["framework"] == "fsdp"
    assert answer.best is not None
    again = planner.evaluate(answer.best.plan, **said)
    assert again.result == answer.best


@each("job", TUNING)
def test_chips_that_share_tokens_share_those_of_the_recipes(job: str) -> None:
    found = resolved(job=job, assumptions="roofline")
    assert found.batch_tokens == 32 * 4096


def words_of(value: object) -> str:
    """A value in the table of the page."""
    if value is None:
        return "-"
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value}"


def test_the_page_has_every_recipe() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for recipe in known_recipes():
        cells = [known_sources()[recipe.source].project, f"`{recipe.path}`", recipe.model]
        cells += map(words_of, (recipe.seq_len, recipe.packed, recipe.sequences))
        cells += [f"{recipe.optimizer}, {words_of(recipe.state)}", words_of(recipe.recompute)]
        if recipe.job == "lora":
            cells.append(f"{recipe.lora_rank}, {recipe.lora_alpha}, {recipe.lora_dropout:g}")
        assert f"| {' | '.join(cells)} |\n" in page, recipe.path
    assert all(f"]({source.url})" in page for source in known_sources().values())
    assert page.count("\n| torchtune |") + page.count("\n| TRL |") == 12
