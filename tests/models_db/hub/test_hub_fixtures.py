"""Configurations of published models: counts as published, and fields as in our own records."""

from pathlib import Path
from typing import Any

from support.cases import each

from models_db import Model, load_model
from models_db.hub import MODEL_TYPES, Import, import_model
from models_db.hub.activations import ACTIVATIONS
from models_db.loading import model_from_bytes
from strict_yaml.reading import load as load_yaml

HERE = Path(__file__).parent
INDEX: dict[str, Any] = load_yaml((HERE / "fixtures.yaml").read_text(encoding="utf-8"))
CONFIGS: dict[str, dict[str, Any]] = INDEX["configs"]
READ = [name for name, entry in CONFIGS.items() if not entry.get("assumed")]
# What a config.json says otherwise than our record, which has it from elsewhere.
OTHERWISE = {
    "gemma3-27b": {"vocab_size": 262_208},  # the multimodal file has 64 rows for images
}


def imported(name: str) -> Import:
    """A fixture, read."""
    return import_model(HERE / "configs" / f"{name}.json")


def published(entry: dict[str, Any]) -> tuple[int, int]:
    """Parameters of the language model as published, and half of their interval."""
    if "published" in entry:
        said = entry["published"]
        return said["parameters"] - said.get("outside", 0), said.get("rounding", 0)
    ours = load_model(entry["record"])
    total = ours.quantities["published.total_parameters"]
    return total.value - ours.published.other_parameters, total.uncertainty


def facts(model: Model) -> dict[str, object]:
    """Every number of a model but the assumed length, and all that is no number."""
    numbers = {
        path: number.value
        for path, number in model.quantities.items()
        if path != "seq_len" and not path.startswith("published.")
    }
    plain = ("tied_embeddings", "parallel_block", "attention", "mlp", "norm", "positions", "moe")
    return {**numbers, **{name: getattr(model, name) for name in plain}, "window": model.window}


def test_there_are_enough_and_each_has_a_source() -> None:
    exact = [name for name in READ if name in COUNTED and published(CONFIGS[name])[1] == 0]
    assert len(exact) >= 25
    assert {path.stem for path in (HERE / "configs").glob("*.json")} == set(CONFIGS)
    for name in READ:
        source = INDEX["read_in"][CONFIGS[name]["read_in"]]
        assert source["repository"].startswith("https://github.com/"), name
        assert len(source["commit"]) == 40, name
        assert CONFIGS[name]["file"]
    for entry in CONFIGS.values():
        if "published" in entry:
            assert entry["published"]["source"] in INDEX["counts"]


def test_every_type_has_a_configuration() -> None:
    assert {imported(name).model_type for name in CONFIGS} == {*ACTIVATIONS, "bloom"}
    assert set(MODEL_TYPES) < {*ACTIVATIONS, "bloom"}


COUNTED = [name for name, entry in CONFIGS.items() if "published" in entry or "record" in entry]
# Published totals that hold a few more values than our record too, of tensors without a name.
MORE = {"kimi-k2": 3416}


@each("name", COUNTED)
def test_count_is_the_published_one(name: str) -> None:
    parameters, rounding = published(CONFIGS[name])
    found = imported(name).model.total_parameters + MORE.get(name, 0)
    assert abs(found - parameters) <= rounding


@each("name", [name for name in CONFIGS if "record" in CONFIGS[name]])
def test_fields_are_those_of_our_record(name: str) -> None:
    found, ours = facts(imported(name).model), facts(load_model(CONFIGS[name]["record"]))
    ours = {path: value for path, value in ours.items() if not path.startswith("vision.")}
    for path, value in OTHERWISE.get(name, {}).items():  # towers are counted, and not in a model
        assert found[path] == value
        found[path] = ours[path]
    assert found == ours


@each("name", CONFIGS)
def test_the_file_that_it_becomes_is_a_model(name: str) -> None:
    found = imported(name)
    again = model_from_bytes(found.text.encode(), "again.yaml")
    assert facts(again) == facts(found.model)
    assert again.seq_len == found.model.seq_len
    assert again.sources["config"].sha256 == found.sha256
    assert found.unread == ()
    first = found.text.splitlines()[0]
    assert first.startswith("# ")
    assert found.model_type in first


@each("name", CONFIGS)
def test_numbers_say_how_they_are_known(name: str) -> None:
    model = imported(name).model
    for path, number in model.quantities.items():
        assert number.sources == ("config",), path
        assert number.kind in ("datasheet", "derived", "assumed"), path
        assert (number.kind == "datasheet") or number.note, path
    assert model.quantities["hidden"].kind == "datasheet"


def test_defaults_of_the_class_are_marked() -> None:
    found = imported("gemma3-27b")
    assert found.assumed["vocab_size"] == "262208"
    assert found.assumed["tie_word_embeddings"] == "true"
    assert found.model.quantities["vocab_size"].kind == "assumed"
    assert any("vocab_size is absent: 262208" in line for line in found.remarks)


@each(
    ("name", "tokens"),
    [("llama3.1-8b", 8192), ("deepseek-v3", 4096), ("gpt-oss-20b", 4096), ("qwen3-8b", 40960),
     ("llama4-scout", 8192), ("gpt2", 1024), ("bloom-560m", 2048), ("falcon-7b", 2048)],
)  # fmt: skip
def test_length_is_the_one_before_an_extension_of_the_context(name: str, tokens: int) -> None:
    assert imported(name).model.seq_len == tokens


def test_predictors_are_apart_from_the_total() -> None:
    model = imported("deepseek-v3").model
    assert model.mtp_modules == 1
    assert model.mtp_parameters == load_model("deepseek-v3").mtp_parameters


@each("name", ["gpt2", "opt-125m", "llama3.1-8b", "bloom-560m"])
def test_the_length_of_sequences_has_a_reason(name: str) -> None:
    found = imported(name)
    [line] = [line for line in found.remarks if line.startswith("seq_len")]
    assert "()" not in line
    assert found.model.quantities["seq_len"].kind == "assumed"
