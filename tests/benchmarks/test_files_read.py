"""No command reads a kind of file that no campaign damages: two lists, held complete."""

import ast
import random
import warnings
from typing import Any

import pytest
from support.campaigns import campaigns
from support.cases import each


def test_every_option_that_names_a_file_has_its_kinds() -> None:
    """Recipes in Python, workloads, traffic in YAML, gaps, sites and orders of GPUs had none."""
    files, commands = campaigns("files_read"), campaigns("commands").commands()
    readers = campaigns("readers").readers()
    named = {*files.named(commands)}
    assert [place for place in named if files.kinds_of(*place) is None] == []
    options = {
        (name, word) for name, command in commands.items() for one in command.params
        for word in (*one.opts, one.name)
    }  # fmt: skip
    assert {*files.PLACES, *files.NO_FILES} <= options
    read = {kind for place in named for kind in files.kinds_of(*place)}
    assert read == {*readers}


def test_each_kind_is_tried_where_it_is_read() -> None:
    files, commands = campaigns("files_read"), campaigns("commands").commands()
    alone = {"manifest", "trace, Kineto", "trace, packed", "trace, Nsight", "cluster of workers"}
    alone |= {f"log of {name}" for name in campaigns("readings").LOGS}
    for kind, reader in campaigns("readers").readers().items():
        assert bool(reader.command) != (kind in alone), kind
        assert reader.command or kind in campaigns("readings").READINGS
        if reader.command:
            assert kind in files.kinds_of(*_place(reader.command, commands)), kind


def _place(words: tuple[str, ...], commands: dict[str, Any]) -> tuple[str, str]:
    """The command and the option, or the argument, that reads FILE."""
    name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
    before = words[words.index("FILE") - 1]
    params = commands[name].params
    if before in {option for one in params for option in one.opts if option[0] == "-"} - {
        "--from"
    } or words[:2] == ("hardware", "detect"):
        return name, before
    return name, next(one.name for one in params if one.param_type_name == "argument")


def test_every_module_that_parses_has_its_kinds() -> None:
    """`test_damaged_files` asks that each of them is run by its kinds."""
    files = campaigns("files_read")
    assert {*files.parsing()} == {*files.PARSED, *files.OWN}
    assert {*files.PARSED}.isdisjoint(files.OWN)
    kinds = {*campaigns("readers").readers()}
    assert all(own and {*own} <= kinds for own in files.PARSED.values())


@each("call", ["read_yaml_text(path)", "json.loads(text)", "tomllib.loads(text)", "ast.parse(text)",
               "path.read_bytes()", "csv.DictReader(lines)", "zipfile.ZipFile(x)"])  # fmt: skip
def test_a_module_that_begins_to_parse_is_seen(call: str) -> None:
    files = campaigns("files_read")
    assert files._WORDS.search(call)
    assert files._opens(ast.parse(call))
    assert not files._opens(ast.parse("re.compile(x)"))


def test_damage_of_python_knows_its_statements() -> None:
    """Statements that are repeated, renamed and nested, values, doublings and what never ends."""
    python, whole = campaigns("python_text"), campaigns("readers").readers()["recipe of NeMo 2"]
    texts = [whole.damaged(random.Random(at)).decode("utf-8", "replace") for at in range(300)]
    parsed = 0
    for text in texts:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(text)
            parsed += 1
        except (SyntaxError, ValueError):
            continue
    assert parsed > 150
    for piece in ("    if True:", "def inner():", "1 << 10**9", "f'{x}'", "lambda:"):
        assert any(piece in text for text in texts), piece
    strained = [python.strained(whole.content, random.Random(at)) for at in range(200)]
    for piece in (b"v12 = v11 + v11", b"((((((((((", b"def f(): return f()", b"x2999"):
        assert any(piece in one for one in strained), piece
    assert max(map(len, strained)) < 1e6


def test_a_recipe_that_doubles_its_values_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of which each has the one before it twice are followed by a reader in 2^22 steps."""
    running = campaigns("running")
    monkeypatch.setattr(running, "_HANGS_S", 0.2)
    text = next(
        text for at in range(300)
        if "v22 = " in (text := campaigns("python_text")._doubling(random.Random(at)))
        and "v22 = v21 + v21" in text
    )  # fmt: skip
    made = {line.partition(" = ")[0]: line.partition(" = ")[2] for line in text.splitlines()}

    def followed(name: str) -> int:
        return 1 + sum(followed(one) for one in made[name].split(" + ") if one in made)

    assert "not done" in running.read(lambda _: followed("v22"), campaigns("readers").ROOT).fault()
