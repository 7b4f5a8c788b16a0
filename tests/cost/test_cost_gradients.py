"""Gradients in memory and on the wire have one format, where a framework reduces its sums."""

from dataclasses import replace

from support.cases import each

from cost.cases import case_of
from planner.plan import Plan

PLAN = Plan(dp=8, sharding="zero1")


def bytes_of(framework: str, era: str | None = None, **changes: float) -> tuple[float, float]:
    """Bytes per parameter of gradients in memory, and on the wire."""
    case = case_of(framework=framework, era=era).assuming(**changes)
    model = case.model
    run = case.run([PLAN])
    parts = run.memory_parts
    state = float(parts["gradients"][0].max()) / float(parts["optimizer"][0].max())
    kept = state * model.framework.optimizer_bytes / (PLAN.dp * PLAN.fsdp)
    return round(kept, 9), model.assumptions.gradient_wire_bytes


@each(
    ("framework", "era", "kept", "sent"),
    [
        ("megatron", None, 2.0, 2.0),
        ("megatron-fp32-grads", None, 4.0, 4.0),
        ("megatron-zb", None, 2.0, 2.0),
        ("megatron", "megatron-2022", 4.0, 4.0),
        ("megatron", "megatron-deepspeed", 4.0, 2.0),
        ("hai-llm", None, 4.0, 2.0),
        ("deepspeed", None, 2.0, 2.0),
        ("fsdp", None, 2.0, 4.0),
        ("torchtitan", None, 4.0, 4.0),
        ("torchtitan", "megatron-core", 4.0, 2.0),
    ],
)
def test_sums_have_the_format_that_is_sent(
    framework: str, era: str | None, kept: float, sent: float
) -> None:
    assert bytes_of(framework, era) == (kept, sent)


def test_a_format_that_assumptions_say_is_that_of_both() -> None:
    assert bytes_of("megatron", gradient_wire_bytes=4.0) == (4.0, 4.0)
    assert bytes_of("megatron", gradient_wire_bytes=0.0) == (2.0, 0.0)
    assert bytes_of("deepspeed", gradient_wire_bytes=3.0) == (2.0, 3.0)
    assert bytes_of("deepspeed", gradient_wire_bytes=0.0) == (2.0, 0.0)


def test_without_16_bits_sums_have_32() -> None:
    case = case_of(framework="megatron")
    wide = replace(case, job=replace(case.job, precision="fp32")).model
    assert wide.framework.gradient_bytes == 4.0
