"""Makes the kept tables of options; a program of its own, as it reads the frameworks.

    python option_tables.py TARGET SOURCE [MEGATRON] > options/TARGET.txt

A target is one of `planner export --to`, with a version where it has several; SOURCE is a checkout
of its framework at the version that the exporter states, or an unpacked wheel. Megatron-LM's own
parser is asked, which needs torch; of the others the classes of the configuration are read as text,
so that nothing of theirs is imported or run. MEGATRON is the Megatron-LM that Megatron-Bridge has.

A line is an option and, after blanks, how many values it takes (0, 1 or +; parsers only) and the
values that it allows, where the framework lists them.
"""

import argparse
import ast
import contextlib
import enum
import io
import re
import sys
from pathlib import Path

DEPTH = 4
BRIDGE = ("training/**/*.py", "models/*.py", "data/**/*.py")
PREFIXES = ("MCore", "MTrain")
"""Of classes of Megatron-Core and of Megatron-LM's training, as Megatron-Bridge imports them."""
COMPONENTS = (
    "models/*/_model_builders.py", "datasets/_*.py", "training/checkpointing/_checkpointer.py",
    "training/lr_schedulers.py", "training/metric_logging.py", "modules/loss/*.py",
    "rlhf/loss/dpo.py",
)  # fmt: skip
CORE = ("core/**/*config*.py", "core/datasets/*.py", "core/tokenizers/**/*.py")


def megatron(source):
    """Flags of the parser of pretrain_gpt.py."""
    sys.path[:0] = [source, str(Path(__file__).parent)]
    from megatron_checker import prepared  # noqa: PLC0415 (its path is an argument)

    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    with contextlib.redirect_stdout(io.StringIO()):
        prepared(source).add_megatron_arguments(parser)
    for action in parser._actions:
        taken = {None: "1", "*": "+"}.get(action.nargs, str(action.nargs))
        allowed = [one.name if isinstance(one, enum.Enum) else one for one in action.choices or ()]
        for name in action.option_strings:
            yield name, taken, allowed


def classes_in(paths):
    """Name of a class, after that of the class around it, to its definition."""
    found = {}
    for path in sorted(paths):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, node)
                for inner in node.body:
                    if isinstance(inner, ast.ClassDef):
                        found[f"{node.name}.{inner.name}"] = inner
    return found


def fields_of(classes, name):
    """Fields of a class and its bases, or their aliases, with annotations."""
    if name not in classes:
        return {}
    node, found = classes[name], {}
    for base in node.bases:
        text = ast.unparse(base)
        found |= fields_of(classes, text if text in classes else text.split(".")[-1])
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            alias = re.search(r"alias='(\w+)'", ast.unparse(one.value) if one.value else "")
            found[alias[1] if alias else one.target.id] = ast.unparse(one.annotation)
    return found


def choices_of(classes, annotation):
    """The values of a Literal, or the members of an enumeration."""
    text = re.search(r"Literal\[(.*?)\]", annotation)
    if text:
        return [one.strip().strip("'\"") for one in text[1].split(",")]
    node = classes.get(annotation.removesuffix(" | None"))
    if node is None or not any("Enum" in ast.unparse(base) for base in node.bases):
        return []
    values = [one.value for one in node.body if isinstance(one, ast.Assign)]
    return [str(value.value) for value in values if isinstance(value, ast.Constant)]


def below(classes, name, prefix="", depth=DEPTH):
    """Dotted names of what a class of classes configures."""
    for field, annotation in fields_of(classes, name).items():
        inner = re.findall(r"[A-Z]\w*(?:\.Config)?", annotation)
        deeper = [one for one in inner if fields_of(classes, one)]
        yield prefix + field, "", choices_of(classes, annotation)
        for one in deeper if depth else ():
            yield from below(classes, one, f"{prefix}{field}.", depth - 1)


def globbed(folder, patterns):
    """Files below a folder."""
    return [path for pattern in patterns for path in Path(folder).glob(pattern)]


def bridge(source, core):
    """Fields of the ConfigContainer of Megatron-Bridge."""
    own = classes_in(globbed(Path(source, "src/megatron/bridge"), BRIDGE))
    cores = classes_in(globbed(Path(core, "megatron"), (*CORE, "training/config/*.py")))
    renamed = {f"{prefix}{name}": one for name, one in cores.items() for prefix in PREFIXES}
    classes = cores | renamed | own
    yield from below(classes, "ConfigContainer", depth=1)
    for model in ("GPTModelProvider", "MLAModelProvider"):
        yield from below(classes, model, "model.", 0)


def torchtitan_02(source):
    """Keys of the TOML file."""
    return below(classes_in([Path(source, "torchtitan/config/job_config.py")]), "JobConfig")


def torchtitan(source):
    """Fields of the configuration of the trainer."""
    patterns = ("config/*.py", "components/**/*.py", "trainer.py", "distributed/*.py", "tools/*.py")
    return below(classes_in(globbed(Path(source, "torchtitan"), patterns)), "Trainer.Config")


def deepspeed(source):
    """Keys of the JSON file: names of its own constants, and fields of models of sections."""
    home = Path(source, "deepspeed/runtime")
    paths = globbed(home, ("**/config.py", "**/*_config.py", "**/constants.py"))
    classes = classes_in(paths)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for text in _keys(node):
                yield text, "", []
    sections = {
        "zero_optimization": "DeepSpeedZeroConfig",
        "bf16": "DeepSpeedBF16Config",
        "fp16": "DeepSpeedFP16Config",
        "tensor_parallel": "TPTrainingConfig",
    }
    for section, name in sections.items():
        yield from below(classes, name, f"{section}.")


