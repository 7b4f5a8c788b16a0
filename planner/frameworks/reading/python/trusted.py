"""What code of other files does to what it is given, where that is known."""

from __future__ import annotations

import ast

from planner.frameworks.reading.python.called import configures
from planner.frameworks.reading.python.values import dotted

_KEEPS = frozenset((
    "len", "int", "float", "str", "bool", "repr", "print", "max", "min", "abs", "round", "sum",
    "isinstance", "issubclass", "hasattr", "type", "id", "range", "hash", "callable", "super",
    "dict", "list", "tuple", "set", "frozenset", "getattr", "vars", "dataclass", "SimpleNamespace",
    "os.path.join", "os.environ.get", "os.getenv", "copy.copy", "copy.deepcopy", "deepcopy",
    "replace", "dataclasses.replace", "cast", "typing.cast", "logging.info", "logger.info",
))  # fmt: skip
"""Functions of Python that change nothing of what they are given, and run no more than that."""
_ASK = frozenset(("isinstance", "issubclass", "id", "callable", "type", "dataclass"))
"""Those that do not run what they are given."""
_HELPERS = frozenset((
    "apply_flex_dispatcher_backend", "set_deepseek_v3_pipeline_model_parallel_layout",
    "default_peft_config", "get_mixed_precision_config", "nvfp4_bf16_tail_fqns",
    "decoder_vocab_size",
))  # fmt: skip
"""Of Megatron-Bridge and torchtitan: what they change depends on the chip, or is the model's."""
_STARTS = frozenset((
    "pretrain", "finetune", "run.run", "run.cli.main", "main", "train", "launch",
))  # fmt: skip
"""What a recipe is handed to at its end."""
CHECKS = frozenset(("validate", "print_yaml", "to_yaml", "to_dict"))
"""Methods of configurations that check or show them."""
EXPERIMENT = "Experiment"
"""What NeMo-Run hands recipes to, to start them."""
_DECORATORS = frozenset((
    "run.cli.factory", "run.cli.entrypoint", "run.autoconvert", "override", "typing.override",
    "torch.no_grad", "no_grad",
))  # fmt: skip
SETS = frozenset(("setattr", "delattr", "__setattr__", "__delattr__"))
EVERYTHING = frozenset(("exec", "eval", "globals", "locals", "compile", "__builtins__", "vars"))
"""Names of Python that can reach every name; `vars` without an argument."""
RUNS = frozenset(("exec", "eval", "globals", "locals"))
"""The same as attributes of modules."""
HIDDEN = frozenset((
    "__globals__", "__closure__", "__code__", "__defaults__", "__kwdefaults__", "f_locals",
    "f_globals", "currentframe", "_getframe", "get_objects",
))  # fmt: skip
"""Attributes by which code reaches names of others."""


def is_experiment(statement: ast.stmt) -> bool:
    """Whether a `with` only hands recipes to an experiment."""
    if not isinstance(statement, ast.With) or len(statement.items) != 1:
        return False
    made, name = statement.items[0].context_expr, statement.items[0].optional_vars
    calls = (one.value if isinstance(one, ast.Expr) else None for one in statement.body)
    return (
        isinstance(made, ast.Call)
        and dotted(made.func) == f"run.{EXPERIMENT}"
        and isinstance(name, ast.Name)
        and all(
            isinstance(one, ast.Call)
            and dotted(one.func) in (f"{name.id}.add", f"{name.id}.run")
            and all(isinstance(two, ast.Name) for two in one.args)
            for one in calls
        )
    )


def may_run(call: ast.Call) -> bool:
    """Whether a function that keeps what it is given may run code among that."""
    path = dotted(call.func)
    return path in _KEEPS - _ASK


def keeps(call: ast.Call) -> bool:
    """Whether a call of another file changes nothing that it is given."""
    path = dotted(call.func)
    own = path.rpartition(".")[2]
    return path in _KEEPS or own in _HELPERS or path in _STARTS


def starts(call: ast.Call) -> bool:
    """Whether a call starts the training of a recipe."""
    return dotted(call.func) in _STARTS


def constructs(call: ast.Call) -> bool:
    """Whether a call makes an object of a class of another file, which holds its keywords."""
    path = dotted(call.func)
    return configures(call) or path.rpartition(".")[2][:1].isupper()


def is_harmless(decorator: ast.expr) -> bool:
    """Whether a decorator leaves a function what it is."""
    return dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) in _DECORATORS
