"""What MaxText divides, and in which blocks it attends, is what the rules say, both ways.

Environment variables: test_oracle_maxtext.py.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from frameworks.export.cases import CASES, Case
from frameworks.export.test_maxtext_blocks import RUNS, STOPS
from frameworks.export.test_oracle_maxtext import HOME, TARGET, built, parameters, question
from planner.frameworks.rules import broken
from planner.frameworks.rules.numbers import divisors
from planner.frameworks.writing import export_plan
from planner.plan import Plan, PlanTable

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not HOME, reason="PLANNER_MAXTEXT names no checkout of MaxText"),
]
MODELS = ("deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "kimi-k2", "qwen3-30b-a3b",
          "gemma2-9b", "llama3-8b", "opt-13b", "llama4-scout", "gpt-oss-20b")  # fmt: skip
MACHINES = ("tpu-v5p", "dgx-h100-ndr", "gb200-nvl72")
SHARDS = (1, 24, 56, 80, 96, 128, 192, 256, 320, 448, 512, 640, 768, 896, 1024, 1536, 2048)
TENSORS = (1, 1, 2, 4, 5, 8, 10, 20, 40)
DIVIDES = {"jax-hidden", "maxtext-latents", "maxtext-tensor"}
EACH = 5


def drawn(source: random.Random, model: str) -> Case:
    """A plan that shards weights, or one that does not, with a batch that it divides."""
    plain = replace(CASES["slices"], model=model, hardware=source.choice(MACHINES), seq_len=4096)
    shapes, fsdp = plain.cost().shapes, source.choice(SHARDS)
    dp = source.choice([1, 1, 1, 2, 4])
    tp = 1 if shapes.experts else source.choice(TENSORS)
    room = [d for d in divisors(shapes.experts) if fsdp % d == 0] if shapes.experts else [1]
    ep = source.choice(room)
    plan = Plan(
        dp=dp,
        fsdp=fsdp,
        tp=tp,
        cp=source.choice([1, 1, 2, 4]) if fsdp > 1 and ep == 1 else 1,
        ep=ep,
        sharding="zero3" if fsdp > 1 else "ddp",
        sequence_parallel=tp > 1 and source.random() < 0.5,
        recompute="full",
    )
    return replace(plain, plan=plan, global_batch=2 * dp * fsdp)


def cases() -> Iterator[tuple[Case, set[str]]]:
    """Plans that obey every rule but those on what divides, with those that they break."""
    source = random.Random(7)
    for model in MODELS:
        found: list[tuple[Case, set[str]]] = []
        while len(found) < EACH:
            case = drawn(source, model)
            cost = case.cost()
            if case.plan.chips not in set(cost.cluster.chip_counts(case.plan.chips)):
                continue
            lines = broken(cost, PlanTable.from_plans([case.plan]), target=TARGET)
            names = {rule.name for rule, _ in lines}
            wrong = sum(bool(one) for _, one in found)
            if names <= DIVIDES and wrong + bool(names) <= EACH // 2 + 1:
                found.append((case, names))
        yield from found


def traced(asked: Iterable[Case]) -> list[Any]:
    """Parameters of the models that MaxText builds for the cases; or why it does not."""
    return parameters([
        question(case, export_plan(case.cost(), case.plan, TARGET, allow_lossy=True))
        for case in asked
    ])  # fmt: skip


def test_wide_meshes_divide_as_the_rules_say() -> None:
    asked = tuple(cases())
    answers = traced(case for case, _ in asked)
    assert {name for _, names in asked for name in names} >= {"jax-hidden", "maxtext-latents"}
    for (case, names), answer in zip(asked, answers, strict=True):
        if names:
            assert "IndivisibleError" in answer.get("error", ""), (case, names)
        else:
            assert answer == built(case, case.plan), (case, answer)


def test_sequences_are_whole_blocks_as_the_rules_say() -> None:
    run, stop = [case for case, _ in RUNS], [case for case, _ in STOPS]
    assert traced(run) == [built(case, case.plan) for case in run]
    for case, answer in zip(stop, traced(stop), strict=True):
        assert "error" in answer, case
