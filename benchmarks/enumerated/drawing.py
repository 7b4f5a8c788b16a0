"""Random small questions of every space; limits are drawn from what their plans take."""

from __future__ import annotations

import atexit
import functools
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models_db.loading import model_data
from strict_yaml.writing import dump

Fields = dict[str, Any]
_DENSE = ("gpt3-125m", "gpt3-350m", "llama3.2-1b", "qwen3-0.6b", "opt-1.3b", "smollm2-360m")
_WIDE = ("llama3-8b", "qwen3-8b", "mistral-7b", "llama2-7b", "gemma2-2b", "nemotron-h-4b")
_EXPERTS = ("qwen3-30b-a3b", "deepseek-v2-lite", "lfm2-8b-a1b", "mixtral-8x7b")
_HARDWARE = ("dgx-h100-ndr", "dgx-a100-80-hdr", "gb200-nvl72", "tpu-v5p", "mi300x-8way", "trn1",
             "dgx-h200-ndr", "h100-pcie-80", "l40s-pcie")  # fmt: skip
_FRAMEWORKS = ("megatron", "torchtitan", "nanotron", "jax", "deepspeed", "megatron-zb", "hai-llm",
               "fsdp")  # fmt: skip
_PRECISIONS = ("bf16", "fp8", "fp32")
_OBJECTIVES = ("time", "energy", "edp", "money", "memory", "power")
_OPTIMIZERS = ("adam-bf16", "adam-8bit", "adafactor", "lion", "muon")
_ASSUMED = {
    "perfect_overlap": ("true",),
    "zero3_overlap": ("0", "1"),
    "dp_overlap": ("0", "1"),
    "tp_overlap": ("0", "1"),
    "dp_window": ("0", "1"),
    "cp_least_exposed": ("0", "1"),
    "p2p_exposed": ("0", "1"),
    "hides_gather": ("true", "false"),
    "bubbles": ("false",),
    "gradient_wire_bytes": ("1B", "8B"),
    "weight_wire_bytes": ("1B", "8B"),
    "elementwise": ("0.1", "5"),
    "micro_batch_s": ("0s", "10ms"),
    "memory.bandwidth": ("0.2x", "5x"),
    "peak.bf16": ("0.2x", "5x"),
}
"""Of the cost model and the chip: the ends of what they may be, or far from what they are."""
_CAPS = (200, 250, 350, 375, 450, 600)
"""Watts per chip, half of the rated power of some."""
_LIMITS = ("max_step_time", "max_power", "min_mfu", "max_memory", "memory_margin")


def _shared(rng: random.Random, models: tuple[str, ...]) -> Fields:
    """Job and machine."""
    seq_len = rng.choice((1024, 2048, 4096))
    fields: Fields = {
        "model": rng.choice(models),
        "hardware": rng.choice(_HARDWARE),
        "seq_len": seq_len,
        "batch_tokens": seq_len * rng.choice((4, 6, 8, 12, 16, 24, 32)),
    }
    if rng.random() < 0.6:
        fields["framework"] = rng.choice(_FRAMEWORKS)
    if rng.random() < 0.3:
        fields["precision"] = rng.choice(_PRECISIONS)
    if rng.random() < 0.3:
        fields["runnable_in"] = ["any"]
    if rng.random() < 0.3:
        names = rng.sample(sorted(_ASSUMED), rng.choice((1, 2, 4)))
        fields["set"] = tuple(f"{name}={rng.choice(_ASSUMED[name])}" for name in names)
    if rng.random() < 0.15:
        fields["optimizer"] = rng.choice(_OPTIMIZERS)
    if rng.random() < 0.15:
        fields["power_cap"] = rng.choice(_CAPS)
    return fields


def _narrowed(rng: random.Random, fields: Fields) -> None:
    """Some values fixed, and what a best plan has the least of."""
    fixes = {
        "pp": ["2"], "tp": ["1", "2"], "cp": ["1"], "micro_batch": ["1"], "recompute": ["none"],
        "sharding": ["zero1", "ddp"], "schedule": ["1f1b"],
    }  # fmt: skip
    if rng.random() < 0.3:
        chosen = rng.sample(sorted(fixes), rng.choice((1, 2)))
        fields["fix"] = {name: fixes[name] for name in chosen}
    if rng.random() < 0.15:
        fields["axes"] = rng.sample(["tp", "pp", "dp", "fsdp", "cp", "ep"], rng.choice((2, 3, 4)))
    if rng.random() < 0.3:
        fields["clocks"] = False


