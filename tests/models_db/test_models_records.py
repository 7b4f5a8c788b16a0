"""Every shipped record: provenance of every number, and fields that agree with each other."""

import functools
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from support.cases import each

from models_db import list_models, load_model
from models_db.loading import shipped_aliases
from strict_yaml.reading import load as load_yaml

DATA = Path(str(resources.files("models_db") / "data"))
NAMES = sorted(path.stem for path in DATA.glob("*.yaml"))
UNITS = {"1", "tokens", "parameters"}
KINDS = {"datasheet", "measured", "derived", "assumed"}
# fmt: off
WANTED = [
    "gpt3-125m", "gpt3-350m", "gpt3-760m", "gpt3-1.3b", "gpt3-2.7b", "gpt3-6.7b", "gpt3-13b",
    "gpt3-175b", "megatron-1.7b", "megatron-3.6b", "megatron-7.5b", "megatron-18b",
    "megatron-39b", "megatron-76b", "megatron-145b", "megatron-310b", "megatron-530b",
    "megatron-1t", "megatron-22b", "mt-nlg-530b", "opt-6.7b", "opt-13b", "opt-30b", "opt-66b",
    "opt-175b", "bloom-7b1", "bloom-176b", "gpt-neox-20b", "palm-8b", "palm-62b", "palm-540b",
    "falcon-7b", "falcon-40b", "falcon-180b", "mpt-7b", "mpt-30b", "llama-7b", "llama-13b",
    "llama-33b", "llama-65b", "llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b",
    "llama3-70b", "llama3.1-8b", "llama3.1-70b", "llama3.1-405b", "llama3-405b", "llama4-scout",
    "llama4-maverick", "mistral-7b", "mixtral-8x7b", "mixtral-8x22b", "qwen2.5-7b",
    "qwen2.5-14b", "qwen2.5-32b", "qwen2.5-72b", "qwen3-8b", "qwen3-14b", "qwen3-32b",
    "qwen3-30b-a3b", "qwen3-235b-a22b", "qwen2-57b-a14b", "gemma2-9b", "gemma2-27b",
    "gemma3-4b", "gemma3-12b", "gemma3-27b", "deepseek-v2", "deepseek-v2-lite", "deepseek-v3",
    "olmo2-7b", "olmo2-13b", "olmo2-32b", "phi-3-mini", "phi-4", "gpt-oss-20b", "gpt-oss-120b",
    "kimi-k2", "qwen3-next-80b-a3b", "nemotron-h-56b", "nemotron-3-nano-30b-a3b", "llama3.2-1b",
    "qwen3-coder-480b-a35b", "mistral-large-123b", "nemotron4-340b", "olmo3-32b", "gemma3-1b",
]
# fmt: on
WIDE_HEADS = {"gemma-7b"}  # heads of 256 over a hidden width of 3072


@functools.cache
def raw(name: str) -> Any:
    """What the file of a model says."""
    return load_yaml((DATA / f"{name}.yaml").read_text())


