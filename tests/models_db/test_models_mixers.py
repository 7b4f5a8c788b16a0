"""Layers whose mixer is no attention: exact counts, their order, and what contradicts itself."""

from pathlib import Path
from typing import Any

import pytest
from support.cases import each
from support.lines import without_lines

from models_db import ModelError, load_model
from models_db.recurrence import Recurrence


def mixer(kind: str, **dims: Any) -> Recurrence:
    """A recurrence without what is not named."""
    usual: dict[str, Any] = {"head_dim": 1, "key_heads": 0, "key_dim": 0, "kernel": 0, "rank": 0}
    usual |= {"bias": (), "norm": "none", "chunk": 0}
    return Recurrence(kind=kind, **usual | dims)


def heads(count: int, width: int, key_heads: int, key_dim: int) -> dict[str, int]:
    return {"heads": count, "head_dim": width, "key_heads": key_heads, "key_dim": key_dim}


# Parameters of one mixer as its class in transformers 5.23.0 builds it on the meta device:
# Qwen3NextGatedDeltaNet, KimiLinearDeltaAttention, MiniMaxLightningAttention, NemotronHMamba2Mixer,
# FalconH1Mixer, JambaMambaMixer and Lfm2ShortConv, with the defaults of their configurations (of
# MiniMax: hidden 6144, 64 heads of 128; of Falcon: no norm).
_CONV: dict[str, Any] = {"kernel": 4, "bias": ("convolution",)}
BUILT = [
    (33_718_464, 2048, mixer("gated-delta", **heads(32, 128, 16, 128), kernel=4, norm="per-head")),
    (
        39_514_272,
        2304,
        mixer("kimi-delta", **heads(32, 128, 32, 128), kernel=4, rank=128, norm="per-head"),
    ),
    (251_666_432, 6144, mixer("lightning", **heads(64, 128, 64, 128), norm="full-width")),
    (109_635_968, 4096, mixer("mamba2", **heads(128, 64, 8, 128), **_CONV, norm="full-width")),
    (15_212_416, 4096, mixer("mamba2", **heads(128, 8, 1, 256), **_CONV)),
    (
        105_308_448,
        4096,
        mixer("mamba", heads=8192, key_dim=16, rank=256, **_CONV, norm="inputs"),
    ),
    (26_222_080, 2560, mixer("short-convolution", heads=2560, kernel=3)),
]


@each(("built", "hidden", "recurrence"), BUILT)
def test_a_mixer_counts_as_its_class_builds_it(
    built: int, hidden: int, recurrence: Recurrence
) -> None:
    assert recurrence.parameters(hidden) == built


HYBRID = """
name: tiny-hybrid
title: Tiny hybrid
family: tiny
defaults: {kind: assumed, source: plan, note: planned}
layers: {value: 6, unit: "1"}
hidden: {value: 64, unit: "1"}
heads: {value: 4, unit: "1"}
kv_heads: {value: 2, unit: "1"}
head_dim: {value: 16, unit: "1"}
vocab_size: {value: 100, unit: tokens}
seq_len: {value: 32, unit: tokens}
tied_embeddings: false
parallel_block: false
attention: {kind: gqa, bias: [], qk_norm: none, sinks: false}
order: {mixers: "M.M*.M", feed_forwards: ".-..E."}
recurrence:
  kind: mamba2
  heads: {value: 8, unit: "1"}
  head_dim: {value: 16, unit: "1"}
  key_heads: {value: 2, unit: "1"}
  key_dim: {value: 8, unit: "1"}
  kernel: {value: 4, unit: "1"}
  bias: [convolution]
  norm: full-width
  chunk: {value: 16, unit: tokens}
mlp: {hidden: {value: 128, unit: "1"}, gated: false, bias: false}
norm:
  kind: rmsnorm
  bias: false
  per_layer: {value: 1, unit: "1"}
  final: true
  embedding: false
positions: {kind: none}
moe:
  experts: {value: 4, unit: "1"}
  experts_per_token: {value: 2, unit: "1"}
  expert_hidden: {value: 32, unit: "1"}
  shared_experts: {value: 0, unit: "1"}
  router_bias: true
  latent: {value: 16, unit: "1"}
sources:
  plan: {title: plan, url: https://example.com}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "m.yaml"
    path.write_text(HYBRID)
    return path


def test_layers_are_counted_by_what_they_are_made_of(path: Path) -> None:
    model = load_model(path)
    assert model.mixers == ("recurrence", "none", "recurrence", "attention", "none", "recurrence")
    assert model.feed_forwards == ("none", "dense", "none", "none", "moe", "none")
    assert model.layer_kinds == ("dense", "dense", "dense", "dense", "moe", "dense")
    scan = 64 * (2 * 128 + 2 * 16 + 8) + 160 * 5 + 3 * 8 + 128 + 128 * 64
    attention = 2 * 64 * 64 + 2 * 64 * 32
    mlp, expert = 2 * 64 * 128, 2 * 16 * 32
    experts = 4 * expert + 4 * 65 + 2 * 16 * 64
    norms, ends = 7 * 64, 2 * 100 * 64
    assert model.total_parameters == 3 * scan + attention + mlp + experts + norms + ends
    assert model.active_parameters == model.total_parameters - 2 * expert
    assert model.layer_parameters("moe", "none") == experts + 64


def test_a_shorter_order_is_repeated(path: Path) -> None:
    plain = HYBRID.replace('{mixers: "M.M*.M", feed_forwards: ".-..E."}', '{mixers: "MM*"}')
    moe = plain[plain.index("moe:") : plain.index("sources:")]
    path.write_text(plain.replace(moe, ""))
    model = load_model(path)
    assert model.mixers == ("recurrence", "recurrence", "attention") * 2
    assert set(model.feed_forwards) == {"dense"}


MISTAKES = [
    (
        'mixers: "M.M*.M"',
        'mixers: "Mx"',
        "order.mixers: the text 'Mx' does not have",
    ),
    ('mixers: "M.M*.M"', 'mixers: "MMMMMMM"', "order.mixers: 7 letters for 6 layers"),
    ('mixers: "M.M*.M"', 'mixers: "M...M."', "order: layer 2, counted from 0, has neither"),
    ('mixers: "M.M*.M"', 'mixers: "..*"', "recurrence: given, but no layer of order.mixers"),
    ('feed_forwards: ".-..E."', 'feed_forwards: ".-"', "order.feed_forwards: has no layer with"),
    ('feed_forwards: ".-..E."', 'feed_forwards: ".E"', "mlp.hidden: given, but no layer has a"),
    (', feed_forwards: ".-..E."', "", "moe.layer_period: missing; it says which layers have"),
    (
        "  router_bias",
        '  layer_period: {value: 1, unit: "1"}\n  router_bias',
        "moe.layer_period: giv",
    ),
    ("  key_dim: {value: 8", "  rank: {value: 8", "recurrence.key_dim: missing; a recurrence of"),
    ("  key_heads: {value: 2", "  key_heads: {value: 3", "recurrence.key_heads: 3 does not divide"),
    ("kind: mamba2", "kind: mamba3", "did you mean mamba?"),
]


@each(("old", "new", "said"), MISTAKES)
def test_what_contradicts_itself_is_said(path: Path, old: str, new: str, said: str) -> None:
    assert old in HYBRID
    path.write_text(HYBRID.replace(old, new))
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert said in without_lines(str(caught.value), path.read_text())
