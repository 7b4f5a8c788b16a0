"""NeMo 2: recipes in Python of NeMo-Run, and programs that change a named one of NeMo.

Names: NVIDIA/NeMo 8cfedd7203 nemo/collections/llm/recipes (llama3_70b.py: `trainer` and
`pretrain_recipe`; precision/mixed_precision.py), nemo/lightning/pytorch/strategies/
megatron_strategy.py (`MegatronStrategy`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models_db import list_models, load_model
from planner.base.errors import InputError
from planner.frameworks.megatron.dialects.named_recipes import NEMO, recipe_named
from planner.frameworks.megatron.dialects.recipe import Recipe, as_arguments
from planner.frameworks.reading.commands import Command
from planner.frameworks.reading.imported import Noted
from planner.frameworks.reading.settings import Asked, Beside
from planner.frameworks.reading.texts import looks_like_shell, whole

if TYPE_CHECKING:
    from planner.frameworks.reading.python.recipe import PythonRecipe

_NEMO2 = re.compile(r"(?m)^[^\S\n]*+(?:import nemo_run\b|from nemo\.collections(?:\.llm)?\b)")
_NAMED = re.compile(r"\b(?:llm\.)?(?:recipes\.)?(\w+)\.(pretrain|finetune)_recipe\(")
_RECIPES = "nemo.collections.llm.recipes"
_HELPERS = re.compile(r"(?m)^from nemo\.collections\.llm\.recipes\.(\w+) import")
_NAME = re.compile(r"(?m)^NAME = [\"'](\w+)[\"']")
_USUAL = "pretrain_recipe"
_MODE = "performance_mode"
_FASTER = f"{_MODE}: what it changes stands in NeMo, and is left out"
_SECTIONS = ("trainer.", "strategy.", "ddp.", "data.", "model.", "config.", "optim.", "plugins.")
"""Before the own names of settings, which differ from one another."""
_HOLD = ("trainer", "strategy", "data")
"""Objects whose settings count."""
_RENAMED = {
    "tensor_parallelism": "tensor_model_parallel_size",
    "pipeline_parallelism": "pipeline_model_parallel_size",
    "virtual_pipeline_parallelism": "virtual_pipeline_model_parallel_size",
    "context_parallelism": "context_parallel_size",
    "sequence_parallelism": "sequence_parallel",
    "expert_parallelism": "expert_model_parallel_size",
    "num_gpus_per_node": "devices",
    "num_layers_in_first_pipeline_stage": "decoder_first_pipeline_num_layers",
    "num_layers_in_last_pipeline_stage": "decoder_last_pipeline_num_layers",
}
"""Parameters of functions that make trainers, and names of Megatron-LM's arguments."""
_KEPT = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
    "virtual_pipeline_model_parallel_size", "sequence_parallel", "expert_model_parallel_size",
    "expert_tensor_parallel_size", "decoder_first_pipeline_num_layers",
    "decoder_last_pipeline_num_layers", "account_for_embedding_in_pipeline_split",
    "account_for_loss_in_pipeline_split", "overlap_grad_reduce", "overlap_param_gather",
    "tp_comm_overlap", "seq_length", "micro_batch_size", "global_batch_size",
    "recompute_granularity", "recompute_method", "recompute_num_layers", "recompute_modules",
    "use_precision_aware_optimizer", "num_nodes", "devices", "precision", "grad_reduce_in_fp32",
    "fsdp", "num_layers", "hidden_size", "num_attention_heads",
)  # fmt: skip
"""Settings that a plan or a job follows from."""
_NOT_ARGUMENTS = ("virtual_pipeline_model_parallel_size", "num_nodes", "devices", "precision",
                  "grad_reduce_in_fp32", "fsdp", "num_layers", "hidden_size",
                  "num_attention_heads")  # fmt: skip
_SHAPE = {"num_layers": "layers", "hidden_size": "hidden", "num_attention_heads": "heads"}
_FORMATS = re.compile(r"(?:bf16|fp16)\w*_mixed")
_DEFAULTS: dict[str, Any] = {"micro_batch_size": 4, "global_batch_size": 8, "seq_length": 2048}
"""Of NeMo's data modules (nemo/collections/llm/gpt/data/mock.py)."""


