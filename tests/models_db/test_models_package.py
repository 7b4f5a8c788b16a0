"""The public face of the package: names, cheap import, listing, schema, hash."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import each

import models_db
from models_db import ModelError, database_hash, describe, json_schemas, list_models, load_model

ROOT = str(Path(models_db.__file__).parents[1])


def python(code: str, cwd: Path) -> str:
    """Run code in a fresh interpreter that can import this package."""
    program = f"import sys; sys.path.insert(0, {ROOT!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cwd
    )
    return done.stdout.strip()


ALIASES = {"FeedForward", "LayerKind", "Mixer"}  # of typing.Literal, which take no docstring


def test_all_is_sorted_and_complete() -> None:
    assert models_db.__all__ == sorted(models_db.__all__)
    for name in models_db.__all__:
        assert getattr(models_db, name).__doc__ or name in ALIASES
    assert {"Model", "ModelError", "load_model", "list_models", "describe"} <= set(
        models_db.__all__
    )


def test_import_is_cheap(tmp_path: Path) -> None:
    heavy = ["pydantic", "yaml", "numpy", "networkx", "ortools", "models_db.schema"]
    code = f"import models_db; print([name for name in {heavy} if name in sys.modules])"
    assert python(code, tmp_path) == "[]"
    code = f"import models_db; models_db.list_models(); models_db.database_hash(); \
        print([name for name in {heavy} if name in sys.modules])"
    assert python(code, tmp_path) == "[]"


def test_loading_needs_only_pydantic_and_yaml(tmp_path: Path) -> None:
    heavy = ["numpy", "networkx", "ortools", "planner", "hardware_db", "solvers"]
    code = f"import models_db; print(models_db.load_model('llama2-13b').total_parameters, \
        [name for name in {heavy} if name in sys.modules])"
    assert python(code, tmp_path) == "13015864320 []"


def test_list_models_is_sorted() -> None:
    names = list_models()
    assert list(names) == sorted(names)
    assert all(load_model(name).name == name for name in names)


def test_models_are_values() -> None:
    first, second = load_model("llama2-13b"), load_model("meta-llama/Llama-2-13b-hf")
    assert first == second
    assert len({first, second}) == 1
    with pytest.raises(AttributeError):
        first.layers = 1  # type: ignore[misc]


@each("name", list_models())
def test_describe_lists_every_number(name: str) -> None:
    model = load_model(name)
    rows = describe(name)
    own = [row for row in rows if not row.path.startswith("counted.")]
    assert [row.path for row in own] == list(model.quantities)
    for row in own:
        assert row.sources
        assert all(row.sources)
        assert row.kind in ("datasheet", "measured", "derived", "assumed")
        assert isinstance(row.value, int)
    counted = {row.path: row.value for row in rows if row.path.startswith("counted.")}
    assert counted.pop("counted.total_parameters") == model.total_parameters
    assert ("counted.active_parameters" in counted) == (model.moe is not None)
    assert ("counted.mtp_parameters" in counted) == (model.mtp_modules > 0)


def test_describe_of_one_row() -> None:
    rows = {row.path: row for row in describe("deepseek-v3")}
    rank = rows["attention.kv_lora_rank"]
    assert rank == ("attention.kv_lora_rank", 512, "1", "datasheet", rank.sources, "")
    assert rank.sources == ("DeepSeek-V3, inference/configs/config_671B.json, commit 9b4e978",)
    assert "multi-token-prediction" in rows["published.total_parameters"].note
    with pytest.raises(ModelError, match="unknown model"):
        describe("deepseek-v99")


def test_json_schema_names_every_field() -> None:
    schemas = json_schemas()
    assert list(schemas) == ["model"]
    schema = json.loads(json.dumps(schemas["model"]))
    assert schema["additionalProperties"] is False
    assert {"name", "layers", "attention", "mlp", "sources"} <= set(schema["required"])
    assert {"moe", "window", "mtp", "published", "defaults"} <= set(schema["properties"])
    attention = schema["$defs"]["AttentionRecord"]["properties"]
    assert attention["kind"]["enum"] == ["mha", "gqa", "mqa", "mla"]


def test_database_hash_is_stable_and_short() -> None:
    assert database_hash() == database_hash()
    assert len(database_hash()) == 16
    int(database_hash(), 16)
