"""`models import`: a config.json of Hugging Face becomes a model of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import models_db
from cli.command import planner
from planner.question.records import model_named
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

QWEN: dict[str, Any] = {
    "model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096, "head_dim": 128,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288,
    "vocab_size": 151936, "max_position_embeddings": 40960, "attention_bias": False,
    "tie_word_embeddings": False,
}  # fmt: skip
JOB = ("--hardware", "h100-sxm5-80", "--chips", 16, "--batch-tokens", 1310720, "--seq-len", 4096)
GETS = "; hf download a/B-1 config.json --local-dir B-1 gets it"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config.json in a folder of its own."""
    path = tmp_path / "Qwen3-8B" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(QWEN), encoding="utf-8")
    return path


def refused(*arguments: object) -> list[str]:
    """The lines in which a command refuses its input."""
    outcome = planner(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    return [line.removeprefix("error: ") for line in outcome.err.splitlines()]


def test_the_file_is_a_model(config: Path, tmp_path: Path) -> None:
    written = tmp_path / "mine.yaml"
    outcome = planner("models", "import", config, "-o", written)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[0] == f"{written}: qwen3-8b, 8,190,735,360 parameters (qwen3)"
    assert "\nnote: seq_len 40,960 is assumed" in outcome.out
    assert "\nnote: use_sliding_window is absent: false, the default of qwen3" in outcome.out
    text = written.read_text(encoding="utf-8")
    assert text.startswith("# config.json of Hugging Face, model_type qwen3, read by planner ")
    assert load_yaml(text)["layers"] == {"value": 36, "unit": "1"}
    assert models_db.load_model(written).total_parameters == 8_190_735_360
    assert [path.name for path in tmp_path.iterdir()] == ["Qwen3-8B", "mine.yaml"]
    assert planner("models", "show", written, "--sources").code == 0


def test_the_table_is_that_of_show(config: Path) -> None:
    said = planner("models", "import", config.parent).out
    assert "counted.total_parameters" in said
    assert "8,190,735,360" in said
    assert "config.json of Qwen3-8B" not in said
    assert "config.json of Qwen3-8B" in planner("models", "import", config, "--sources").out


def test_one_json_document(config: Path) -> None:
    found = planner("models", "import", config, "--json").document
    assert found["schema_version"] == 1
    assert (found["name"], found["model_type"]) == ("qwen3-8b", "qwen3")
    assert found["total_parameters"] == found["active_parameters"] == 8_190_735_360
    assert found["config"]["file"] == str(config)
    assert (found["output"], found["weights"], found["unread"]) == (None, None, [])
    assert {row["path"]: row["value"] for row in found["numbers"]}["mlp.hidden"] == 12288


def test_name_and_length_can_be_given(config: Path) -> None:
    said = ("--name", "mine", "--seq-len", "4Ki", "--json")
    found = planner("models", "import", config, *said).document
    assert found["name"] == "mine"
    assert {row["path"]: row["value"] for row in found["numbers"]}["seq_len"] == 4096


def test_a_plan_is_found_and_evaluated(config: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    direct = planner("solve", "--model", config, *JOB, "--json", "-o", plan).document
    shipped = planner("solve", "--model", "qwen3-8b", *JOB, "--json").document
    assert direct["best"]["step_time_s"] == shipped["best"]["step_time_s"]
    assert load_yaml(plan.read_text())["job"]["model"] == "Qwen3-8B/config.json"
    assert planner("evaluate", plan).code == 0


def test_a_folder_is_a_model_and_is_found_from_elsewhere(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = ("solve", "--model", f"./{config.parent.name}", *JOB, "--json")
    assert planner(*job, "-o", "plan.yaml").code == 0
    assert load_yaml(Path("plan.yaml").read_text())["job"]["model"] == "Qwen3-8B/config.json"
    file = {"model": "./Qwen3-8B/", "hardware": "h100-sxm5-80", "chips": 16, "seq_len": 4096}
    Path("job.yaml").write_text(dump_yaml(file), encoding="utf-8")
    monkeypatch.chdir(config.parent)
    assert planner("evaluate", "../plan.yaml").code == 0
    assert planner("solve", "../job.yaml").code == 0


def test_wrong_input_is_refused_in_one_line(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    config.write_text(json.dumps({**QWEN, "hidden_size": "4096"}), encoding="utf-8")
    line = f"{config}: hidden_size: the text '4096' where a whole number belongs"
    assert refused("models", "import", config, "-o", out) == [line]
    assert refused("models", "import", config.parent, "-o", out) == [line]
    assert refused("solve", "--model", config, *JOB) == [line]
    config.write_bytes(b"\x00\xff")
    assert refused("models", "import", config, "-o", out) == [
        f"{config}: not text (byte 1 is not UTF-8)"
    ]
    assert not out.exists()
    assert refused("models", "import", tmp_path) == [
        f"{tmp_path}: there is no config.json in this folder"
    ]
    assert refused("models", "import", tmp_path / "none.json")[0].endswith(
        "none.json: cannot read the file: No such file or directory"
    )


def test_several_mistakes_have_a_line_each(config: Path) -> None:
    config.write_text('{"model_type": "llama", "vocab_size": 9}', encoding="utf-8")
    said = refused("models", "import", config)
    assert len(said) == 4
    assert all(line.startswith(f"{config}: ") for line in said)


def test_output_and_flags_are_checked_first(config: Path, tmp_path: Path) -> None:
    assert refused("models", "import", config, "-o", "m.json") == [
        "output: m.json: must end in .yaml or .yml"
    ]
    odd = config.rename(tmp_path / "odd.yaml")
    assert refused("models", "import", odd, "-o", odd) == [
        f"output: {odd} is the file that is read; name another"
    ]
    assert refused("models", "import", odd, "--seq-len", "x")[0].startswith("seq-len: ")
    assert refused("models", "import", odd, "--name", "No Name")[0].startswith(f"{odd}: name: ")
    assert refused("models", "import", odd, "-o", tmp_path / "none" / "m.yaml")[0].endswith(
        "cannot be written (no such file or directory)"
    )


RWKV: dict[str, Any] = {
    "model_type": "rwkv", "vocab_size": 50277, "hidden_size": 4096, "num_hidden_layers": 32,
    "attention_hidden_size": 4096, "intermediate_size": 16384, "tie_word_embeddings": False,
}  # fmt: skip


def test_what_has_no_cost_is_counted_by_parts(tmp_path: Path) -> None:
    path = tmp_path / "rwkv.json"
    path.write_text(json.dumps(RWKV), encoding="utf-8")
    outcome = planner("models", "import", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert "total               7,392,649,216" in outcome.out
    assert "\nnote: the cost is not modelled, and no file is written: a recurrence" in outcome.out
    document = json.loads(planner("models", "import", path, "--json").out)
    assert document["text_parameters"] == sum(document["parts"].values()) == 7_392_649_216
    assert document["total_parameters"] is None
    assert document["not_modelled"] == "a recurrence in place of attention"
    written = tmp_path / "mine.yaml"
    [line] = refused("models", "import", path, "-o", written)
    assert "7,392,649,216 parameters are counted exactly, but the cost is not modelled" in line
    assert line.endswith(f"{written} is not written")
    assert not written.exists()
    [line] = refused("solve", "--model", path, *JOB)
    assert line.endswith("the cost is not modelled: a recurrence in place of attention")


def test_keys_that_nobody_knows_are_said_of_a_plan(config: Path) -> None:
    config.write_text(json.dumps({**QWEN, "twist": 2}), encoding="utf-8")
    said = planner("solve", "--model", config, *JOB, "--json").document["notes"]["caveats"]
    line = "not read, and the count is wrong if a shape depends on them: twist"
    assert any(line in one for one in said)


def test_a_type_is_read_as_another(config: Path) -> None:
    config.write_text(json.dumps({**QWEN, "model_type": "qwn3", "twist": 2}), encoding="utf-8")
    [line] = refused("models", "import", config)
    assert "model_type: 'qwn3' is not known; the nearest is qwen3; " in line
    outcome = planner("models", "import", config, "--as", "qwen3")
    assert "8,190,735,360" in outcome.out
    assert "\nnote: read as qwen3, as asked; its model_type is the text 'qwn3'" in outcome.out
    assert (
        "\nnote: not read, and the count is wrong if a shape depends on them: twist" in outcome.out
    )
    [line] = refused("models", "import", config, "--as", "qwn")
    assert "--as 'qwn' is no type that is read; the nearest is qwen" in line


def test_a_snapshot_is_named_by_its_folder(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_named(f"hf:{config.parent.name}").total_parameters == 8_190_735_360
    [line] = refused("solve", "--model", "hf:nowhere", *JOB)
    assert line.startswith("model: hf:nowhere: holds no config.json; hf: names a local snapshot")


@each(
    ("words", "said"),
    [
        (("models", "import", "Qwen/Qwen3-8B"), "; the database has it as qwen3-8b"),
        (("models", "import", "hf:a/B-1"), GETS),
        (("solve", "--model", "hf:a/B-1", *JOB), GETS),
        (("solve", "--model", "a/B-1", *JOB), GETS),
        (("models", "import", "a/b.json"), "No such file or directory"),
    ],
)
def test_a_name_on_a_hub_is_told_how_it_is_had(words: tuple[str, ...], said: str) -> None:
    [line] = refused(*words)
    assert line.endswith(said)
