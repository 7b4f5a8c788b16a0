"""What a statement of a recipe in Python may bind is not known after it, or is read."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.question.launch import LaunchRead, read_launch

SIZE = "tensor_model_parallel_size"
HEAD = """\
import os
N = 4
def helper(): return 1
def recipe(given: int = 4) -> ConfigContainer:
    cfg = llama3_8b_pretrain_config()
    cfg.model.context_parallel_size = 1
    cfg.train.global_batch_size = 64
"""
CHANGES = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 16}


def read(text: str, folder: Path) -> LaunchRead:
    path = folder / "recipe.py"
    path.write_text(text, encoding="utf-8")
    return read_launch("megatron", path, CHANGES)


def degree(lines: str, folder: Path) -> int:
    """The tensor degree of a recipe with some lines; 0: an error says that it is computed."""
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    try:
        return read(f"{HEAD}{body}    return cfg\n", folder).plan.tp
    except InputError as error:
        if "is computed, and left out; write the value there" not in str(error):
            raise
        return 0


UNKNOWN_NAMES = [
    "tp = int(os.environ['TP'])", "tp = tp + 4", "tp = max(tp, 8)", "tp += 4", "tp //= 2",
    "tp, x = f()", "tp, *x = 8, 1", "[tp, x] = f()", "x = tp = g()", "tp: int = f()",
    "for tp in (2, 8): pass", "for x, tp in y: pass", "with f() as tp: pass",
    "with f() as (x, tp): pass", "while f(): tp = 8", "x = (tp := 8)", "f(tp := 8)",
    "f(x=[y for z in w if (tp := z)])", "if f(): tp = 8", "if (tp := f()): pass",
    "try: tp = 8\nexcept E: pass", "try: f()\nfinally: tp = 8", "try: f()\nexcept E as tp: pass",
    "match x:\n    case {'tp': tp}: pass", "match x:\n    case [*tp]: pass",
    "match x:\n    case {**tp}: pass", "match x:\n    case C(a=1) as tp: pass",
    "import x as tp", "from x import y as tp", "import tp.x", "del tp", "def tp(): pass",
    "async def tp(): pass", "class tp: pass", "exec('tp = 8')", "globals()['tp'] = 8",
    "tp = [8 for x in y]", "tp = 8 if f() else 4", "tp = lambda: 8", "assert (tp := f())",
    "def g():\n    nonlocal tp\n    tp = 8\ng()",
]  # fmt: skip


@each("lines", UNKNOWN_NAMES)
def test_a_name_that_is_bound_again_is_not_what_it_was(lines: str, tmp_path: Path) -> None:
    assert degree(f"tp = 4\n{lines}\ncfg.model.{SIZE} = tp", tmp_path) == 0


@each(
    ("lines", "tp"),
    [
        ("tp: int = 8", 8), ("tp, x = 8, 1", 8), ("(x, (y, tp)) = 1, (2, 8)", 8),
        ("tp = x = 8", 8), ("x = tp = 8", 8), ("tp *= 2", 8), ("tp = 2 * tp", 8),
        ("a, b = 8, tp\ntp, b = a, b", 8), ("if tp == 4: tp = 8", 8),
        ("x = [tp for tp in y]", 4), ("x = lambda tp: tp", 4), ("tp: int", 4),
        ("def g(tp=1):\n    tp = 8", 4), ("class A:\n    tp = 8", 4), ("f(tp=8)", 4),
        ("x = {tp: 1 for tp in y}", 4), ("cfg.model.tp = f()", 4), ("def helper(): tp = 8", 4),
    ],
)  # fmt: skip
def test_what_is_plain_is_read(lines: str, tp: int, tmp_path: Path) -> None:
    assert degree(f"tp = 4\n{lines}\ncfg.model.{SIZE} = tp", tmp_path) == tp


@each(
    "lines",
    [
        f"cfg.model.{SIZE}, x = f()", f"cfg.model.{SIZE} += 4", f"cfg.model.{SIZE}: int = f()",
        f"for cfg.model.{SIZE} in y: pass", f"with f() as cfg.model.{SIZE}: pass",
        f"match x:\n    case 'big': cfg.model.{SIZE} = 8", f"del cfg.model.{SIZE}",
        f"if f(): setattr(cfg.model, '{SIZE}', 8)", f"cfg.model.__setattr__('{SIZE}', 8)",
        f"object.__setattr__(cfg.model, '{SIZE}', 8)", "setattr(cfg.model, name, 8)",
        "for k, v in x: setattr(cfg.model, k, v)", f"cfg.model.__dict__.update({SIZE}=8)",
        f"vars(cfg.model)['{SIZE}'] = 8", "vars(cfg.model).update(x)", "vars(cfg.model)[k] = 8",
        f"cfg['model']['{SIZE}'] = 8", f"getattr(cfg, 'model').{SIZE} = 8", "cfg.model.update(x)",
        "exec('cfg.model.x = 8')", "cfg.model = x", "m, x = cfg.model, 1\nm.update(y)",
        f"m = cfg.model\nm.{SIZE} = f()", f"def g():\n    cfg.model.{SIZE} = 8\ng()",
        f"def g():\n    h()\ndef h():\n    cfg.model.{SIZE} = 8\nf(g)",
        f"class A:\n    cfg.model.{SIZE} = 8", "if f(): cfg = other_config()",
        f"cfg.model.{SIZE} = given", "cfg.model = replace(cfg.model, x=1)",
        f"for m in (cfg.model, x): m.{SIZE} = 8", "for m in y: setattr(m, name, 8)",
        f"m = cfg.train\nif f(): m = cfg.model\nm.{SIZE} = 8",
        f"cfg.x = cfg.model\ncfg.x.{SIZE} = f()", "x = f(setattr(cfg.model, name, 8))",
        "cfg, x = changed(cfg)",
    ],
)  # fmt: skip
def test_a_field_that_is_bound_again_is_not_what_it_was(lines: str, tmp_path: Path) -> None:
    lines = lines.replace("given", "os.given")
    assert degree(f"cfg.model.{SIZE} = 4\n{lines}", tmp_path) == 0


@each(
    ("lines", "tp"),
    [
        (f"cfg.model.{SIZE} = cfg.x.y = 8", 8), (f"cfg.x.y = cfg.model.{SIZE} = 8", 8),
        (f"cfg.model.{SIZE}: int = 8", 8), (f"cfg.model.{SIZE}, cfg.x.y = 8, 2", 8),
        (f"setattr(cfg.model, '{SIZE}', 8)", 8), (f"m = cfg.model\nm.{SIZE} = 8", 8),
        (f"x = 4\nx.{SIZE} = f()", 4), ("os.environ['TP'] = f()", 4), ("x['model'] = 8", 4),
        (f"return cfg\ncfg.model.{SIZE} = 8", 4), ("cfg.model.validate()", 4),
        (f"if given == 4:\n    return cfg\ncfg.model.{SIZE} = 8", 4),
        (f"def g():\n    cfg.model.{SIZE} = 8", 4),
        (f"def g():\n    cfg.model.{SIZE} = 2\ng()\ncfg.model.{SIZE} = 8", 8),
    ],
)  # fmt: skip
def test_a_field_that_is_set_plainly_is_read(lines: str, tp: int, tmp_path: Path) -> None:
    assert degree(f"cfg.model.{SIZE} = 4\n{lines}", tmp_path) == tp


@each("line", [
    "N = int(f())", "for N in y: pass", "N += 4", "import x as N", "from x import *",
    "def set_n():\n    global N\n    N = 8", "if f(): N = 8", "exec('N = 8')", "N, M = f()",
])  # fmt: skip
def test_names_of_the_file_are_known_by_the_same_rule(line: str, tmp_path: Path) -> None:
    body = f"    cfg.model.{SIZE} = N\n    return cfg\n"
    assert read(HEAD + body, tmp_path).plan.tp == 4
    with pytest.raises(InputError, match=f"cfg.model.{SIZE} is computed, and left out"):
        read(HEAD.replace("N = 4\n", f"N = 4\n{line}\n") + body, tmp_path)


@each("called", [
    "tuned(cfg, f())", "tuned(cfg, *f())", "tuned(cfg, **f())", "tuned(cfg, N=f())",
    "tuned(cfg, N=N)",
])  # fmt: skip
def test_arguments_that_are_not_known_are_no_defaults(called: str, tmp_path: Path) -> None:
    head = f"def tuned(cfg, N=2):\n    cfg.model.{SIZE} = N\n{HEAD}"
    assert read(f"{head}    tuned(cfg)\n    return cfg\n", tmp_path).plan.tp == 2
    text = f"{head}    N = f()\n    {called}\n    return cfg\n"
    with pytest.raises(InputError, match=f"cfg.model.{SIZE} is computed, and left out"):
        read(text, tmp_path)


@each("line", [
    "if f(): tuned(cfg.model)", "for x in y: tuned(cfg.model)", "f(tuned(cfg.model))",
    "x = [tuned(cfg.model)]", "x = 1 + tuned(m=cfg.model)", "f(x=lambda: tuned(cfg.model))",
    "if f(): again(cfg)", "while f(): again(cfg)", "tuned(f(tuned(cfg.model)))",
])  # fmt: skip
def test_calls_that_are_not_followed_may_set_what_they_set(line: str, tmp_path: Path) -> None:
    head = f"def tuned(m):\n    m.{SIZE} = 8\ndef again(c):\n    again(c)\n    tuned(c.model)\n"
    text = f"{head}{HEAD}    cfg.model.{SIZE} = 4\n    #\n    return cfg\n"
    for plain, tp in (("tuned(cfg.model)", 8), ("x = tuned(cfg.model)", 8), ("if f(): helper()", 4),
                      ("if f(): tuned(cfg.train)", 4), ("f(tuned)", 4)):  # fmt: skip
        assert read(text.replace("#", plain), tmp_path).plan.tp == tp
    with pytest.raises(InputError, match=f"{SIZE} is computed, and left out"):
        read(text.replace("#", line), tmp_path)


@each("line", [
    "def tuned(m): pass", "tuned = f()", "from x import tuned", "if f(): tuned = g",
])  # fmt: skip
def test_a_function_that_is_bound_again_is_another_one(line: str, tmp_path: Path) -> None:
    head = f"def tuned(m):\n    m.{SIZE} = 8\n"
    body = f"    cfg.model.{SIZE} = 4\n    tuned(cfg.model)\n    return cfg\n"
    assert read(head + HEAD + body, tmp_path).plan.tp == 8
    for text in (f"{head}{line}\n{HEAD}{body}", f"{head}{HEAD}    {line}\n{body}"):
        if line.startswith("def"):
            assert read(text, tmp_path).plan.tp == 4
        else:
            with pytest.raises(InputError, match="is computed, and left out"):
                read(text, tmp_path)


def test_a_list_that_is_changed_is_not_what_it_was(tmp_path: Path) -> None:
    names = "cfg.model.recompute_modules"
    text = f"{HEAD}    x = ['core_attn']\n    y = x\n    {names} = x\n"
    for line in ("y.append('mlp')", "y[0] = 'mlp'", "y += ['mlp']", f"{names}.append('mlp')"):
        found = read(f"{text}    {line}\n    return cfg\n", tmp_path).imported.warnings
        assert any(f"{names} is computed" in one or "y is computed" in one or
                   "recompute_modules is computed" in one for one in found)  # fmt: skip
