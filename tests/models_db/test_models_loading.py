"""Loading by name, alias and path, and the message for everything that can be wrong."""

from importlib import resources
from pathlib import Path

import pytest
from support.cases import each
from support.lines import without_lines

from models_db import ModelError, list_models, load_model

EXAMPLE = Path(str(resources.files("models_db") / "data" / "examples" / "my-model.yaml"))
SHIPPED = Path(str(resources.files("models_db") / "data" / "llama2-13b.yaml"))


def refused(tmp_path: Path, content: str | bytes) -> str:
    """The message for a file with this content, without the file's path."""
    path = tmp_path / "m.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ModelError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert caught.value.__suppress_context__ or caught.value.__cause__ is None
    text = path.read_text(encoding="utf-8", errors="replace")
    return without_lines(message.replace(str(path), "m.yaml"), text)


def changed(*changes: tuple[str, str]) -> str:
    """The example file with some text replaced."""
    text = EXAMPLE.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_the_example_loads_and_is_not_listed() -> None:
    model = load_model(EXAMPLE)
    assert model.name == "my-model"
    assert "my-model" not in list_models()
    attention = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 2 * 128
    dense = attention + 3 * 4096 * 14336 + 2 * 4096
    moe = attention + 9 * 3 * 4096 * 3072 + 8 * 4096 + 2 * 4096
    assert model.total_parameters == 2 * dense + 30 * moe + 2 * 128_000 * 4096 + 4096
    assert model.quantities["layers"].kind == "assumed"
    assert model.quantities["layers"].note == "planned, not trained yet"
    assert model.sources["plan"].url == "https://example.org/my-model"
    assert model.published.total_parameters is None


def test_a_whole_number_may_be_written_with_an_exponent(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(changed(("layers: {value: 32,", "layers: {value: 3.2e1,")))
    assert load_model(path) == load_model(EXAMPLE)
    refusal = refused(tmp_path, changed(("layers: {value: 32,", "layers: {value: 3.25e1,")))
    assert "32.5 where a whole number belongs" in refusal


def test_a_shipped_file_loads_by_path(tmp_path: Path) -> None:
    assert load_model(SHIPPED) == load_model("llama2-13b")
    copy = tmp_path / "no-suffix"
    copy.write_bytes(SHIPPED.read_bytes())
    assert load_model(str(copy)).name == "llama2-13b"


def test_loading_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "llama2-13b").mkdir()
    assert load_model("llama2-13b").layers == 40


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"unknown model 'lama2-13b'; the nearest names are ") as e:
        load_model("lama2-13b")
    names = str(e.value).split("are ")[1].split(" (")[0].split(", ")
    assert names[0] == "llama2-13b"
    assert len(names) == len(set(names)) == 3
    assert set(names) <= set(list_models())
    with pytest.raises(ModelError, match=r"llama3\.1-405b"):
        load_model("llama3-450b")
    with pytest.raises(ModelError, match=r"unknown model '\?\?\?' \(126 models"):
        load_model("???")


def test_only_near_names_are_suggested() -> None:
    with pytest.raises(ModelError, match=r"unknown model 'nope' \(") as error:
        load_model("nope")
    assert "nearest" not in str(error.value)


@each("name", ["", " ", "\0", "a" * 10_000, "/", ".."])
def test_odd_names_are_unknown(name: str) -> None:
    with pytest.raises(ModelError, match="unknown model"):
        load_model(name)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read the file: No such file"):
        load_model(tmp_path / "absent.yaml")
    folder = tmp_path / "folder.yaml"
    folder.mkdir()
    with pytest.raises(ModelError, match="cannot read the file: Is a directory"):
        load_model(folder)


