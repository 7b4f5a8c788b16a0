"""What follows from a model's structure: heads to deal out, widths, adapters, logits, norms."""

from dataclasses import replace

import numpy as np
from support.cases import each

from cost.cases import case_of, short_model
from planner.cost.context import CostModel
from planner.cost.evaluate import memory_table
from planner.cost.memory.parameters import adapter_parameters, trained_share
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable

EXCHANGE = Plan(dp=1, sharding="zero1", cp_mode="all-to-all", sequence_parallel=False)


def said(model: CostModel, plan: Plan, words: str) -> list[str]:
    """The messages of broken rules that hold some words."""
    found = violations(model, PlanTable.from_plans([plan]))
    return [line for line in found if words in line]


@each(("name", "tp", "cp", "words"), [
    ("llama3-8b", 1, 8, ""),
    ("llama3-8b", 4, 2, ""),
    ("llama3-8b", 4, 8, "cp 8 does not divide the 2 key-value heads that tp 4 leaves on a chip; "
                        "nearest cp: 2"),
    ("llama3-8b", 16, 2, "cp 2 does not divide the 1 key-value heads that tp 16 leaves on a chip; "
                         "nearest cp: 1"),
    ("llama3-8b", 8, 8, "tp 8 x cp 8 does not divide the 32 attention heads; "
                        "nearest product: 32"),
    ("deepseek-v3", 1, 16, ""),  # latent attention has keys and values for each of 128 heads
])  # fmt: skip
def test_all_to_all_deals_out_key_value_heads(name: str, tp: int, cp: int, words: str) -> None:
    model = case_of(name, seq_len=8192).model
    found = said(model, replace(EXCHANGE, tp=tp, cp=cp), "all-to-all")
    assert found == ([f"cp_mode all-to-all: {words}"] if words else [])


@each(("tp", "words"), [
    (9, "the shared-expert width 2048 of deepseek-v3; nearest: 8 or 16"),
    (5, "the MLP width 18432 of deepseek-v3; nearest: 4 or 8"),
])  # fmt: skip
def test_the_width_that_does_not_divide_is_named(tp: int, words: str) -> None:
    """The dense layers are 18432 = 9 x 2048 wide, the shared expert 2048."""
    found = said(case_of("deepseek-v3").model, Plan(dp=1, tp=tp, sharding="ddp"), "width")
    assert found == [f"tp {tp} does not divide {words}"]


def deepseek_v3_widths() -> int:
    """Inputs plus outputs of all matrices, with the numbers of arXiv:2412.19437, section 4.2."""
    h, heads = 7168, 128
    attention = (h + 1536) + (1536 + heads * 192) + (h + 512 + 64)
    attention += (512 + heads * (128 + 128)) + (heads * 128 + h)
    return 61 * attention + 3 * 3 * (h + 18432) + 58 * 257 * 3 * (h + 2048)


@each(("name", "layers", "widths"), [
    ("llama3-8b", 32, 32 * (2 * 8192 + 2 * (4096 + 1024) + 3 * (4096 + 14336))),
    ("gpt3-175b", 96, 96 * (4 * 2 * 12288 + 2 * 5 * 12288)),  # no gate
    ("mixtral-8x7b", 32, 32 * (2 * 8192 + 2 * (4096 + 1024) + 8 * 3 * (4096 + 14336))),
    ("deepseek-v3", 61, deepseek_v3_widths()),
])  # fmt: skip
def test_adapters_sit_on_every_matrix(name: str, layers: int, widths: int) -> None:
    job = replace(case_of(name, layers=layers, kind="lora").job, lora_rank=8)
    assert adapter_parameters(job) == 8 * widths
    assert trained_share(job) == 8 * widths / job.model.total_parameters


def last_logits(vocab: int, tp: int) -> float:
    """Bytes of the logits of one sequence of 4096 tokens in the megatron profile."""
    case = case_of()
    job = replace(case.job, model=replace(case.job.model, vocab_size=vocab))
    plan = Plan(dp=1, tp=tp, micro_batch=1, sharding="ddp")
    parts = memory_table(replace(case, job=job).model, PlanTable.from_plans([plan])).parts
    return float(np.max(parts["logits"]))


def test_logits_are_as_wide_as_the_padded_vocabulary() -> None:
    """50257 is padded to a multiple of 128 tp: 50304 for tp 1, 51200 for tp 8."""
    assert last_logits(50257, 1) == 4096 * 50304 * 6
    assert last_logits(50257, 8) == 4096 * 51200 / 8 * 6


@each(("name", "tensors"), [
    ("llama3-8b", 4), ("palm-8b", 2), ("gpt-neox-20b", 3), ("gemma2-9b", 6),
])  # fmt: skip
def test_kept_inputs_follow_the_norms(name: str, tensors: int) -> None:
    """A parallel block reads one tensor; PaLM has one norm, GPT-NeoX two, Gemma 2 four."""
    assert case_of(name).model.shapes.kept_inputs == tensors
    assert short_model(name, 8).parallel_block == (name in ("palm-8b", "gpt-neox-20b"))