def limited(rng: random.Random, fields: Fields, answer: Any) -> Fields | None:
    """The question with limits near what its best plan takes; None: it has no plan."""
    best = answer.best
    if best is None:
        return None
    factor = rng.choice((0.97, 1.0 + 1e-6, 1.05, 1.3))
    drawn = {
        "max_step_time": factor * best.step_time_s,
        "max_power": factor * best.energy_per_step_j / best.step_time_s,
        "min_mfu": min(best.mfu / factor, 0.99),
        "max_memory": factor * best.memory_per_chip_bytes,
        "memory_margin": rng.choice((0.2, 0.5, 0.8, 1.0)),
    }
    names = rng.sample(_LIMITS, rng.choice((1, 1, 2)))
    return {**fields, **{name: drawn[name] for name in names}}


def _any_objective(rng: random.Random, fields: Fields) -> None:
    """Adds one of the objectives, with what it needs, or now and then a front of three."""
    fields["objective"] = rng.choice(_OBJECTIVES)
    if fields["objective"] == "power":
        fields["min_mfu"] = 0.01
    if fields["objective"] == "money":
        fields["price_per_chip_hour"] = 3.0
    if rng.random() < 0.2 and fields["objective"] in ("time", "energy", "edp"):
        fields["front"] = ["time", "energy", "memory"]


def uniform(rng: random.Random) -> Fields:
    """Of plans whose stages are alike, on one machine."""
    models = rng.choice((_DENSE, _DENSE, _WIDE, _WIDE, _EXPERTS))
    fields = _shared(rng, models)
    fields["chips"] = rng.choice((2, 4, 6, 8, 8, 12, 16))
    kind = rng.random()
    if kind < 0.15:
        fields["chips_at_most"] = min(fields.pop("chips"), 8)
    elif kind < 0.3:
        fields["chips_exact"] = True
    _any_objective(rng, fields)
    if rng.random() < 0.1 and "chips" in fields:
        fields["assumptions"] = "roofline"
    if rng.random() < 0.15:
        fields["placement"] = "all"
    if rng.random() < 0.1:
        fields["offload"] = True
    _narrowed(rng, fields)
    return fields


def experts(rng: random.Random) -> Fields:
    """Of plans that may divide each expert over ranks of its own."""
    fields = _shared(rng, _EXPERTS)
    name, hardware = rng.choice(_EXPERTS), rng.choice(_HARDWARE[:3])
    fields |= {"model": of_few_layers(name, rng.choice((2, 3))), "hardware": hardware}
    fields["framework"] = rng.choice(("megatron", "megatron", "megatron-fp32-grads", "hai-llm"))
    fields["chips"] = rng.choice((2, 3, 4, 4, 6, 8))
    fields["objective"] = rng.choice(_OBJECTIVES[:3])
    if rng.random() < 0.15:
        fields["placement"] = "all"
    _narrowed(rng, fields)
    few = rng.sample([1, 2, 3, 4, 8], rng.choice((1, 2, 3)))
    fields.setdefault("fix", {})["etp"] = [str(size) for size in sorted(few)]
    return fields


def modules(rng: random.Random) -> Fields:
    """Of plans whose modules may recompute, on chips whose memory may be short."""
    names = rng.choice((_EXPERTS, _EXPERTS, _WIDE[:4]))
    fields = _shared(rng, names)
    name, hardware = rng.choice(names), rng.choice(("dgx-h100-ndr", "l40s-pcie", "dgx-a100-80-hdr"))
    fields |= {"model": of_few_layers(name, rng.choice((2, 3, 4))), "hardware": hardware}
    fields["framework"] = rng.choice(("megatron", "megatron", "megatron-fp32-grads"))
    fields["seq_len"] = rng.choice((4096, 8192))
    fields["batch_tokens"] = fields["seq_len"] * rng.choice((4, 8, 12, 16))
    fields["chips"] = rng.choice((1, 2, 3, 4, 4, 6, 8))
    _any_objective(rng, fields)
    if rng.random() < 0.6:
        fields["max_memory"] = rng.choice((8e9, 12e9, 16e9, 24e9, 32e9))
    _narrowed(rng, fields)
    sets = ["any", "mlp", "moe", "moe_act", "layernorm", "layernorm+moe_act", "layernorm+moe"]
    fields.setdefault("fix", {})["recompute"] = rng.choice(
        (["any"], ["any"], ["none", "full", rng.choice(sets)], rng.sample(sets, 2))
    )
    return fields


