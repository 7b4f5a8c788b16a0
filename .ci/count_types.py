"""Parameters of every model type of transformers, as it builds them without memory.

    python .ci/count_types.py tests/models_db/hub/counted.json [--only bart llama]

Needs torch and transformers; takes about ten minutes. For each type of three mappings the default
configuration of its class is built on the meta device, then one in which as many keys as possible
have another value: those that change the number of parameters, each tried after the other, and
that our reader does not refuse. `benchmarks/model_types.py` makes a page of the file.
"""
# ruff: noqa: PLC0415  (torch, transformers and our reader take seconds: where they are needed)

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MAPPINGS = {
    "causal": ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "AutoModelForCausalLM"),
    "encoder-decoder": ("MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "AutoModelForSeq2SeqLM"),
    "vision": ("MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "AutoModelForImageTextToText"),
}
_LAYERS = (
    *("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"),
    *("decoder_layers", "num_decoder_layers", "num_encoder_layers"),
)
_FEW_LAYERS = 9
_SECONDS = 60
_ALL_SECONDS = 45
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
# Keys that never change the number of parameters, by what their names hold.
_SHAPELESS = re.compile(
    r"^_|dropout|_eps$|epsilon|token_id|token_index|initializer|init_std|theta|rope(?!_head_dim)|softcap|label"
    r"|_coef$|^time_step_(min|max|floor|limit|scale)|scaling_factor|^output_|^return_|^is_|^use_cache"
    r"|^transformers_version$|^dtype$|^problem_type$|^chunk_size_feed|layerdrop|_alpha$|multiplier$"
    r"|^summary_|^max_length|_pdrop$|_act$|activation|_prob$|^mask_|_seed$|norm_topk|^pretraining_tp"
)
_ALL_THE_SAME = ("hidden_act", "block_ffn_dim_multiplier", "hidden_activation")


class LateError(Exception):
    """A model takes too long to build."""


def _late(*_args: object) -> None:
    raise LateError


def plain(config: Any) -> dict[str, Any]:
    """A configuration as its file would hold it, without keys that change no shape."""
    data: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    return without_shapeless(data)


def without_shapeless(data: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data without the keys that change no shape, at any depth."""
    return {
        key: without_shapeless(value) if isinstance(value, dict) else value
        for key, value in data.items()
        if key in _ALL_THE_SAME or not _SHAPELESS.search(key)
    }


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
        kept = plain(config)  # before a class changes it
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

    def few_layers(self) -> dict[str, Any]:
        """Values of a configuration of few layers, so that others are quickly built."""
        default = plain(self.config_class(**self.base))
        few = {k: min(default[k], _FEW_LAYERS) for k in _LAYERS if isinstance(default.get(k), int)}
        values = {**self.base, **few}
        if "layer_types" in values and "num_hidden_layers" in few:
            values["layer_types"] = values["layer_types"][: few["num_hidden_layers"]]
        try:
            self.count(values)
        except (Exception, LateError):  # a class may want as many as it has
            return dict(self.base)
        return values


def other_values(value: object) -> list[Any]:
    """Values to try in place of one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [2 * value, value // 2, value + 1, value - 1] if value else [1, 2]
    if value is None:
        return [16, True]
    return [2 * value] if isinstance(value, float) and value >= 0.25 else []


def changes(config: Mapping[str, Any], kept: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """One key changed at a time: the configuration inside that it is in, or "", key and value."""
    for key, value in config.items():
        if key in kept or key in ("model_type", "architectures"):
            continue
        if isinstance(value, dict) and key.endswith("config"):
            for name, old in value.items():
                for new in other_values(old) if name != "model_type" else ():
                    yield key, name, new
        for new in other_values(value):
            yield "", key, new


def is_refused(config: dict[str, Any]) -> bool:
    """Whether our reader refuses a configuration."""
    from models_db.errors import ModelError
    from models_db.hub.importing import counts_of
    from models_db.hub.reading import read_config

    try:
        counts_of(read_config(config, "config.json"))
    except ModelError:
        return True
    return False


def varied(builder: Builder) -> tuple[dict[str, Any], int] | None:
    """A configuration in which many keys have another value; None where our reader refuses it."""
    values = builder.few_layers()
    config, total = builder.count(values)
    if is_refused(config):
        return None
    end, done = time.monotonic() + _ALL_SECONDS, set()
    for inside, key, new in changes(config, values):
        if (inside, key) in done or time.monotonic() > end:
            continue
        inner = {"model_type": config[inside].get("model_type")} if inside else {}
        trial = {**values, inside: {**inner, **values.get(inside, {}), key: new}}
        trial = trial if inside else {**values, key: new}
        try:
            found, count = builder.count(trial)
        except (Exception, LateError):  # noqa: S112  (no value for this class)
            continue
        if count != total and not is_refused(found):
            values, config, total = trial, found, count
            done.add((inside, key))
    return config, total


def without_unread(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration without keys that make no difference to our reader: unread, null, lists."""
    from models_db.hub.reading import read_config

    unread = set(read_config(config, "config.json").unread)
    found = _without(config, unread, "")
    best = found if seen_of(found) == seen_of(config) else config
    for key in [*_list_keys(best, "")]:
        shorter = _without(best, {key}, "")
        if seen_of(shorter) == seen_of(best):
            best = shorter
    return best


def seen_of(config: dict[str, Any]) -> object:
    """What our reader makes of a configuration; None where it refuses it."""
    from models_db.errors import ModelError
    from models_db.hub.importing import counts_of
    from models_db.hub.reading import read_config

    try:
        reading = read_config(config, "config.json")
        return reading.lacks, reading.parts and reading.parts.blocks(), counts_of(reading)
    except ModelError:
        return None


def _list_keys(data: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """The dotted keys of lists."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _list_keys(value, f"{prefix}{key}.")
        elif isinstance(value, list) and key != "architectures":
            yield f"{prefix}{key}"


def _without(data: Mapping[str, Any], keys: set[str], prefix: str) -> dict[str, Any]:
    """Plain data without null and without some keys, dotted."""
    return {
        key: _without(value, keys, f"{prefix}{key}.") if isinstance(value, dict) else value
        for key, value in data.items()
        if value is not None and f"{prefix}{key}" not in keys
    }


def difference(new: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a configuration that differ from another."""
    found: dict[str, Any] = {}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := difference(value, before):
                found[key] = inner
        elif value != before or type(value) is not type(before):
            found[key] = value
    return found


def record(mapping: str, name: str) -> dict[str, Any]:
    """What is kept of one type."""
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import torch

    torch.set_num_threads(1)
    try:
        builder = Builder(mapping, name)
        default, count = builder.count(builder.base)
        kept: dict[str, Any] = {"class": builder.built, "count": count}
        if is_refused(default):
            return kept
        kept["config"] = without_unread(default)
        if (other := varied(builder)) is not None:
            changed = difference(without_unread(other[0]), kept["config"])
            kept["varied"], kept["varied_count"] = changed, other[1]
    except (Exception, LateError) as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    return kept


def main() -> None:
    """Counts all types, or some, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="some types; others stay as they are")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    import transformers
    from transformers.models.auto import modeling_auto

    old = json.loads(options.file.read_text("utf-8"))["types"] if options.only else {}
    types: dict[str, Any] = dict(old)
    todo = [
        (mapping, name)
        for mapping, (names, _) in MAPPINGS.items()
        for name in getattr(modeling_auto, names)
        if not options.only or name in options.only
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        for (mapping, name), found in zip(
            todo, pool.map(record, *zip(*todo, strict=True)), strict=True
        ):
            types[f"{mapping}/{name}"] = found
            said = found.get("error") or found["count"]
            print(mapping, name, said, file=sys.stderr, flush=True)
    lines = [f"{json.dumps(key)}: {json.dumps(types[key])}" for key in sorted(types)]
    head = f'{{"transformers": {json.dumps(transformers.__version__)}, "types": {{\n'
    options.file.write_text(head + ",\n".join(lines) + "\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