def is_recipe(text: str) -> bool:
    """Whether a text is a recipe of NeMo 2 all of whose settings are known."""
    if not _NEMO2.search(text) or looks_like_shell(text):
        return False
    named = _NAMED.search(text)
    if named is None:
        return bool(re.search(r"\brun\.Partial\(|\bMegatronStrategy\b", text))
    return named[2] == "pretrain" and recipe_named(NEMO, named[1]) is not None


def nemo2(text: str, asked: Asked) -> Recipe:
    """A recipe as arguments of Megatron-LM.

    Raises:
        InputError: It fine-tunes, or a setting that a plan follows from is computed.
    """
    usual = _USUAL if re.search(rf"(?m)^def {_USUAL}\(", text) else ""
    found = _read(text, asked.name, asked.function or usual, asked.beside)
    if "finetune" in found.name or any("finetune" in one for one, _ in found.calls):
        raise InputError(f"{asked.name}: {found.name}: what it trains stands in NeMo's own file")
    settings, base = _with_base(text, found, asked.name)
    notes = [*found.notes, *([_FASTER] if base and found.values.get(_MODE) else [])]
    model = _model_name(found, text) or base.get("model", "")
    dimensions = {to: settings[name] for name, to in _SHAPE.items() if settings.get(name)}
    return Recipe(
        settings=as_arguments(_arguments(settings).items()),
        command=_command(settings, tuple(notes)),
        is_command=False,
        states_model=False,
        model="" if _differs(dimensions, model) else model,
        dimensions=dimensions,
        assumed=tuple(_assumed(settings, base)),
    )


def as_kept(path: Path) -> dict[str, Any]:
    """What a plan follows from in a file of NeMo, for programs that change its recipe."""

    def beside(name: str) -> str | None:
        other = path.with_name(name)
        return other.read_text(encoding="utf-8") if other.is_file() else None

    text = path.read_text(encoding="utf-8")
    found = _read(text, str(path), _USUAL, beside)
    settings, base = _with_base(text, found, str(path))
    return {"model": _model_name(found, text) or base["model"], "values": settings}


def _read(text: str, name: str, function: str, beside: Beside) -> PythonRecipe:
    """The recipe, with functions of files of NeMo that lie beside it."""
    named = {one: beside(f"{one}.py") for one in _HELPERS.findall(text)}
    modules = {f"{_RECIPES}.{one}": found for one, found in named.items() if found}
    from planner.frameworks.reading.python.recipe import python_recipe  # noqa: PLC0415  (only where a recipe is read)

    return python_recipe(text, name, function, "Partial", modules)


def _settings(found: PythonRecipe) -> Iterator[tuple[str, Any]]:
    """Settings by their own names; what is set last counts."""
    for path, value in found.values.items():
        if (name := _own(path)) in _KEPT and isinstance(value, bool | int | str | list | None):
            yield name, value
    formats = [name for name, _ in found.calls if _FORMATS.fullmatch(name)]
    if formats:
        yield "precision", formats[-1]


def _counts(path: str, found: PythonRecipe) -> bool:
    """Whether what is not known is a setting that counts, or what holds some."""
    own = _own(path.removesuffix(".*").removeprefix("*."))
    if own not in _HOLD:
        return own in _KEPT or own == "*"
    maker = found.built.get(path, "")
    says = any(one.startswith(f"{path}.") for one in found.values)
    return not maker or (maker[:1].islower() and own != "data" and not says)


def _own(path: str) -> str:
    """The own name of a setting: `trainer.strategy.x` is x."""
    for section in _SECTIONS:
        path = path.removeprefix(section)
    return _RENAMED.get(path, path)


