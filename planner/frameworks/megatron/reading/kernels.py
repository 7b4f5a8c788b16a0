"""Kernels and exchanges that a launch of Megatron-LM takes and the prediction counts otherwise.

Megatron-LM d98e8a64dd, megatron/core/transformer/transformer_config.py and moe/token_dispatcher.py.
"""

from __future__ import annotations

from planner.frameworks.reading.settings import LaunchSettings
from planner.plan import Plan

_SENT, _ATTENDS, _LAYERS = (
    "--moe-token-dispatcher-type",
    "--attention-backend",
    "--transformer-impl",
)
_KEPT = "keeps the scores of attention, which the prediction counts with --era megatron-2022 only"
_DISPATCHERS = {
    "allgather": "every rank of ep gathers all tokens: more time than the answer, which counts "
    "an exchange of those that each expert takes (alltoall)",
    "flex": "tokens travel by kernels of DeepEP or HybridEP: less time than the answer, which "
    "counts an exchange by NCCL (alltoall)",
}


def kernel_warnings(launch: LaunchSettings, plan: Plan) -> list[str]:
    """What runs otherwise than it is predicted, one line each."""
    found = []
    sent = _said(launch, _SENT, "allgather")
    if plan.ep > 1 and sent in _DISPATCHERS:
        default = "" if _SENT in launch.values else ", the default"
        found.append(f"{_SENT}: {sent}{default}: {_DISPATCHERS[sent]}")
    if (kernel := _said(launch, _ATTENDS, "auto")) in ("unfused", "local"):
        found.append(f"{_ATTENDS}: {kernel} {_KEPT}")
    if _said(launch, _LAYERS, "transformer_engine") == "local":
        found.append(f"{_LAYERS}: local {_KEPT}, and fuses fewer kernels: more time")
    return found


def _said(launch: LaunchSettings, name: str, default: str) -> str:
    """The value of a flag."""
    return (launch.values.get(name) or (default,))[-1]