def leaves(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All scalars of plain data with their paths."""
    if isinstance(data, dict):
        for key, part in data.items():
            yield from leaves(part, (*path, key))
    elif isinstance(data, list):
        for part in data:
            yield from leaves(part, path)
    else:
        yield path, data


def at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def test_enough_models() -> None:
    assert len(list_models()) == len(NAMES) == 126


@each("name", WANTED)
def test_wanted_models_load(name: str) -> None:
    assert load_model(name).layers > 0


@each("name", NAMES)
def test_every_number_has_unit_kind_and_source(name: str) -> None:
    data = raw(name)
    assert data["name"] == name
    keys = set(data["sources"])
    used: set[str] = set()
    count = 0
    for path, value in leaves(data):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        assert path[-1] in ("value", "uncertainty"), path
        number = at(data, path[:-1])
        assert set(number) >= {"value", "unit", "kind", "source"}, path
        assert number["unit"] in UNITS, path
        assert number["kind"] in KINDS, path
        sources = number["source"] if isinstance(number["source"], list) else [number["source"]]
        assert sources, path
        assert set(sources) <= keys, path
        used |= set(sources)
        if number["kind"] in ("assumed", "derived"):
            assert number.get("note", "").strip(), path
        count += 1
    assert count >= 10
    assert used == keys


@each("name", NAMES)
def test_sources_are_public_documents(name: str) -> None:
    for source in raw(name)["sources"].values():
        assert len(source["title"]) >= 10
        assert source["url"].startswith("https://")


@each("name", NAMES)
def test_loaded_quantities_are_those_of_the_file(name: str) -> None:
    model = load_model(name)
    numbers = {
        ".".join(path[:-1]): value for path, value in leaves(raw(name)) if path[-1] == "value"
    }
    assert {path: number.value for path, number in model.quantities.items()} == numbers
    assert set(model.sources) == set(raw(name)["sources"])
    for number in model.quantities.values():
        assert set(number.sources) <= set(model.sources)


@each("name", NAMES)
def test_fields_agree(name: str) -> None:
    model = load_model(name)
    attention = model.attention
    assert model.heads % model.kv_heads == 0
    if attention.kind in ("mha", "mla"):
        assert model.kv_heads == model.heads
    if attention.kind == "mha" and name not in WIDE_HEADS:
        assert model.heads * model.head_dim == model.hidden
    if attention.kind == "mla":
        assert attention.qk_nope_head_dim is not None
        assert attention.qk_rope_head_dim is not None
        assert model.head_dim == attention.qk_nope_head_dim + attention.qk_rope_head_dim
    else:
        assert attention.v_head_dim == model.head_dim
        assert attention.kv_lora_rank is None
    if model.moe is not None:
        assert model.moe.experts_per_token <= model.moe.experts
        assert model.layer_kinds[: model.moe.first_dense_layers] == (
            ("dense",) * model.moe.first_dense_layers
        )
        assert "moe" in model.layer_kinds
    assert ("dense" in model.feed_forwards) == (model.mlp.hidden is not None)
    assert ("recurrence" in model.mixers) == (model.recurrence is not None)
    assert len(model.layer_kinds) == len(model.attention_windows) == model.layers
    if model.window is not None:
        assert model.window.local_layers + model.window.global_layers <= model.layers
        assert model.window.tokens in model.attention_windows
    if model.positions.kind == "learned":
        assert model.positions.max_positions is not None
        assert model.positions.max_positions >= model.seq_len
    assert model.norm.kind == (
        "rmsnorm"
        if (model.mlp.gated and not name.startswith("palm")) or model.order
        else "layernorm"
    )


def test_true_head_dimensions() -> None:
    """Widths that hidden / heads gets wrong."""
    expected = {
        "qwen3-32b": 128,
        "qwen3-235b-a22b": 128,
        "gpt-oss-120b": 64,
        "gemma2-9b": 256,
        "gemma3-27b": 128,
        "deepseek-v3": 192,
        "palm-540b": 256,
    }
    for name, head_dim in expected.items():
        model = load_model(name)
        assert model.head_dim == head_dim
        assert model.head_dim * model.heads != model.hidden


def test_aliases_are_unique_and_found() -> None:
    seen: dict[str, str] = {}
    for name in NAMES:
        for alias in raw(name)["aliases"]:
            assert alias == alias.lower()
            assert alias not in NAMES, f"{alias} is a name and an alias of {name}"
            assert alias not in seen, f"{alias} is an alias of {name} and of {seen[alias]}"
            seen[alias] = name
    assert dict(shipped_aliases()) == seen
    assert load_model("llama3-405b").name == "llama3.1-405b"
    assert load_model("meta-llama/Llama-3.1-405B").name == "llama3.1-405b"
    assert load_model(" GPT-3 ").name == "gpt3-175b"
    for alias, name in seen.items():
        assert name in load_model(alias).name


@each("path", sorted(DATA.rglob("*.yaml")))
def test_files_are_readable_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "\t" not in text
    for line in text.splitlines():
        assert len(line) <= 100 or "url:" in line or "title:" in line or "aliases:" in line
