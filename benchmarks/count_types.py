"""Parameters of every model type of transformers, as it builds them without memory.

    python benchmarks/count_types.py --write tests/models_db/hub/counted.json [--only bart llama]

Needs torch and transformers; takes some ten minutes. For each type of three mappings the default
configuration of its class is built on the meta device, then a small one (8 layers), then that with
one key changed at a time, for each key that changes the number of parameters. What is kept are the
keys that our reader looks at, and the counts; `benchmarks/model_types.py` makes a page of it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MAPPINGS = {
    "causal": ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "AutoModelForCausalLM"),
    "encoder-decoder": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "AutoModelForSeq2SeqLM"),
    "vision": ("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "AutoModelForImageTextToText"),
}
MOST_CASES = 12
_LAYERS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"),
    *("decoder_layers", "num_decoder_layers", "num_encoder_layers"),
)
_SMALL = 8
_SECONDS = 60
_ALL_SECONDS = 40
# A buffer there, a parameter of the router here.
_CORRECTION = "e_score_correction_bias"
# Default configurations of 5.23.0 that its own classes cannot build, or that contradict
# themselves: values that published models of the type have, or that make it small.
_OTHERWISE: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [2, 5]},
    "dbrx": {
        "attn_config": {"kv_n_heads": 8, "rope_theta": 10000.0},
        "ffn_config": {"ffn_hidden_size": 3584, "moe_num_experts": 8, "moe_top_k": 2},
    },
    "deepseek_v2": {"num_experts_per_tok": 6, "n_group": 8, "topk_group": 3},
    "dots1": {
        **{"n_routed_experts": 16, "n_shared_experts": 2, "num_experts_per_tok": 4},
        **{"first_k_dense_replace": 1, "head_dim": 128},
    },
    "glm4_moe": {"head_dim": 128},
    "granitemoehybrid": {"layer_types": ["mamba", "mamba", "attention", "mamba"] * 8},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128, "num_experts": 8, "moe_topk": 2},
    "lfm2": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
    "ministral": {"head_dim": 128, "sliding_window": 4096},
    "nemotron": {"head_dim": 128, "num_key_value_heads": 8},
    "reformer": {"is_decoder": True},
}
_SKIPPED = (
    *("transformers_version", "model_type", "dtype", "return_dict", "output_hidden_states"),
    *("output_attentions", "chunk_size_feed_forward", "use_cache", "problem_type", "id2label"),
    *("layer_norm_eps", "rms_norm_eps", "is_encoder_decoder", "label2id", "initializer_range"),
)


class Late(Exception):
    """A model takes too long to build."""


def plain(config: Any) -> dict[str, Any]:
    """A configuration as its file would hold it, with its class."""
    data: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    return {key: value for key, value in data.items() if key not in ("id2label", "label2id")}


class Builder:
    """Builds the models of one type of one mapping."""

    def __init__(self, mapping: str, name: str) -> None:
        import transformers

        self.auto = getattr(transformers, MAPPINGS[mapping][1])
        self.config_class = transformers.CONFIG_MAPPING[name]
        self.base = _OTHERWISE.get(name, {})
        self.built = ""
        signal.signal(signal.SIGALRM, _late)

    def count(self, values: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The configuration with some values, and its number of parameters."""
        import torch

        config = self.config_class(**values)
        kept = plain(config)  # as built, before a class changes it
        signal.alarm(_SECONDS)
        try:
            with torch.device("meta"), contextlib.redirect_stdout(io.StringIO()):
                model = self.auto.from_config(config)
        finally:
            signal.alarm(0)
        self.built = type(model).__name__
        total = sum(tensor.numel() for tensor in model.parameters())
        buffers = (b.numel() for name, b in model.named_buffers() if _CORRECTION in name)
        return {**kept, "architectures": [self.built]}, total + sum(buffers)

    def small(self) -> dict[str, Any]:
        """Values of a configuration of few layers."""
        default = plain(self.config_class(**self.base))
        layers = {k: min(default[k], _SMALL) for k in _LAYERS if isinstance(default.get(k), int)}
        values = {**self.base, **layers}
        if "layer_types" in values and "num_hidden_layers" in layers:
            values["layer_types"] = values["layer_types"][: layers["num_hidden_layers"]]
        try:
            self.count(values)
        except Exception:  # a class may want more layers
            return dict(self.base)
        return values


def _late(*_args: object) -> None:
    raise Late


def other_values(value: object) -> list[Any]:
    """Values to try in place of one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1, value - 1] if value else [1, 2]
    if value is None:
        return [16, True]
    return [2 * value] if isinstance(value, float) and value >= 0.25 else []


def changes(config: dict[str, Any], small: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """One key changed at a time: the key, and all values that are given then."""
    for key, value in config.items():
        if key in _SKIPPED or key in small or key.startswith("_") or key.endswith("token_id"):
            continue
        if isinstance(value, dict) and key.endswith("config"):
            inner = {"model_type": value.get("model_type")}
            for sub, old in value.items():
                if sub not in _SKIPPED and not sub.startswith("_"):
                    for new in other_values(old):
                        yield f"{key}.{sub}", {**small, key: {**inner, sub: new}}
        for new in other_values(value):
            yield key, {**small, key: new}


def cases_of(builder: Builder) -> list[tuple[dict[str, Any], int]]:
    """The default configuration, a small one, and that with other values."""
    cases = [builder.count(builder.base)]
    small = builder.small()
    config, total = builder.count(small)
    cases.append((config, total))
    done: set[str] = set()
    signal.signal(signal.SIGALRM, _late)
    import time

    end = time.monotonic() + _ALL_SECONDS
    for key, values in changes(config, small):
        if key in done or time.monotonic() > end:
            continue
        try:
            other, count = builder.count(values)
        except Exception:  # no value for this class
            continue
        if count != total:
            done.add(key)
            cases.append((other, count))
    return cases


def difference(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The keys of a configuration that differ from another."""
    found = {}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := difference(value, before):
                found[key] = inner
        elif value != before or type(value) is not type(before):
            found[key] = value
    return found


def needed(config: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    """A configuration (or one inside it) without the keys that make no difference to our reader."""
    from models_db.hub.counts import reading_of

    whole = reading_of(config)
    for key in list(data):
        value = data.pop(key)
        if isinstance(value, dict) and key.endswith("config"):
            data[key] = value
            needed(config, value)
        elif key == "model_type" or reading_of(config) != whole:
            data[key] = value
    return config


def record(mapping: str, name: str) -> dict[str, Any]:
    """What is kept of one type."""
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import torch

    torch.set_num_threads(1)
    try:
        builder = Builder(mapping, name)
        cases = cases_of(builder)
    except (Exception, Late) as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return {"class": builder.built, "cases": kept_cases(cases)}


def kept_cases(cases: list[tuple[dict[str, Any], int]]) -> list[list[Any]]:
    """Cases as they are kept: the default one, the small one as it differs, others likewise."""
    from models_db.hub.counts import reading_of

    default, small = cases[0][0], cases[1][0]
    kept: list[list[Any]] = [[default, cases[0][1]], [difference(small, default), cases[1][1]]]
    kept += [[difference(config, small), count] for config, count in cases[2:]]
    if reading_of(default) is None:
        return [[{"model_type": default["model_type"]}, cases[0][1]]]
    asked = {key for found, _ in kept[1:] for key in found}
    shown = needed(json.loads(json.dumps(default)), json.loads(json.dumps(default)))
    return [kept[0], *kept[1:]] if not asked else [[shown, cases[0][1]], *kept[1:]]
