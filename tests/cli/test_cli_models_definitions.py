"""`models import` of definitions: a script with Megatron-LM's arguments, a Python file."""

import json
from pathlib import Path

from cli.command import planner

SCRIPT = """
#!/bin/bash
MODEL_ARGS=(
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32
    --group-query-attention --num-query-groups ${GROUPS_OF:-8}
    --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --disable-bias-linear
    --position-embedding-type rope --untie-embeddings-and-output-weights
    --seq-length 8192
)
torchrun --nproc_per_node 8 pretrain_gpt.py ${MODEL_ARGS[@]} --bf16
"""


def test_a_script_is_a_model_that_solves(tmp_path: Path) -> None:
    script, written = tmp_path / "run.sh", tmp_path / "mine.yaml"
    script.write_text(SCRIPT)
    outcome = planner("models", "import", script, "--vocab-size", 128256, "-o", written)
    assert outcome.code == 0
    assert "8,030,261,248 parameters (arguments of Megatron-LM)" in outcome.out
    shown = planner("models", "show", written, "--json")
    assert json.loads(shown.out)["name"] == "run"


def test_what_is_missing_or_does_not_belong_is_said(tmp_path: Path) -> None:
    script, config = tmp_path / "run.sh", tmp_path / "config.json"
    script.write_text(SCRIPT)
    config.write_text("{}")
    missing = planner("models", "import", script)
    assert (missing.code, missing.out) == (2, "")
    assert "vocab_size: is not stated" in missing.err
    other = planner("models", "import", config, "--vocab-size", 128256)
    assert "vocab-size: belong to definitions" in other.err
    gone = planner("models", "import", tmp_path / "none.py")
    assert (gone.code, "cannot read the file" in gone.err) == (2, True)