def _keys(node):
    """The key that a constant names, or that `config` is asked for."""
    if isinstance(node, ast.Assign) and "DEFAULT" not in ast.unparse(node.targets[0]):
        found = node.value
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"config", "param_dict"}:
        found = node.slice
    else:
        return []
    text = str(found.value) if isinstance(found, ast.Constant) else ""
    return [text] if re.fullmatch(r"[a-z][a-z0-9_]+", text) else []


def accelerate(source):
    """Keys of the YAML file: fields of its class, arguments of the launcher in the sections."""
    home = Path(source, "src/accelerate/commands")
    yield from below(classes_in([home / "config/config_args.py"]), "ClusterConfig")
    for node in ast.walk(ast.parse((home / "launch.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("add_argument"):
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            sections = re.findall(r"^--(fsdp|parallelism|dynamo)_", names[0] if names else "")
            for section in sections:
                yield f"{section}_config.{names[0].removeprefix('--')}", "", _listed(node)


def _listed(call):
    """The constants that an argument of a parser may be."""
    choices = [one.value for one in call.keywords if one.arg == "choices"]
    values = [value for one in choices for value in getattr(one, "elts", ())]
    return [value.value for value in values if isinstance(value, ast.Constant)]


def maxtext(source):
    """Fields of its configuration, all of one level."""
    classes = classes_in([Path(source, "src/maxtext/configs/types.py")])
    return below(classes, "MaxTextConfig", depth=0)


def nanotron(source):
    """Fields of its configuration and of those of its models."""
    classes = classes_in(globbed(Path(source, "src/nanotron/config"), ("*.py",)))
    yield from below(classes, "Config")
    for model in ("LlamaConfig", "Qwen2Config"):
        yield from below(classes, model, "model.model_config.")


def peft(source):
    """Fields of adapter_config.json; SOURCE is where packages are installed."""
    home = Path(source, "peft")
    return below(classes_in([home / "config.py", home / "tuners/lora/config.py"]), "LoraConfig")


def trl(source):
    """Fields of the files of `trl sft` and `trl dpo`; SOURCE as of `peft`."""
    home = Path(source, "trl")
    paths = [*globbed(home, ("trainer/*_config.py", "scripts/utils.py"))]
    classes = classes_in([*paths, Path(source, "transformers/training_args.py")])
    for name in ("SFTConfig", "DPOConfig"):
        script = name.removesuffix("Config").lower()
        for one in (name, "ModelConfig", "ScriptArguments"):
            yield from below(classes, one, f"{script}.", 0)


def axolotl(source):
    """Fields of the YAML file; SOURCE as of `peft`."""
    classes = classes_in(globbed(Path(source, "axolotl/utils/schemas"), ("**/*.py",)))
    yield from below(classes, "AxolotlInputConfig", depth=0)
    yield from below(classes, "FSDPConfig", "fsdp_config.", 0)
    for name in ("SFTDataset", "DPODataset", "UserDefinedDPOType"):
        place = "datasets.type." if name == "UserDefinedDPOType" else "datasets."
        yield from below(classes, name, place, 0)


def torchtune(source):
    """Keys that recipes read, and arguments of components; SOURCE as of `peft`."""
    for path in sorted(Path(source, "recipes").glob("*_distributed.py")):
        if re.fullmatch("(full|lora)_(finetune|dpo)_distributed", path.stem):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                for name in _asked_of_cfg(node):
                    yield f"{path.stem}.{name}", "", []
    models = globbed(Path(source, "torchtune"), COMPONENTS)
    for path in sorted(models):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _arguments(node):
                yield f"{node.name}.{name}", "", []


def _asked_of_cfg(node):
    """The key of a configuration that an expression reads."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "cfg" and node.attr != "get":
        yield node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "cfg.get":
        yield from [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []


def _arguments(node):
    """Arguments of a function, or of what makes a class."""
    made = [one for one in getattr(node, "body", ()) if getattr(one, "name", "") == "__init__"]
    found = made[0] if isinstance(node, ast.ClassDef) and made else node
    if isinstance(found, ast.FunctionDef):
        given = found.args
        rest = [given.kwarg] if given.kwarg else []
        for one in (*given.args, *given.kwonlyargs, *rest):
            yield one.arg


TARGETS = {
    "peft": peft,
    "trl": trl,
    "axolotl": axolotl,
    "torchtune": torchtune,
    "megatron": megatron,
    "megatron-bridge": bridge,
    "torchtitan-0.2": torchtitan_02,
    "torchtitan-0.3": torchtitan,
    "torchtitan-main": torchtitan,
    "deepspeed": deepspeed,
    "accelerate": accelerate,
    "maxtext": maxtext,
    "nanotron": nanotron,
}


def main():
    """Prints the table of a target."""
    target, *sources = sys.argv[1:]
    found = {}
    for name, taken, allowed in TARGETS[target](*sources):
        before = found.setdefault(name, (taken, []))
        before[1].extend(one for one in map(str, allowed) if one not in before[1])
    for name in sorted(found):
        taken, allowed = found[name]
        print(" ".join(word for word in (name, taken, "|".join(allowed)) if word))


if __name__ == "__main__":
    main()