@each(
    ("old", "new", "expected"),
    [
        (
            "layers: {value: 32,",
            "layers: {value: '32',",
            "m.yaml: layers.value: the text '32' where a whole number belongs",
        ),
        (
            "layers: {value: 32,",
            "layers: {value: 1.05e1,",
            "m.yaml: layers.value: 10.5 where a whole number belongs",
        ),
        (
            "layers: {value: 32,",
            "layers: {value: .nan,",
            "m.yaml: layers.value: nan where a whole number belongs",
        ),
        (
            "layers: {value: 32,",
            "layers: {value: -1,",
            "m.yaml: layers.value: -1 is out of range; must be at least 1",
        ),
        (
            "layers: {value: 32,",
            "layers: {value: 1000000,",
            "m.yaml: layers.value: 1000000 is out of range; must be at most 10,000",
        ),
        (
            "layers: {value: 32,",
            "layers: {value: true,",
            "m.yaml: layers.value: true where a whole number belongs",
        ),
        ('layers: {value: 32, unit: "1"}\n', "", "m.yaml: layers: missing"),
        (
            'layers: {value: 32, unit: "1"}',
            "layers: 32",
            "m.yaml: layers: 32 where a mapping belongs "
            "(such as {value: ..., unit: ..., kind: ..., source: ...})",
        ),
        (
            "{value: 8192, unit: tokens}",
            "{value: 8192, unit: token}",
            "m.yaml: seq_len.unit: the text 'token' is not allowed; allowed: tokens; "
            "did you mean tokens?",
        ),
        (
            "kind: gqa",
            "kind: gpa",
            "m.yaml: attention.kind: the text 'gpa' is not allowed; allowed: mha, gqa, mqa, mla; "
            "did you mean gqa?",
        ),
        (
            "sinks: false",
            "sinks: nope",
            "m.yaml: attention.sinks: the text 'nope' where true or false belongs",
        ),
        (
            "sinks: false",
            "sinks: false\n  sink: true",
            "m.yaml: attention.sink: unknown field; did you mean sinks? allowed here: kind, bias, "
            "qk_norm, sinks, q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, "
            "v_head_dim, output_gate",
        ),
        (
            "name: my-model",
            "name: My Model",
            "m.yaml: name: the text 'My Model' does not have the right form: lower-case letters "
            "and digits, joined by single . _ or -",
        ),
        (
            "experts_per_token: {value: 2",
            "experts_per_token: {value: 9",
            "m.yaml: moe.experts_per_token: 9 is more than the 8 experts",
        ),
        (
            "kv_heads: {value: 8",
            "kv_heads: {value: 5",
            "m.yaml: kv_heads: 5 does not divide the 32 heads",
        ),
        (
            "kv_heads: {value: 8",
            "kv_heads: {value: 32",
            "m.yaml: kv_heads: 32 of 32 heads is not gqa; use mha or mqa",
        ),
        (
            "kind: rope",
            "kind: learned",
            "m.yaml: positions.max_positions: missing; learned positions need the size of "
            "their table",
        ),
        (
            "local_layers: {value: 3",
            "local_layers: {value: 32",
            "m.yaml: window: a cycle of 32 + 1 layers is longer than the 32 layers",
        ),
        (
            "first_dense_layers: {value: 2",
            "first_dense_layers: {value: 0",
            "m.yaml: mlp.hidden: given, but every layer has experts",
        ),
        (
            "shared_experts: {value: 1",
            "shared_experts: {value: 0",
            "m.yaml: moe.shared_expert_hidden: given, but there are no shared experts",
        ),
        (
            "  source: plan",
            "  source: plam",
            "m.yaml: 2 mistakes\n"
            "  defaults.source: 'plam' is not a key of sources; did you mean 'plan'?\n"
            "  sources.plan: no number uses it",
        ),
        (
            "  note: planned, not trained yet\n",
            "",
            "m.yaml: defaults.note: missing; a number of kind assumed says why or how",
        ),
        (
            "https://example.org/my-model",
            "example.org",
            "m.yaml: sources.plan.url: the text 'example.org' does not have the right form: "
            "an address that begins with http:// or https://",
        ),
        (
            "seq_len: {value: 8192",
            "seq_len: {value: *hidden",
            "m.yaml: line 21: YAML aliases (*name) are not used here",
        ),
        (
            "name: my-model",
            f"name: {'[' * 40}{']' * 40}",
            "m.yaml: line 5: nested deeper than 20 levels",
        ),
    ],
)
def test_one_mistake_one_clear_message(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = EXAMPLE.read_text()
    assert old in text
    assert refused(tmp_path, text.replace(old, new, 1)) == expected


def test_all_duplicate_keys_are_reported(tmp_path: Path) -> None:
    text = changed(
        ("kv_heads: {value: 8", "kv_heads: {value: 8, value: 9"),
        ("head_dim: {value: 128", "head_dim: {value: 128, value: 129"),
    )
    line = text.splitlines().index('kv_heads: {value: 8, value: 9, unit: "1"}') + 1
    assert refused(tmp_path, text) == (
        "m.yaml: 2 mistakes\n"
        f"  line {line}: the key 'value' occurs twice, first in line {line}\n"
        f"  line {line + 1}: the key 'value' occurs twice, first in line {line + 1}"
    )


def test_all_mistakes_of_a_file_at_once(tmp_path: Path) -> None:
    message = refused(
        tmp_path,
        changed(
            ("\nlayers: {value: 32", "\nlayers: {value: many"),
            ("kv_heads:", "kv_head:"),
            ("kind: gqa", "kind: gqua"),
            ("gated: true", "gated: 1"),
            ("experts_per_token: {value: 2", "experts_per_token: {value: 9"),
            ("url: https://example.org/my-model", "link: https://example.org/my-model"),
        ),
    )
    lines = message.splitlines()
    assert lines[0] == f"m.yaml: {len(lines) - 1} mistakes"
    paths = [line.strip().split(": ")[0] for line in lines[1:]]
    assert sorted(paths) == [
        "attention.kind",
        "kv_head",
        "layers.value",
        "mlp.gated",
        "moe.experts_per_token",
        "sources.plan.link",
        "sources.plan.url",
    ]


@each(
    ("content", "expected"),
    [
        (b"", "m.yaml: empty; a model file is a YAML mapping that starts with name:"),
        (b"# nothing\n", "m.yaml: empty; a model file is a YAML mapping that starts with name:"),
        (b"\xff\xfe\x00binary", "m.yaml: line 1: not a text file (byte 0 is not UTF-8)"),
        (b"name: \x00", "m.yaml: line 1: not valid YAML: "),
        (b"- a\n- b\n", "m.yaml: a model file is a YAML mapping of names, not a list"),
        (b"just text", "m.yaml: a model file is a YAML mapping of names, not a single value"),
        (b"1: 2\n", "m.yaml: line 1: field names must be text, not 1"),
        (b"name: [a\n", "m.yaml: line 2: not valid YAML: "),
        (
            b"name: !!python/object:os.system x\n",
            "m.yaml: line 1: YAML tags (!!python",
        ),
        (b"a: 2001-99-99\n", "m.yaml: is not a model"),
        (b"a: " + b"9" * 5000 + b"\n", "m.yaml: line 1: a number of 5,000 digits is too long"),
        (b"a: 1\n---\nb: 2\n", "m.yaml: line 2: not valid YAML: "),
        (b"? [a]\n: b\n", "m.yaml: line 1: field names must be text, not a list"),
        (b"a: " + b"x" * 300_000, "m.yaml: larger than 256 KiB"),
        (b"[" * 200_000, "m.yaml: line 1: nested deeper than 20 levels"),
    ],
)
def test_what_is_not_a_model_file(tmp_path: Path, content: bytes, expected: str) -> None:
    message = refused(tmp_path, content)
    assert message.startswith(expected)
    assert "\n" not in message


@each("share", [0.1, 0.35, 0.6, 0.85, 0.99])
def test_truncated_files_are_refused(tmp_path: Path, share: float) -> None:
    content = SHIPPED.read_bytes()
    assert refused(tmp_path, content[: int(len(content) * share)])


def test_latent_attention_needs_its_dimensions(tmp_path: Path) -> None:
    text = changed(("kind: gqa", "kind: mla"), ("kv_heads: {value: 8", "kv_heads: {value: 32"))
    lines = refused(tmp_path, text).splitlines()[1:]
    assert [line.strip().split(": ")[0] for line in lines] == [
        "attention.kv_lora_rank",
        "attention.qk_nope_head_dim",
        "attention.qk_rope_head_dim",
        "attention.v_head_dim",
        "attention.qk_norm",
    ]


def test_names_that_hold_what_was_typed_are_suggested_first() -> None:
    with pytest.raises(ModelError, match=r"are llama3-8b, llama3-70b, llama3\.1-8b, llama3\.2-1b"):
        load_model("Llama3")
