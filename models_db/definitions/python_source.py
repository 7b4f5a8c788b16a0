"""Definitions in Python files, read by their syntax tree: nothing is executed.

Four forms: classes with fields and defaults, which inherit in the file (NeMo, Megatron-Bridge);
calls of a provider inside functions (recipes of Megatron-Bridge); dictionaries of calls
(torchtitan 0.2), or of functions that make a configuration with its layers (0.3).
"""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from models_db.definitions.stated import Unread
from models_db.errors import ModelError

_PROVIDERS = ("Provider", "Config")
_ARGUMENTS = "ModelArgs"
_MADE = ("Llama3Model.Config", "Qwen3Model.Config")
_STATED = (
    "n_layers", "dim", "n_heads", "n_kv_heads", "head_dim", "hidden_dim", "multiple_of",
    "ffn_dim_multiplier", "vocab_size", "enable_weight_tying",
)  # fmt: skip
_OTHER_LAYERS = ("num_experts", "moe_hidden_dim")
_LONGEST = 10_000


@contextlib.contextmanager
def without_advice() -> Iterator[None]:
    """Inside of it Python does not say how what is parsed could be written otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def definitions_in(content: bytes, origin: str) -> dict[str, dict[str, Any]]:
    """Values by the name of each definition of a file.

    Args:
        content: The bytes of the file.
        origin: What messages call it.

    Raises:
        ModelError: It is no Python.
    """
    try:
        with without_advice():
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"{origin}:{line}" if line else origin
        raise ModelError(f"{where}: cannot be read as Python") from None
    return {**_classes(tree), **_calls(tree), **_registries(tree), **_makers(tree)}


def literal(node: ast.expr) -> Any:
    """The value of an expression of plain values, `Unread` where it is none.

    Sums of lists, products of lists and texts with numbers, and the default of a field that a
    lambda makes are followed, as patterns of layers are written with them.
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    found = None
    if isinstance(node, ast.BinOp):
        found = _joined(literal(node.left), literal(node.right), node.op)
    elif isinstance(node, ast.Call) and _name(node.func) == "field":
        found = _factory(node)
    return Unread(ast.unparse(node)) if found is None else found


def _joined(left: Any, right: Any, sign: ast.operator) -> Any:
    """A sum of lists or texts, or a product of one with a number; None where it is neither."""
    if isinstance(left, Unread) or isinstance(right, Unread):
        return None
    if isinstance(sign, ast.Add) and type(left) is type(right) and isinstance(left, list | str):
        return left + right if len(left) + len(right) <= _LONGEST else None
    times = right if isinstance(right, int) and not isinstance(right, bool) else None
    if isinstance(sign, ast.Mult) and isinstance(left, list | str) and times is not None:
        return left * times if 0 <= len(left) * times <= _LONGEST else None
    return None


def _factory(node: ast.Call) -> Any:
    """What `field(default=...)` or `field(default_factory=lambda: ...)` gives."""
    for word in node.keywords:
        if word.arg == "default":
            return literal(word.value)
        if word.arg == "default_factory" and isinstance(word.value, ast.Lambda):
            return literal(word.value.body)
    return None


def _classes(tree: ast.Module) -> dict[str, dict[str, Any]]:
    """Fields of every class, with those of its bases in the file."""
    own: dict[str, dict[str, Any]] = {}
    bases: dict[str, list[str]] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        fields = [
            (item.target.id, literal(item.value))
            for item in node.body
            if isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and item.value is not None
        ]
        bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]
        inherited: dict[str, Any] = {}
        for base in reversed(bases[node.name]):
            inherited |= own.get(base, _latent_of(base))
        own[node.name] = inherited | dict(fields)
    return {name: fields for name, fields in own.items() if "num_layers" in fields}


def _latent_of(name: str) -> dict[str, Any]:
    """What the name of a class that is imported says of its attention (`MLATransformerConfig`)."""
    return {"multi_latent_attention": True} if name.startswith("MLA") else {}


def _calls(tree: ast.Module) -> dict[str, dict[str, Any]]:
    """Arguments of the first call of a provider in every function, by the function's name."""
    found: dict[str, dict[str, Any]] = {}
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _name(node.func).endswith(_PROVIDERS):
                given = {**_latent_of(_name(node.func)), **_keywords(node)}
                if "num_layers" in given:
                    found.setdefault(function.name, given)
    return found


def _registries(tree: ast.Module) -> dict[str, dict[str, Any]]:
    """Arguments of `...ModelArgs(...)` in dictionaries, by their keys."""
    return {
        str(key.value): _keywords(value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
        and isinstance(value, ast.Call)
        and _name(value.func).endswith(_ARGUMENTS)
    }


def _makers(tree: ast.Module) -> dict[str, dict[str, Any]]:
    """What functions in dictionaries, by their keys, state of a model of torchtitan 0.3."""
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    return {
        str(key.value): found
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
        for key, value in zip(node.value.keys, node.value.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Name)
        if value.id in functions and (found := _made(functions[value.id]))
    }


def _made(function: ast.FunctionDef) -> dict[str, Any]:
    """Arguments of all calls in a function that returns a configuration; else nothing.

    What stands in it once for all, such as the width, stands in variables of the function.
    """
    if not ast.unparse(function.returns or ast.Constant(None)).endswith(_MADE):
        return {}
    names = {
        target.id: literal(one.value)
        for one in function.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, Any] = {}
    for node in ast.walk(function):
        for word in node.keywords if isinstance(node, ast.Call) else ():
            value = word.value
            named = names.get(value.id) if isinstance(value, ast.Name) else literal(value)
            if word.arg in _STATED and isinstance(named, int | float):
                found.setdefault(word.arg, named)
            elif word.arg in _OTHER_LAYERS:
                found["moe_args"] = True
    return found


def _keywords(node: ast.Call) -> dict[str, Any]:
    return {word.arg: literal(word.value) for word in node.keywords if word.arg}


def _name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
