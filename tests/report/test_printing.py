"""Text of files and their names steers no terminal, whatever prints it."""

import ast
import io
import json
from pathlib import Path

import pytest
from cli.command import planner
from rich.console import Console
from rich.text import Text
from support.cases import each

import planner as package
from planner.report import printing
from planner.report.tables import tables

ROOT = Path(package.__file__).parent
EVIL = "a\x1b[31mb\x1b]0;t\x07\x9b2J\u202ec\rd\x85e\u2028f\x7f"
SHOWN = "a\\x1b[31mb\\x1b]0;t\\x07\\x9b2J\\u202ec\\rd\\x85e\\u2028f\\x7f"
IN_YAML = EVIL.encode("unicode_escape").decode()
OWN_WAYS = ("main.py", "entry.py", "defects.py", "completing.py", "output.py", "printing.py",
           "folded.py")  # fmt: skip


def steers(text: str) -> list[str]:
    """What of a text is neither printable nor an end of line."""
    return [char for char in text if not (char.isprintable() or char == "\n")]


def test_nothing_is_printed_by_another_way() -> None:
    """What the other modules print themselves has no text of files: JSON, help, our own lines."""
    found = []
    for path in [*(ROOT / "cli").rglob("*.py"), *(ROOT / "report").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if path.name in OWN_WAYS or not any(name in text for name in ("print(", "echo(", "write(")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print", "typer.echo", "typer.secho", "sys.stdout.write",
            ):  # fmt: skip
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def test_lines_texts_and_documents(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printing.print_lines(EVIL, "x\ny\tz")
    assert capsys.readouterr().out == f"{SHOWN}\nx\\ny\\tz\n"
    printing.print_text(f"{EVIL}\ny\tz")
    assert capsys.readouterr().out == f"{SHOWN}\ny\tz\n"
    printing.print_document(EVIL + "\n")
    printing.print_document(EVIL)
    assert capsys.readouterr().out == f"{EVIL}\n{EVIL}\n", "what programs read stays"
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", screen)
    printing.print_document(EVIL)
    assert screen.getvalue() == SHOWN + "\n"


def test_views_keep_their_own_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    view = tables.section("Title", tables.table(("n", EVIL), [(EVIL, "1")]), Text(EVIL))
    plain = tables.text_of(view)
    assert steers(plain) == []
    assert plain.count("a\\x1b[31mb\\x1b]0;t") == 3
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=110, color_system="standard")
    monkeypatch.setattr(tables, "console", lambda: terminal)
    tables.print_view(view)
    shown = screen.getvalue()
    assert shown.startswith("\x1b[1mTitle\x1b[0m\n")
    assert steers(shown.replace("\x1b[1m", "").replace("\x1b[0m", "")) == []


NAME = "a\x1b[31mb\u202ec"  # as a file may be called
MODEL = f"""
name: my-model
title: "{IN_YAML}"
family: mine
defaults: {{kind: assumed, source: plan, note: "{IN_YAML}"}}
layers: {{value: 28, unit: "1"}}
hidden: {{value: 3072, unit: "1"}}
heads: {{value: 24, unit: "1"}}
kv_heads: {{value: 8, unit: "1"}}
head_dim: {{value: 128, unit: "1"}}
vocab_size: {{value: 128256, unit: tokens}}
seq_len: {{value: 8192, unit: tokens}}
tied_embeddings: true
parallel_block: false
attention: {{kind: gqa, bias: [], qk_norm: none, sinks: false}}
mlp: {{hidden: {{value: 8192, unit: "1"}}, gated: true, bias: false}}
norm: {{kind: rmsnorm, bias: false, per_layer: {{value: 2, unit: "1"}}, final: true, embedding: false}}
positions: {{kind: rope}}
sources:
  plan: {{title: "{IN_YAML}", url: "https://example.com/\\x1b[31m"}}
"""  # noqa: E501
RING = [(EVIL, "b"), ("b", "c"), ("c", EVIL)]
GRAPH = json.dumps({
    "nodes": [{"id": one} for one, _ in RING],
    "edges": [{"source": one, "target": other} for one, other in RING],
})  # fmt: skip
PLAN = """
schema_version: 1
job: {model: gpt3-125m, hardware: h100-sxm5-80, batch_tokens: 524288}
plan: {mesh: {dp: 8}, micro_batch: 2}
"""
FAILURES = "start,end,chips,cause\n0,30.5,4096,a\x1b[31mb\u202ec\n31,100,4096,network\n"


@each(("command", "file", "text"), [
    ("models show FILE --sources", "m.yaml", MODEL),
    ("calibrate --failures FILE", "f.csv", FAILURES),
    ("rack topology --graph FILE", "g.json", GRAPH),
    ("evaluate FILE", f"{NAME}.yaml", PLAN),
    ("evaluate FILE --quiet", f"{NAME}.yaml", PLAN),
])  # fmt: skip
def test_text_of_files_is_printed_escaped(
    command: str, file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(text, encoding="utf-8", newline="")
    outcome = planner(*(file if word == "FILE" else word for word in command.split()))
    assert (outcome.code, outcome.err) == (0, "")
    assert steers(outcome.out) == []
    assert ("a\\x1b[31mb" in outcome.out) is ("--quiet" not in command)
