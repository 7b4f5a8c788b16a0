"""Asks checkouts whether a program of Megatron-Bridge configures what arguments of Megatron-LM do.

    python bridge_values.py MEGATRON BRIDGE < launches.json > answers.json

A launch is one of `megatron_checker`, with the text `program` and fields that mean nothing where
another one has a value (`unused`: {field: [other field, value]}). The program runs up to
its training loop, and Megatron-Bridge's own `runtime_config_update` with its checks after it;
Megatron-LM's `validate_args` makes its three configurations of the arguments. An answer says why
one of the two refuses (`why`), else which fields have other values ({field: [Megatron-LM's,
Megatron-Bridge's]}), and how many were compared. Packages of Megatron-Bridge are read without
their `__init__`, which imports every model; Transformer Engine, which it asks for, is a stand-in.
"""

import contextlib
import dataclasses
import importlib.abc
import importlib.machinery
import io
import json
import sys
import types
import warnings
from pathlib import Path

from megatron_checker import configured, prepared

ABSENT = "transformer_engine"
PACKAGES = ("bridge", "bridge.recipes", "bridge.recipes.gpt", "bridge.recipes.gpt.h100")


class AnyClass(type):
    """A class that has whatever it is asked for."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyClass(name, (), {})


class StandIn(types.ModuleType):
    """A module that has whatever it is asked for."""

    __path__ = ()

    def __getattr__(self, name):
        return getattr(AnyClass("StandIn", (), {}), name)


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a stand-in for the package that is not installed, and for its modules."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


def module(name, **content):
    """A module with this content in place of the one of that name."""
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)


def prepared_bridge(bridge):
    """A list that takes the configuration of every program, and the update that finishes one."""
    import megatron.core.models.gpt.gpt_model  # noqa: F401, PLC0415 (before the stand-in is there)

    sys.meta_path.append(Absent())
    source = Path(bridge, "src")
    sys.path.insert(0, str(source))
    for name in PACKAGES:
        module(f"megatron.{name}", __path__=[str(source / "megatron" / name.replace(".", "/"))])
    from megatron.bridge.training.config import runtime_config_update  # noqa: PLC0415 (its path is an argument)

    found = []
    module("megatron.bridge.training.gpt_step", forward_step=None)
    module(
        "megatron.bridge.training.pretrain",
        pretrain=lambda config, forward_step_func: found.append(config),
    )
    return found, runtime_config_update


def plain(value):
    """A value as text; functions and classes by their name, tuples as lists."""
    if callable(value):
        return getattr(value, "__qualname__", str(value))
    return str(list(value) if isinstance(value, tuple) else value)


def compared(arguments, launch, found, finish):
    """The fields of the three configurations that differ, and the number of all."""
    from megatron.training import training  # noqa: PLC0415 (its path is an argument)

    args, model = configured(arguments, launch)
    parts = {
        "model": model,
        "ddp": training.get_megatron_ddp_config(args),
        "optimizer": training.get_megatron_optimizer_config(args)[0],
    }
    exec(compile(launch["program"], "pretrain.py", "exec"), {})
    config = found.pop()
    finish(config)
    differs, count = {}, 0
    for name, theirs in parts.items():
        own = getattr(config, name)
        for field in dataclasses.fields(theirs):
            values = [plain(getattr(one, field.name)) for one in (theirs, own)]
            count += 1
            if values[0] != values[1] and not unused(f"{name}.{field.name}", launch, parts, config):
                differs[f"{name}.{field.name}"] = values
    return differs, count


def unused(name, launch, parts, config):
    """Whether a field means nothing here: another one has a certain value on both sides."""
    if name not in launch["unused"]:
        return False
    other, value = launch["unused"][name]
    part, field = other.split(".")
    return all(getattr(one, field) == value for one in (parts[part], getattr(config, part)))


def main():
    """Reads launches, prints answers."""
    warnings.simplefilter("ignore")
    megatron, bridge = sys.argv[1:]
    answers, said = [], io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        arguments = prepared(megatron)
        found, finish = prepared_bridge(bridge)
        for launch in json.load(sys.stdin):
            try:
                differs, count = compared(arguments, launch, found, finish)
                answers.append({"why": "", "differs": differs, "compared": count})
            except (Exception, SystemExit) as error:
                why = f"{type(error).__name__}: {error}"[-600:]
                answers.append({"why": why, "differs": {}, "compared": 0})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
