"""Whole published recipes are read as they stand: every degree is what their text says."""

import re
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import read_launch

FOLDER = Path(__file__).parent / "published" / "megatron-bridge-0.3.1"
DEGREES = {
    "tp": "tensor_model_parallel_size",
    "pp": "pipeline_model_parallel_size",
    "cp": "context_parallel_size",
    "ep": "expert_model_parallel_size",
    "interleave": "virtual_pipeline_model_parallel_size",
    "micro_batch": "micro_batch_size",
}
REFUSED = {
    "deepseek_v3_pretrain_config": "61 layers over pp 16",
    "deepseek_v3_pretrain_config_32nodes": "61 layers over pp 8",
    "llama3_8b_peft_config": "trains adapters",
}


def body_of(path: Path, recipe: str) -> str:
    """The text of a function, by lines."""
    after = path.read_text(encoding="utf-8").split(f"\ndef {recipe}(")[1]
    return after.split("\ndef ")[0]


def recipes() -> list[tuple[str, str]]:
    """Every recipe that trains whole models, with its file."""
    return [
        (path.name, name)
        for path in sorted(FOLDER.glob("*.py.txt"))
        for name in re.findall(r"(?m)^def ([a-z]\w+_(?:pretrain|sft)_config)\(", path.read_text())
    ]


def test_there_are_at_least_twenty() -> None:
    assert len([name for _, name in recipes() if name not in REFUSED]) >= 20


@each(("file", "recipe"), recipes())
def test_degrees_are_those_of_the_text(file: str, recipe: str) -> None:
    if recipe in REFUSED:
        return
    found = read_launch("auto", Path(f"{FOLDER / file}::{recipe}"))
    body = body_of(FOLDER / file, recipe)
    for name, field in DEGREES.items():
        said = re.findall(rf"cfg\.(?:model|train)\.{field} = (\w+)", body)
        if said and said[-1].isdigit():
            assert getattr(found.plan, name) == int(said[-1]), name
    [batch] = re.findall(r"cfg\.train\.global_batch_size = (\d+)", body)[-1:] or ["0"]
    assert found.request.job == ("finetune" if "_sft_" in recipe else "pretrain")
    if batch != "0":
        assert found.request.batch_tokens == int(batch) * int(found.request.seq_len or 0)


@each(("recipe", "why"), REFUSED.items())
def test_others_are_refused_with_the_reason(recipe: str, why: str) -> None:
    file = "deepseek_v3" if recipe.startswith("deepseek") else "llama3"
    with pytest.raises(InputError, match=why):
        read_launch("auto", Path(f"{FOLDER / file}.py.txt::{recipe}"))


@each(
    ("name", "words"),
    [("", "name one as FILE::FUNCTION"), ("::llama3_8b_pretrain", "did you mean")],
)
def test_a_recipe_is_named_where_there_are_several(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_launch("auto", Path(f"{FOLDER / 'llama3.py.txt'}{name}"))
