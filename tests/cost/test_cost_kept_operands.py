"""Below 16 bits Transformer Engine keeps the inputs of matrix products as it multiplied them."""

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from cost.cases import case_of
from planner.cost.memory.risk import memory_risks
from planner.plan import Plan, PlanTable

# Megatron-LM core 0.16.1, examples/llama/train_llama3_8b_h100_fp8.sh: tp, cp and pp of 1, eight
# chips with the distributed optimizer, one sequence of 8,192 tokens, gradients in 16 bits.
PLAN = Plan(dp=8, sharding="zero1")
TOKENS, LAYERS, HIDDEN, HEADS, KV, DIM, WIDTH, VOCABULARY = (
    8192, 32, 4096, 32, 8, 128, 14336, 128256,
)  # fmt: skip
PARAMETERS = 8_030_261_248


def parts(precision: str, framework: str = "megatron") -> dict[str, float]:
    """Bytes by part of the example."""
    case = case_of("llama3-8b", layers=LAYERS, batch=128, seq_len=TOKENS, framework=framework)
    run = replace(case, job=replace(case.job, precision=precision)).run([PLAN])
    return {name: float(part[0]) for name, part in run.memory_parts.items()}


@each(
    ("precision", "kept", "copies"),
    [("bf16", 2.0, 0), ("fp8", 1.0, 1), ("mxfp8", 1 + 1 / 32, 1), ("fp4", 0.5 + 1 / 16, 1)],
)
def test_inputs_of_products_are_kept_as_they_were_multiplied(
    precision: str, kept: float, copies: int
) -> None:
    """Inputs of norms, queries, keys, values, attention's output and the halves of the MLP have 16.

    The inputs of four products have `kept` bytes; that of the projection is a copy.
    """
    attention = 2 * (HEADS * DIM + 2 * KV * DIM) + 2 * HEADS * DIM + 4 * HEADS
    layer = 2 * 2 * HIDDEN + attention + 2 * 2 * WIDTH
    layer += kept * (2 * HIDDEN + copies * HEADS * DIM + WIDTH)
    assert parts(precision)["activations"] == pytest.approx(TOKENS * LAYERS * layer, rel=1e-12)


def test_other_frameworks_keep_16_bits() -> None:
    assert parts("fp8", "torchtitan")["activations"] == parts("bf16", "torchtitan")["activations"]


def test_the_example_of_megatron_fits_as_likely_as_not() -> None:
    """It runs on H100 of 80 GB; of 98.8 % that it would not, 16-bit gradients take off 27 %."""
    found = parts("fp8")
    assert found["weights"] == 2 * PARAMETERS
    assert found["gradients"] == 2 * PARAMETERS
    assert found["optimizer"] == 12 / 8 * PARAMETERS
    assert found["logits"] == 6 * TOKENS * VOCABULARY
    case = case_of("llama3-8b", layers=LAYERS, batch=128, seq_len=TOKENS)
    model = replace(case, job=replace(case.job, precision="fp8")).model
    held = np.array([sum(found.values())])
    chance, _ = memory_risks(model, PlanTable.from_plans([PLAN]), held)
    assert 0.3 <= float(chance[0]) <= 0.6
