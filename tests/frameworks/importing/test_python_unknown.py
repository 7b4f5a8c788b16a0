"""What is not known in a recipe in Python is an error or a line, whatever reads it; work ends."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.python.recipe import PythonRecipe, python_recipe
from planner.question.launch import LaunchRead, read_launch

CHANGES = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 16}
TITAN = """\
TP = 8
def llama3_8b() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("8B"),
        parallelism=ParallelismConfig(tensor_parallel_degree=TP),
        training=TrainingConfig(local_batch_size=1, seq_len=8192, global_batch_size=64),
    )
"""
BRIDGE = """\
def _part(**more): return Provider(tensor_model_parallel_size=TP, seq_length=8192, **more)
TP = 8
def recipe() -> ConfigContainer:
    return ConfigContainer(
        model=_part(context_parallel_size=1),
        train=TrainingConfig(micro_batch_size=1, global_batch_size=64),
    )
"""
UNKNOWN = [
    "int(os.environ['TP'])", "OTHER + 1", "2 * OTHER + 1", "max(2, 8)", "OTHER", "f()[0]",
    "[8 for x in y][0]", "8 if f() else 4",
]  # fmt: skip


def read(source: str, text: str, folder: Path) -> LaunchRead:
    path = folder / "recipe.py"
    path.write_text(text, encoding="utf-8")
    return read_launch(source, path, CHANGES)


@each("value", UNKNOWN)
@each("old", ["degree=TP", "TP = 8"])
def test_a_degree_of_torchtitan_that_is_computed_is_said(
    value: str, old: str, tmp_path: Path
) -> None:
    assert read("torchtitan", TITAN, tmp_path).plan.tp == 8
    text = TITAN.replace(old, f"{old.removesuffix('TP').removesuffix('8')}{value}")
    lines = read("torchtitan", text, tmp_path).imported.warnings
    said = "line 5: parallelism.tensor_parallel_degree is computed, and left out"
    assert [one.partition(": ")[2] for one in lines if "degree" in one] == [said.partition(": ")[2]]


@each(
    ("old", "new", "said"),
    [
        ("ParallelismConfig(tensor_parallel_degree=TP)", "made", "parallelism"),
        ("tensor_parallel_degree=TP", "**more", "parallelism.*"),
        ("parallelism=", "**more, x=", "*"),
        ("(tensor_parallel_degree=TP)", "(**{'tensor_parallel_degree': f(), 'x': 1})",
         "parallelism.tensor_parallel_degree"),
        ("(tensor_parallel_degree=TP)", "(**dict(tensor_parallel_degree=f()))",
         "parallelism.tensor_parallel_degree"),
        ("seq_len=8192", "seq_len=f()", "training.seq_len"),
    ],
)  # fmt: skip
def test_so_is_what_holds_settings_of_torchtitan(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    lines = read("torchtitan", TITAN.replace(old, new), tmp_path).imported.warnings
    assert [one for one in lines if f": {said} is computed, and left out" in one], lines


def test_settings_of_others_are_not_said(tmp_path: Path) -> None:
    text = TITAN.replace("parallelism=", "checkpoint=C(folder=f()), loss=f(), parallelism=")
    assert "computed" not in " ".join(read("torchtitan", text, tmp_path).imported.warnings)


@each("written", ["(**{'tensor_parallel_degree': 8})", "(**dict(tensor_parallel_degree=8))"])
def test_what_is_written_out_is_read(written: str, tmp_path: Path) -> None:
    text = TITAN.replace("(tensor_parallel_degree=TP)", written)
    assert read("torchtitan", text, tmp_path).plan.tp == 8


@each("value", UNKNOWN)
def test_a_degree_of_a_whole_recipe_of_bridge_that_is_computed_is_said(
    value: str, tmp_path: Path
) -> None:
    found = read("megatron", BRIDGE, tmp_path)
    assert (found.plan.tp, found.request.seq_len) == (8, 8192)
    lines = read("megatron", BRIDGE.replace("size=TP", f"size={value}"), tmp_path).imported.warnings
    assert "line 1: model.tensor_model_parallel_size is computed, and left out" in lines


def recipe(lines: str) -> PythonRecipe:
    text = "def recipe() -> ConfigContainer:\n"
    return python_recipe(text + lines, "r.py", "", "ConfigContainer")


def test_objects_are_what_they_were_when_they_were_made() -> None:
    found = recipe("    n = 2\n    x = C(a=n, b=3)\n    n = 4\n    cfg.y = x\n    x.b = 5\n")
    assert {one: found.values[one] for one in ("y.a", "y.b")} == {"y.a": 2, "y.b": 5}
    found = recipe("    x = C(a=2)\n    cfg.y = D(x=x)\n    if f(): x.a = 3\n")
    assert "y.x.a" not in found.values
    assert found.unknown("y.x.a") == "line 4: x.a is computed, and left out"
    found = recipe("    cfg.y.a = 2\n    cfg.y = C(b=3)\n    cfg.z.a = 2\n    cfg.z = f\n")
    assert (found.values, found.unknown("z.a")) == (
        {"y.b": 3}, "line 5: cfg.z is computed, and left out")  # fmt: skip
    found = recipe("    x = C(a=2, b=3)\n    cfg.y = replace(x, b=4)\n    cfg.z = deepcopy(x)\n")
    assert [found.values[one] for one in ("y.a", "y.b", "z.a", "z.b")] == [2, 4, 2, 3]


@each("lines", [
    "with run.Experiment('a') as exp:\n    exp.add(cfg, name='b')\n    exp.run(detach=True)",
    "exp = run.Experiment('a')\nexp.add(cfg)\nexp.run()", "cfg.print_yaml()", "cfg.validate()",
    "pretrain(cfg, forward_step)", "run.run(cfg)", "main()",
])  # fmt: skip
def test_what_a_recipe_is_started_by_changes_nothing(lines: str) -> None:
    start = "cfg = made()\ncfg.model.z = 1\ndef main(): pretrain(config=cfg)\n"
    body = "".join(f"    {one}\n" for one in lines.splitlines())
    for text in (f"{start}{lines}\n", f"{start}if __name__ == '__main__':\n{body}"):
        assert python_recipe(text, "r.py", "", "ConfigContainer").values == {"model.z": 1}


@each("changed", [
    ("def recipe", "@changed\ndef recipe"), ("def recipe", "@run.cli.other()\ndef recipe"),
    ("#", "recipe = changed(recipe)"), ("#", "if f():\n    def recipe(): return made()"),
    ("    return cfg", "    yield cfg"), ("#", "class A:\n    def __del__(self): pass"),
])  # fmt: skip
def test_a_recipe_that_is_made_into_another_one_is_not_known(changed: tuple[str, str]) -> None:
    text = "def recipe() -> ConfigContainer:\n    cfg = made()\n    cfg.model.z = 1\n"
    text += "    return cfg\n#\n"
    for same in (("#", ""), ("def recipe", "@run.cli.factory(name='a')\ndef recipe")):
        found = python_recipe(text.replace(*same), "r.py", "", "ConfigContainer")
        assert (found.values, found.unknown("model.y")) == ({"model.z": 1}, "")
    found = python_recipe(text.replace(*changed), "r.py", "", "ConfigContainer")
    assert found.values == {}
    assert found.unknown("model.z")
    assert found.unknown("model.y")


def test_of_two_objects_of_a_program_the_one_that_is_started_counts() -> None:
    text = "a = made()\na.m.x = 2\nb = made()\nb.m.x = 8\n"
    for end, values in (("", {}), ("pretrain(a)\n", {"m.x": 2}), ("pretrain(c=b)\n", {"m.x": 8})):
        found = python_recipe(text + end, "r.py", "", "ConfigContainer")
        assert found.values == values
        assert bool(found.unknown("m.x")) is not bool(values)


def many(line: str, times: int) -> str:
    return "".join(line.replace("#", str(at)).replace("@", str(at + 1)) for at in range(times))


def is_bounded(lines: str, said: str) -> None:
    """A recipe takes more than is allowed of what is said; empty: it is read."""
    helpers = "def _f():\n" + "    x = _f()\n" * 8
    helpers += f"def _h():\n    return [{'1, ' * 1000}]\n"
    helpers += "def _g():\n    return C(a=_g(), b=_g(), c=_g(), d=_g(), e=_g())\n"
    text = f"{helpers}def recipe() -> ConfigContainer:\n{lines}"
    if not said:
        assert python_recipe(text, "r.py", "", "ConfigContainer").values
        return
    with pytest.raises(InputError, match=f"^r.py: .* than [0-9,]+ {said}$"):
        python_recipe(text, "r.py", "", "ConfigContainer")


@each(
    ("lines", "said"),
    [
        ("    x0 = C()\n" + many("    x@ = C(a=x#, b=x#)\n", 22), "letters"),
        ("    x = 1\n" + f"    x = [{'x, ' * 9}]\n" * 7 + many("    cfg.a# = x\n", 9), "letters"),
        ("    x = [" + "1, " * 9000 + "]\n" + "    if x == x: pass\n" * 1000, "letters"),
    ],
)  # fmt: skip
def test_letters_are_bounded(lines: str, said: str) -> None:
    is_bounded(lines, said)


@each(
    ("lines", "said"),
    [
        ("    y = _f()\n", "statements and values"),
        ("    y = _g()\n", "statements and values"),
        ("    cfg.y = _h()\n" * 70, "statements and values"),
        (many("    cfg.a# = 's'\n", 4000), ""),
        ("    cfg." + "a" * 9000 + ".a" * 50 + " = 1\n", ""),
    ],
)  # fmt: skip
def test_steps_are_bounded(lines: str, said: str) -> None:
    is_bounded(lines, said)


@each("line", [
    "x = C(a=x)", "x = [x, x]", "x = " + "not " * 900 + "1",
    "x = " + "f(a=" * 150 + "1" + ")" * 150,
    "cfg.y = a" + ".b()" * 900, "x = 1" + " * 1" * 900, "cfg.y = 0x" + "f" * 9000,
    "if 1 == 2: pass" + "\n    elif 1 == 3: pass" * 400, "x = _g",
    "x = C()\n    x.a = x\n    cfg.y = x", "x = -'a'", "x = -None", "x = not -[1]",
])  # fmt: skip
def test_what_is_nested_is_no_defect(line: str) -> None:
    assert recipe(f"    {line}\n    cfg.model.z = 1\n").values["model.z"] == 1


def test_a_long_text_is_no_recipe() -> None:
    with pytest.raises(InputError, match="is longer than 524,288 letters"):
        recipe("    x = 1\n" * 60_000)
