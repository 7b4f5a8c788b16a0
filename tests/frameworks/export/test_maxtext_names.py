"""MaxText's names of models: by what a model computes, whatever its record is called."""

import json
from dataclasses import replace
from pathlib import Path

from support.cases import each

from frameworks.export.cases import CASES
from models_db import Model, load_model
from models_db.hub import import_model
from planner.frameworks.jax.maxtext import model as maxtext_model
from planner.frameworks.jax.maxtext.models import NAMED, name_of
from planner.frameworks.writing.launch import Launch

CONFIGS = Path(__file__).parents[2] / "models_db" / "hub" / "configs"
SAME = {"llama3.1-8b": "llama3-8b", "llama3.1-70b": "llama3-70b"}
"""Models that compute what others do: under a third name MaxText calls them like the others."""


def renamed(name: str) -> Model:
    return replace(
        load_model(name), name="mine", title="Mine", family="other", aliases=(), note="",
        seq_len=123, quantities={}, sources={},
    )  # fmt: skip


def launch_of(model: Model) -> Launch:
    cost = CASES["slices"].cost()
    job = replace(cost.job, model=model)
    return Launch(cost=replace(cost, job=job), plan=CASES["slices"].plan)


@each("name", NAMED)
def test_the_name_and_the_sources_do_not_matter(name: str) -> None:
    assert name_of(load_model(name)) == NAMED[name]
    assert name_of(renamed(name)) == NAMED[SAME.get(name, name)]


@each("name", NAMED)
def test_every_dimension_matters(name: str) -> None:
    model = renamed(name)
    for field in ("layers", "hidden", "heads", "kv_heads", "head_dim", "vocab_size"):
        assert name_of(replace(model, **{field: 3 * getattr(model, field)})) is None
    assert name_of(replace(model, tied_embeddings=not model.tied_embeddings)) is None
    assert name_of(replace(load_model(name), hidden=2 * model.hidden)) is None


@each("name", sorted({path.stem for path in CONFIGS.iterdir()} & {*NAMED}))
def test_a_config_json_in_a_folder_of_any_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine" / "config.json"
    path.parent.mkdir()
    data = json.loads((CONFIGS / f"{name}.json").read_text(encoding="utf-8"))
    data.pop("_name_or_path", None)
    path.write_text(json.dumps(data), encoding="utf-8")
    model = import_model(path).model
    assert model.name == "mine"
    assert maxtext_model.settings(launch_of(model)) == {"model_name": NAMED[SAME.get(name, name)]}


def test_rows_that_are_not_those_of_the_config_are_told() -> None:
    model = import_model(CONFIGS / "gemma3-27b.json").model
    lost = [one.reason for one in maxtext_model.lossy(launch_of(model))]
    assert "maxtext has 262144 rows for the 262208 tokens of gemma3-27b" in lost


def weights_of(model: Model) -> str:
    found = [
        one.reason for one in maxtext_model.lossy(launch_of(model)) if "config.json" in one.reason
    ]
    return found[0] if found else ""


def test_settings_of_published_weights_are_told_where_no_name_says_them() -> None:
    assert weights_of(load_model("qwen3-30b-a3b")) == ""
    told = weights_of(load_model("phi-4"))
    assert told.endswith(
        "mlp_activations, normalization_layer_epsilon, rope_type, rope_max_timescale, "
        "rope_linear_scaling_factor"
    )
    assert weights_of(renamed("qwen3-30b-a3b")).endswith("norm_topk_prob, routed_scaling_factor")
    assert weights_of(load_model("gpt3-125m")).endswith("layer_epsilon")