def _with_base(text: str, found: PythonRecipe, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings, with those of the named recipe that is changed, and that recipe.

    Raises:
        InputError: A setting that counts is computed.
    """
    named = _NAMED.search(text)
    base = (recipe_named(NEMO, named[1]) if named else None) or {}
    own = dict(_settings(found))
    lines = dict.fromkeys(line for path, line in found.computed.items() if _counts(path, found))
    if lines:
        raise InputError("\n".join(f"{name}: {line}; write the value there" for line in lines))
    return {**base.get("values", {}), **own}, base


def _command(settings: Mapping[str, Any], notes: tuple[str, ...]) -> Command:
    """What starts it: nodes by chips of each."""
    nodes, each = whole(settings.get("num_nodes")), whole(settings.get("devices"))
    chips = nodes * each if nodes and each else None
    return Command(words=[], chips=chips, nodes=nodes, said=f"{nodes} x {each}", notes=notes)


def _arguments(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as Megatron-LM names them, with its formats and what shares the state."""
    found = {name: value for name, value in settings.items() if name not in _NOT_ARGUMENTS}
    found = {**_DEFAULTS, **found}
    chunks = settings.get("virtual_pipeline_model_parallel_size")
    found["num_virtual_stages_per_pipeline_rank"] = chunks
    said = str(settings.get("precision") or "bf16-mixed")
    half = "fp16" if said.startswith(("fp16", "16")) else "bf16"
    found[half] = True
    if half == "bf16":
        found["grad_reduce_in_bf16"] = settings.get("grad_reduce_in_fp32") is False
    if "fp8" in said:
        recipe = "mxfp8" if "mxfp8" in said else "blockwise" if "subchannel" in said else "delayed"
        recipe = "tensorwise" if "current_scaling" in said else recipe
        found |= {"fp8_format": "hybrid", "fp8_recipe": recipe, "fp8_param_gather": True}
    return found | _sharing(settings)


def _sharing(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`MegatronStrategy` takes the distributed optimizer, or FSDP of Megatron or PyTorch."""
    shares = settings.get("fsdp")
    if shares == "megatron":
        return {"use_megatron_fsdp": True, "data_parallel_sharding_strategy": "optim_grads_params"}
    return {"use_torch_fsdp2": True} if shares == "pytorch" else {"use_distributed_optimizer": True}


def _assumed(settings: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Noted]:
    """What the recipe leaves to NeMo."""
    if base:
        yield Noted(name="recipe", value=base["name"], reason="the one of NeMo that is changed")
    for name, value in _DEFAULTS.items():
        if name not in settings:
            yield Noted(name=name, value=str(value), reason="the default of NeMo's data")
    yield Noted(name="optimizer", value="distributed", reason="that of NeMo's recipes")


def _model_name(found: PythonRecipe, text: str) -> str:
    """The model by its class, else by the recipe's name, as the database spells it; or neither."""
    built = found.built.get("config", "") or found.built.get("model.config", "")
    named = _NAME.search(text)
    names = [spelt(built.replace("Config", "_")), spelt(named[1]) if named else ""]
    known = list_models()
    return next((one for one in names if one in known), next(filter(None, names), ""))


def _differs(dimensions: Mapping[str, Any], model: str) -> bool:
    """Whether a recipe changes the model that it names, so that it is another one."""
    return model in list_models() and any(
        getattr(load_model(model), name) != value for name, value in dimensions.items()
    )


def spelt(name: str) -> str:
    """A name of NeMo as the database spells it, without the length of sequences.

    >>> [spelt(one) for one in ("llama31_405b", "qwen3_1p7b", "qwen25_500m", "llama3_8b_16k")]
    ['llama3.1-405b', 'qwen3-1.7b', 'qwen2.5-0.5b', 'llama3-8b']
    """
    found = re.sub(r"_(16|64|128)k$", "", name.lower().rstrip("_"))
    found = re.sub(r"([0-9])p([0-9])", r"\1.\2", found)
    found = re.sub(r"^(llama|qwen)([0-9])([0-9])(?=_)", r"\1\2.\3", found)
    found = re.sub(r"_([1-9])00m$", r"_0.\1b", found)
    return found.replace("nemotronh", "nemotron_h").replace("_", "-")


def unread(text: str) -> str:
    """What is said of a recipe of NeMo 2 that is not read; empty: it is none."""
    if not _NEMO2.search(text):
        return ""
    named = _NAMED.search(text)
    where = f"{named[1]}.{named[2]}_recipe" if named else "a recipe"
    model = spelt(named[1]) if named else "NAME"
    job = " --job finetune" if named and named[2] == "finetune" else ""
    return (
        f"is a recipe of NeMo 2, most of whose settings stand in {where} of NeMo, which is not "
        f"read. With what is set here and there as --fix: planner solve --framework megatron "
        f"--model {model}{job} --chips N --hardware NAME"
    )
