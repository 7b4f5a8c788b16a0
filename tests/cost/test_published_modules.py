"""Modules that recompute, against peak memory that Megatron-Bridge published of single ones.

Source: NVIDIA-NeMo/Megatron-Bridge 067f987df0, skills/nemo-mbridge-perf-activation-recompute and
skills/nemo-mbridge-perf-memory-tuning (SKILL.md). Moonlight 16B has the dimensions of DeepSeek-V2
Lite but for its vocabulary (163,840) and its dense MLP (11,264).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from models_db.loading import model_data
from planner.base.arrays import FloatArray
from planner.cost.evaluate import evaluate_totals
from planner.plan import Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve
from strict_yaml.writing import dump

MOONLIGHT = {"selective": 36.614, "mla_up_proj": 35.902, "moe_act": 35.941}
"""GB of eight H100, tp 2 and ep 8, four sequences of 4,096 tokens."""
LLAMA = 55.6
"""GB of 32 H100, tp 4, pp 4 in five chunks, FP8, 32 sequences of 4,096; modules core_attn, mlp."""


def predicted(ways: Sequence[str], plan: Plan, **asked: Any) -> FloatArray:
    """GB with each recomputation."""
    fields = {"hardware": "h100-sxm5-80", "framework": "megatron", "seq_len": 4096, **asked}
    model = resolve(request_from(fields)).cost
    plans = [Plan(**{**{n: getattr(plan, n) for n in _FIELDS}, "recompute": way}) for way in ways]
    return evaluate_totals(model, PlanTable.from_plans(plans)).memory_bytes / 1e9


_FIELDS = ("dp", "tp", "pp", "ep", "schedule", "interleave")


def moonlight(folder: Path) -> str:
    """The file of the model."""
    data = dict(model_data("deepseek-v2-lite")[0])
    del data["published"]
    data["vocab_size"] = {**data["vocab_size"], "value": 163840}
    data["mlp"] = {**data["mlp"], "hidden": {**data["mlp"]["hidden"], "value": 11264}}
    used = set(sources_in(data))
    data["sources"] = {key: one for key, one in data["sources"].items() if key in used}
    path = folder / "moonlight.yaml"
    path.write_text(dump(data))
    return str(path)


def sources_in(node: Any) -> Iterator[str]:
    """The keys of the sources that numbers of a record name."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if key == "source":
            yield from [value] if isinstance(value, str) else value
        elif key != "sources":
            yield from sources_in(value)


def test_an_mlp_that_recomputes_explains_what_was_published() -> None:
    plan = Plan(dp=2, tp=4, pp=4, schedule="interleaved", interleave=5)
    asked = {"model": "llama3-70b", "chips": 32, "batch_tokens": 32 * 4096, "precision": "fp8"}
    without, with_mlp = predicted(["selective", "core_attn+mlp"], plan, **asked) / LLAMA - 1
    print(f"selective {without:+.1%}, core_attn+mlp {with_mlp:+.1%}")
    assert abs(with_mlp) < 0.05 < 0.2 < without


def test_what_single_modules_drop(tmp_path: Path) -> None:
    plan = Plan(dp=4, tp=2, ep=8)
    asked = {"model": moonlight(tmp_path), "chips": 8, "batch_tokens": 4 * 4096}
    held = predicted([*MOONLIGHT, "layernorm"], plan, **asked)
    print(f"total {held[0] / MOONLIGHT['selective'] - 1:+.1%}")
    for way, own in zip(MOONLIGHT, held, strict=False):
        if way != "selective":
            published = MOONLIGHT["selective"] - MOONLIGHT[way]
            print(f"{way}: {held[0] - own:.3f} GB less, published {published:.3f} GB")
            assert held[0] - own == pytest.approx(published, rel=0.45)
    print(f"layernorm: {held[0] - held[-1]:.3f} GB less")