def machines(rng: random.Random) -> Fields:
    """Of machines, numbers of chips and plans together."""
    fields = _shared(rng, _DENSE)
    fields |= {"hardware": "h100-sxm5-80", "seq_len": 2048, "batch_tokens": 2.0**14}
    fields["pes"] = sorted(rng.sample([33, 66, 99, 132, 264], rng.randrange(1, 4)))
    words = ["switch", "ring", "linear", "torus", "mesh", "hypercube", "fully-connected"]
    fields["topology"] = rng.sample(words, rng.randrange(1, 4))
    fields["total_pes"] = rng.choice((264, 528, 1056))
    fields["objective"] = rng.choice(("time", "energy", "edp"))
    _narrowed(rng, fields)
    return fields


@functools.cache
def _folder() -> Path:
    """Where files of models are until the process ends."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    return Path(kept.name)


def of_few_layers(name: str, layers: int) -> str:
    """The file of a model of so few layers that all ways to deal them out can be listed."""
    path = _folder() / f"{name}-of-{layers}.yaml"
    if not path.exists():
        data = {key: value for key, value in model_data(name)[0].items() if key != "published"}
        used = set(_sources_in(data))
        data["sources"] = {key: one for key, one in data["sources"].items() if key in used}
        path.write_text(dump({**data, "layers": {**data["layers"], "value": layers}}))
    return str(path)


def _sources_in(node: Any) -> Iterator[str]:
    """The keys of the sources that numbers of a record name."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "source":
                yield from [value] if isinstance(value, str) else value
            elif key != "sources":
                yield from _sources_in(value)


def _few_layers(rng: random.Random, fields: Fields) -> None:
    names = ("gpt3-350m", "llama3.2-1b", "llama3-8b", "qwen3-0.6b")
    fields["model"] = of_few_layers(rng.choice(names), rng.randrange(2, 6))
    fields["layout"] = "uneven"


def uneven(rng: random.Random) -> Fields:
    """Of plans whose stages may differ, on one machine."""
    fields = _shared(rng, _DENSE)
    _few_layers(rng, fields)
    fields["batch_tokens"] = fields["seq_len"] * rng.choice((4, 6, 8, 12))
    fields["chips"] = rng.choice((2, 3, 4, 4))
    fields["objective"] = rng.choice(("time", "time", "energy", "edp", "money"))
    if fields["objective"] == "money":
        fields["price_per_chip_hour"] = 3.0
    fields["fix"] = {"interleave": ["1"]}
    if rng.random() < 0.2:
        fields |= {"model": of_few_layers("mixtral-8x7b", rng.randrange(2, 4))}
        fields |= {"framework": "megatron", "hardware": "dgx-h200-ndr"}
        fields["fix"]["etp"] = rng.choice((["2"], ["1", "2"], ["1", "2", "4"]))
    if rng.random() < 0.5:
        fields["fix"]["sharding"] = ["ddp"]
    if rng.random() < 0.5:
        fields["fix"]["micro_batch"] = ["1"]
    fields["clocks"] = rng.random() < 0.3
    fields["front_points"] = rng.choice((1, "all"))
    return fields


def pools(rng: random.Random) -> Fields:
    """Of plans on pools of different chips."""
    fields = _shared(rng, _DENSE)
    _few_layers(rng, fields)
    del fields["hardware"]
    fields.pop("precision", None)
    fields["framework"] = rng.choice(("megatron", "megatron-zb", "deepspeed", "torchtitan"))
    kinds = rng.sample(["dgx-h100-ndr", "dgx-a100-80-hdr", "dgx-h200-ndr"], rng.choice((2, 2, 3)))
    fields["pools"] = ",".join(f"{name}={rng.choice((1, 1, 2, 4))}" for name in kinds)
    fields["precision"] = "bf16"
    fields["batch_tokens"] = fields["seq_len"] * rng.choice((4, 8))
    fields["objective"] = rng.choice(("time", "money"))
    if fields["objective"] == "money":
        fields["price_per_chip_hour"] = 3.0
    fields["fix"] = {"sharding": ["ddp" if fields["framework"] == "torchtitan" else "zero1"]}
    if rng.random() < 0.5:
        fields["fix"]["micro_batch"] = ["1"]
    return fields


DRAWS = {
    "uniform": uniform,
    "experts": experts,
    "modules": modules,
    "machines": machines,
    "uneven": uneven,
    "pools": pools,
}
"""By space."""
