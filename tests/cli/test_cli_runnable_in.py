"""`--runnable-in` on the command line: targets without lists of layers, and jobs that none runs."""

import pytest
from support.cases import each

from cli.command import planner

SMALL = ("--model", "llama3.1-8b", "--hardware", "h100-sxm5-80", "--chips", "8",
         "--batch-tokens", "256Ki")  # fmt: skip


@each("target", ["maxtext", "nanotron"])
@each("objective", ["time", "energy", "edp"])
def test_where_no_stages_can_differ_the_uniform_plans_are_the_front(
    target: str, objective: str
) -> None:
    flags = (*SMALL, "--runnable-in", target, "--objective", objective, "--json")
    uneven = planner("solve", *flags, "--layout", "uneven").document
    uniform = planner("solve", *flags).document
    assert uneven["certificate"]["status"] == uniform["certificate"]["status"] == "optimal"
    assert uneven["certificate"]["objective"] == pytest.approx(
        uniform["certificate"]["objective"], rel=1e-9
    )
    assert uneven["certificate"]["gap"] < 1e-6
    assert uneven["stages"]["uniform"] is not None
    if objective == "energy":
        assert uneven["front"]["complete"]
        values = [
            [point["step_time_s"] for point in one["front"]["plans"]] for one in (uneven, uniform)
        ]
        assert values[0] == pytest.approx(values[1])


@each(
    ("model", "hardware", "words"),
    [
        ("bloom-7b1", "h100-sxm5-80", "Megatron-LM: megatron (pretrain_gpt.py) does not build"),
        ("llama3.1-8b", "tpu-v5p", "Megatron-LM: megatron runs on GPUs of NVIDIA and AMD, not on"),
    ],
)
@each("layout", ["uniform", "uneven"])
def test_a_job_that_no_plan_brings_to_a_target_says_why(
    model: str, hardware: str, words: str, layout: str
) -> None:
    outcome = planner("solve", "--model", model, "--hardware", hardware, "--chips", "8",
                      "--seq-len", "2048", "--batch-tokens", "256Ki", "--layout", layout,
                      "--runnable-in", "megatron", "--json")  # fmt: skip
    assert outcome.code == 3
    diagnosis = outcome.document["diagnosis"]
    assert diagnosis["explanation"].startswith(words)
    assert diagnosis["remedies"] == ["without --runnable-in megatron"]


def test_rules_of_a_target_that_drop_what_fits_are_named_with_the_batch_that_frees_it() -> None:
    """MaxText takes ep from fsdp alone: 64 sequences on 128 chips leave a cp of 2."""
    flags = ("--model", "mixtral-8x7b", "--hardware", "tpu-v5e", "--chips", "8x16", "--seq-len",
             "4096", "--fix", "tp=1", "--fix", "pp=1", "--fix", "recompute=full", "--runnable-in",
             "maxtext", "--max-memory", "12.5GB", "--json")  # fmt: skip
    outcome = planner("solve", *flags, "--batch-tokens", "256Ki")
    diagnosis = outcome.document["diagnosis"]
    assert (outcome.code, diagnosis["constraint"]) == (3, "memory")
    assert "; plans that fit are dropped by what is to run them: " in diagnosis["explanation"]
    assert "by the rule maxtext: maxtext-experts (" in diagnosis["explanation"]
    assert f"--batch-tokens {2**19}" in diagnosis["remedies"]
    assert "without --runnable-in maxtext" in diagnosis["remedies"]
    assert planner("solve", *flags, "--batch-tokens", "512Ki").code == 0


@each(
    ("model", "precision", "target"),
    [
        ("mixtral-8x7b", "fp16", "nanotron"),
        ("llama3.1-8b", "int8", "deepspeed"),
        ("llama3.1-8b", "fp8", "torchtitan"),
    ],
)
def test_another_precision_frees_a_job(model: str, precision: str, target: str) -> None:
    job = ("--model", model, "--hardware", "dgx-h100-ndr", "--chips", "64")
    flags = (*job, "--runnable-in", target, "--max-oom-risk", "100%", "--json")
    refused = planner("solve", *flags, "--precision", precision)
    assert refused.code == 3
    assert refused.document["diagnosis"]["remedies"][0] == "--precision bf16"
    assert planner("solve", *flags, "--precision", "bf16").code == 0


def test_the_usual_framework_frees_a_job_that_lacks_axes() -> None:
    """Full fine-tuning is assumed to run in FSDP, which has neither stages nor experts apart."""
    flags = ("--model", "deepseek-v3", "--hardware", "dgx-h100-ndr", "--chips", "512")
    refused = planner("solve", *flags, "--job", "finetune", "--json")
    assert refused.code == 3
    (remedy,) = refused.document["diagnosis"]["remedies"]
    assert remedy == "--framework megatron (which has pp, ep)"
    named = ("--framework", "megatron", "--no-clocks", "--json")
    assert planner("solve", *flags, "--job", "finetune", *named).code == 0


def test_a_precision_that_frees_nothing_is_not_named() -> None:
    flags = ("--model", "bloom-7b1", "--hardware", "dgx-h100-ndr", "--chips", "8")
    refused = planner("solve", *flags, "--precision", "fp16", "--runnable-in", "megatron", "--json")
    assert refused.code == 3
    assert "--precision bf16" not in refused.document["diagnosis"]["remedies"]
