"""Small questions of a freedom: few chips, few layers, little beside it, so that thousands run."""

from __future__ import annotations

import random

from enumerated.drawing import Fields, of_few_layers
from enumerated.found import Enumerated

_HEAVY_ENDS = ("llama3.2-1b", "qwen3-0.6b", "gemma2-2b", "gpt3-350m")
_TWO_KINDS = ("deepseek-v2-lite",)
_EXPERTS = ("mixtral-8x7b", "mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite")
_GPUS = ("dgx-h100-ndr", "dgx-a100-80-hdr", "l40s-pcie", "mi300x-8way")


def _job(rng: random.Random, names: tuple[str, ...], layers: int) -> Fields:
    """A model of so few layers on a machine, with few sequences."""
    seq_len = rng.choice((1024, 2048, 4096))
    fields: Fields = {
        "model": of_few_layers(rng.choice(names), layers),
        "hardware": rng.choice(_GPUS),
        "seq_len": seq_len,
        "batch_tokens": seq_len * rng.choice((4, 6, 8)),
        "framework": rng.choice(("megatron", "megatron-zb", "torchtitan", "deepspeed", "jax")),
        "clocks": False,
        "objective": rng.choices(("time", "energy", "edp"), (18, 1, 1))[0],
    }
    if rng.random() < 0.85:
        fields["runnable_in"] = ["any"]
    return fields


def short_of_memory(rng: random.Random, fields: Fields, found: Enumerated) -> Fields:
    """The question with less memory than its best plan takes, but enough for one, if it can be."""
    most = found.least_bytes + rng.random() * (found.best_bytes - found.least_bytes)
    return {**fields, "max_memory": most} if found.least_bytes < found.best_bytes else fields


def uneven(rng: random.Random) -> Fields:
    """Of stages with their own layers and recomputed layers, of two kinds in one of three."""
    names, most = rng.choice(((_HEAVY_ENDS, 6), (_HEAVY_ENDS, 6), (_TWO_KINDS, 4)))
    fields = _job(rng, names, rng.randrange(3, most))
    stages = rng.choice((2, 2, 2, 3))
    fields |= {"layout": "uneven", "chips": stages, "front_points": 1}
    fields["fix"] = {"pp": [str(stages)], "interleave": ["1"], "micro_batch": ["1"]}
    if rng.random() < 0.15:
        fields |= {"clocks": True, "front_points": rng.choice((1, "all"))}
        fields["fix"]["recompute"] = ["none"]
    return fields


def interleaved(rng: random.Random) -> Fields:
    """Of stages of two or three chunks, with their own layers and recomputed layers."""
    names, most = rng.choice(((_HEAVY_ENDS, 8), (_HEAVY_ENDS, 8), (_TWO_KINDS, 5)))
    fields = _job(rng, names, rng.randrange(3, most))
    fields["framework"] = rng.choice(("megatron", "torchtitan"))
    fields |= {"layout": "uneven", "chips": 2, "front_points": 1}
    fields["fix"] = {"pp": ["2"], "micro_batch": ["1"]}
    fields["fix"]["interleave"] = rng.choice((["2"], ["2"], ["3"], ["2", "3"]))
    if rng.random() < 0.7:
        few = rng.choice((["none"], ["none", "full"], ["none", "selective"]))
        fields["fix"]["recompute"] = few
    return fields


def sharding(rng: random.Random) -> Fields:
    """Of stages with their own sharding."""
    fields = _job(rng, _HEAVY_ENDS, rng.randrange(2, 5))
    fields["framework"] = rng.choice(("megatron", "megatron", "megatron", "torchtitan"))
    fields |= {"layout": "uneven", "chips": 4, "front_points": 1, "runnable_in": ["any"]}
    fields["fix"] = {"pp": ["2"], "tp": ["1"], "cp": ["1"], "interleave": ["1"]}
    fields["fix"] |= {"micro_batch": ["1"], "recompute": [rng.choice(("none", "full"))]}
    return fields


