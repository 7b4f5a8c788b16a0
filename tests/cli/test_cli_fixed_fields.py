"""`--fix` with a value that no plan can have: one line of the rule that forbids it."""

from cli.command import refused
from planner.frameworks.rules import all_rules

BROKEN_ALONE = {
    "heads": ("gpt3-125m", "megatron", "pretrain", "tp=5", "12 attention heads"),
    "kv-heads": ("qwen3-14b", "megatron", "pretrain", "tp=5", "8 key-value heads"),
    "torchtitan-kv-heads": ("llama3-8b", "torchtitan", "pretrain", "tp=16", "key-value heads"),
    "nanotron-kv-heads": ("llama3-8b", "nanotron", "pretrain", "tp=16", "key-value heads"),
    "scan-heads": ("nemotron-h-8b", "megatron", "pretrain", "tp=16", "8 groups of keys"),
    "scan-sequence": ("nemotron-h-8b", "megatron", "pretrain", "cp=2", "whole sequences"),
    "expert-width": ("mixtral-8x7b", "megatron", "pretrain", "etp=3", "does not divide the width"),
    "expert-split": ("mixtral-8x7b", "torchtitan", "pretrain", "etp=2", "does not divide experts"),
    "modules": ("llama3-8b", "megatron", "pretrain", "recompute=moe_act", "has no moe_act apart"),
    "mlp-width": ("llama2-13b", "megatron", "pretrain", "tp=5", "13824"),
    "pairs": ("llama3-8b", "fsdp", "dpo-lora", "micro_batch=1", "nearest: 2"),
    "schedule-offered": ("llama3-8b", "fsdp", "pretrain", "schedule=gpipe", "has no schedule"),
    "split-offered": ("llama3-8b", "fsdp", "pretrain", "split=front", "by 'front'"),
    "sharding-offered": ("llama3-8b", "nanotron", "pretrain", "sharding=zero3", "no sharding"),
}
"""Of each rule that a field breaks alone: a model, framework and job, the field, what is said."""


def test_a_field_that_no_plan_can_have_is_one_line() -> None:
    assert {rule.name for rule in all_rules() if rule.alone} == {*BROKEN_ALONE}
    for model, framework, job, fixed, words in BROKEN_ALONE.values():
        asked = ("--model", model, "--hardware", "h100-sxm5-80", "--chips", "64")
        flags = ("--framework", framework, "--job", job, "--fix", fixed)
        (line,) = refused("solve", *asked, *flags)
        assert line.startswith("fix: ")
        assert words in line
