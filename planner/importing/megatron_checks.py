"""Arguments that Megatron-LM does not start with.

Source: megatron/training/arguments.py (`validate_args`), d98e8a64dd (2026-08-22). The other parts
of this reader check what they take; these arguments exclude each other across the parts.
"""

from __future__ import annotations

from planner.importing.taking import Taking
from planner.plan import Plan

_GATHER = "--overlap-param-gather"
_REDUCE = "--overlap-grad-reduce"
_FSDP2 = "--use-torch-fsdp2"
_SHARED = ("--use-distributed-optimizer", "--use-megatron-fsdp")


def check_combinations(taking: Taking, plan: Plan) -> None:
    """Notes what `validate_args` refuses of flags that stand together.

    Args:
        taking: The settings.
        plan: What they say.
    """
    _check_overlap(taking, plan)
    if _FSDP2 in taking.values:
        _check_torch_fsdp2(taking, plan)
    if taking.text("--fp4-format") and taking.text("--fp8-format"):
        taking.wrong("--fp4-format", "stands beside --fp8-format; keep one")


def _check_overlap(taking: Taking, plan: Plan) -> None:
    given = taking.values
    if "--tp-comm-overlap" in given and not plan.sequence_parallel:
        needed = "--sequence-parallel" if plan.tp > 1 else "tp above 1"
        taking.wrong("--tp-comm-overlap", f"Megatron-LM takes it with {needed} only; leave it out")
    if _GATHER not in given:
        return
    muon = taking.text("--optimizer") == "dist_muon"
    if not muon and not any(name in given for name in _SHARED):
        taking.wrong(_GATHER, f"Megatron-LM takes it beside {' or '.join(_SHARED)} only")
    if _REDUCE not in given:
        taking.wrong(_GATHER, f"Megatron-LM takes it beside {_REDUCE} only")


def _check_torch_fsdp2(taking: Taking, plan: Plan) -> None:
    if plan.ep > 1:
        taking.wrong(_FSDP2, f"Megatron-LM takes it without ep, not ep {plan.ep}")
    if "--fp16" in taking.values:
        taking.wrong(_FSDP2, "Megatron-LM takes it without --fp16; take --bf16")
    untied = "--untie-embeddings-and-output-weights"
    if untied not in taking.values:
        taking.wrong(_FSDP2, f"Megatron-LM takes it beside {untied} only")