def modules(rng: random.Random) -> Fields:
    """Of modules that recompute."""
    fields = _job(rng, _EXPERTS, 2)
    fields |= {"framework": "megatron", "chips": rng.choice((1, 2))}
    fields["fix"] = {"recompute": ["any"], "micro_batch": ["1"]}
    return fields


def offload(rng: random.Random) -> Fields:
    """Of state and activations on the host."""
    fields = _job(rng, _HEAVY_ENDS, rng.randrange(2, 5))
    fields |= {"chips": rng.choice((1, 2)), "offload": True, "objective": "time"}
    fields["fix"] = {"micro_batch": ["1"]}
    if rng.random() < 0.5:
        fields["fix"]["recompute"] = ["none"]
    return fields


def experts(rng: random.Random) -> Fields:
    """Of experts that ranks share."""
    fields = _job(rng, _EXPERTS, 2)
    fields |= {"framework": "megatron", "chips": rng.choice((2, 4)), "hardware": _GPUS[0]}
    fields["fix"] = {"etp": ["1", "2", "4"], "micro_batch": ["1"], "pp": ["1"], "cp": ["1"]}
    return fields


def pools(rng: random.Random) -> Fields:
    """Of stages on two pools of different chips."""
    fields = _job(rng, _HEAVY_ENDS, rng.choice((3, 4)))
    del fields["hardware"]
    fields["framework"] = rng.choice(("megatron", "megatron-zb", "deepspeed"))
    kinds = rng.sample(["dgx-h100-ndr", "dgx-a100-80-hdr", "l40s-pcie"], 2)
    fields["pools"] = ",".join(f"{name}={rng.choice((1, 1, 2))}" for name in kinds)
    fields |= {"precision": "bf16", "objective": "time", "layout": "uneven"}
    fields["fix"] = {"sharding": ["ddp", "zero1"], "micro_batch": ["1"], "tp": ["1"], "cp": ["1"]}
    fields["fix"]["recompute"] = rng.choice((["none"], ["none", "full"]))
    del fields["clocks"]
    return fields


def placement(rng: random.Random) -> Fields:
    """Of axes nested in any order over the levels of a network."""
    fields = _job(rng, _HEAVY_ENDS, rng.choice((2, 4)))
    fields["framework"] = rng.choice(("megatron", "torchtitan", "torchtitan"))
    fields["hardware"] = rng.choice(("l40s-pcie", "dgx-h100-ndr", "h100-pcie-80", "h100-pcie-80"))
    fields |= {"placement": "all", "chips": rng.choice((8, 16)), "runnable_in": ["any"]}
    fields["fix"] = {"micro_batch": ["1"], "recompute": ["none"], "interleave": ["1"]}
    fields |= {"seq_len": 1024, "batch_tokens": 1024 * fields["chips"]}
    return fields


def torus(rng: random.Random) -> Fields:
    """Of axes laid out in parts over a torus."""
    fields = _job(rng, ("llama3-8b", "llama2-7b", "llama3.2-1b"), 2)
    fields |= {"framework": "jax", "runnable_in": ["any"], "placement": "torus"}
    fields["hardware"] = rng.choice(("tpu-v5p", "tpu-v5e", "tpu-v5e"))
    fields["chips"] = rng.choice((8, 16, 64))
    fields |= {"seq_len": 1024, "batch_tokens": 1024 * rng.choice((8, 16, 64))}
    fields["axes"] = rng.choice((["tp", "dp"], ["tp", "fsdp"], ["cp", "fsdp"], ["tp", "cp"]))
    fields["fix"] = {"micro_batch": ["1"], "recompute": ["none"]}
    return fields


SMALL = {
    "uneven": uneven,
    "interleaved": interleaved,
    "sharding": sharding,
    "modules": modules,
    "offload": offload,
    "experts": experts,
    "pools": pools,
    "placement": placement,
    "torus": torus,
}
"""By freedom."""
