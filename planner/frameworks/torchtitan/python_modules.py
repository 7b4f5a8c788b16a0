"""Python modules that complete what torchtitan ships: models of other dimensions, and recipes."""

from __future__ import annotations

from typing import Any

from planner.frameworks.torchtitan.lost import TO_REGISTER, function_name, must_be_registered
from planner.frameworks.torchtitan.models import Flavor
from planner.frameworks.torchtitan.settings import Settings
from planner.frameworks.writing.chosen import common_recompute
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.python_text import Assign, Call, Function, Name, module_text

FUNCTION = "planned"
POLICIES = {"none": "", "selective": "SelectiveAC", "full": "FullAC"}
_LONGEST = 131072  # tokens that the rotary table of Llama 3 allows in torchtitan


def added_model(launch: Launch, comments: list[str]) -> str:
    """A module that adds a model of Llama 3's build to v0.2.2.

    The width of an MLP is there 2/3 of 4 times the hidden width, times a factor, rounded up to a
    multiple: `multiple_of` is the width itself (models/llama3/model/model.py, FeedForward).
    """
    model = launch.model
    width = model.mlp.hidden or 0
    named: dict[str, Any] = {
        "dim": model.hidden,
        "n_layers": model.layers,
        "n_heads": model.heads,
        "n_kv_heads": model.kv_heads,
        "vocab_size": model.vocab_size,
        "multiple_of": width,
    }
    rounded = int(2 * 4 * model.hidden / 3)
    if rounded > width:
        named["ffn_dim_multiplier"] = 0.5 * width / rounded
    entry = Assign(f'llama3_args["{model.name}"]', Call("TransformerModelArgs", (), named))
    imports = {"torchtitan.models.llama3": ("TransformerModelArgs", "llama3_args")}
    return module_text(comments, imports, (entry,))


def config_module(
    launch: Launch, flavor: Flavor | None, comments: list[str], settings: Settings | None = None
) -> str:
    """A module with one function that returns a `Trainer.Config`.

    Args:
        launch: The plan.
        flavor: The model, None for one of Llama 3's build with dimensions of its own, or one that
            is to be registered.
        comments: First lines.
        settings: What the function sets beside the model; None: it is set elsewhere.
    """
    imports: dict[str, list[str]] = {"torchtitan.trainer": ["Trainer"]}
    statements = _model(launch, flavor, imports)
    if settings is not None:
        statements += _assignments(launch, settings, imports)
    function = Function(
        name=FUNCTION, returns="Trainer.Config", statements=tuple(statements), result=Name("config")
    )
    return module_text(comments, dict(sorted(imports.items())), (function,))


def _model(launch: Launch, flavor: Flavor | None, imports: dict[str, list[str]]) -> list[Assign]:
    """A complete configuration of torchtitan, with the model that is wanted."""
    if must_be_registered(launch):
        imports[TO_REGISTER] = [function_name(launch)]
        return [Assign("config", Call(function_name(launch)))]
    module = f"torchtitan.models.{flavor.module if flavor else 'llama3'}"
    source = (flavor.config or flavor.base) if flavor else "llama3_8b"
    imports[f"{module}.config_registry"] = [source]
    statements = [Assign("config", Call(source))]
    if flavor is not None and flavor.config:
        return statements
    if flavor is not None:
        imports[module] = ["model_registry"]
        spec = Call("model_registry", (flavor.name,), {"attn_backend": "flex"})
    else:
        imports["dataclasses"] = ["replace"]
        named = {"flavor": launch.model.name, "model": _llama(launch, imports)}
        spec = Call("replace", (Name("config.model_spec"),), named)
    vocabulary = {"global_vocab_size": launch.model.vocab_size}
    loss = Call("CrossEntropyLoss.Config", (), vocabulary)
    imports["torchtitan.components.loss"] = ["ChunkedLossWrapper", "CrossEntropyLoss"]
    return [
        *statements,
        Assign("config.model_spec", spec),
        Assign("config.loss", Call("ChunkedLossWrapper.Config", (), {"loss_fn": loss})),
        Assign("config.hf_assets_path", f"./assets/hf/{launch.model.name}"),
    ]


def _llama(launch: Launch, imports: dict[str, list[str]]) -> Call:
    """A model of Llama 3's build with the dimensions of the plan's model."""
    model = launch.model
    module = "torchtitan.models.llama3"
    private = ["_EMBEDDING_INIT", "_NORM_INIT", "_build_llama3_layers", "_output_linear_init"]
    imports[module] = ["Llama3Model", *private]
    imports["torchtitan.models.common"] = ["ComplexRoPE", "Embedding", "Linear", "RMSNorm"]
    longest = "max_context_length" if launch.version == "main" else "max_seq_len"
    rope = {
        "dim": model.head_dim,
        longest: max(_LONGEST, launch.seq_len),
        "theta": 500000,
        "scaling": "llama",
    }
    layers = {
        "n_layers": model.layers,
        "dim": model.hidden,
        "n_heads": model.heads,
        "n_kv_heads": model.kv_heads,
        "hidden_dim": model.mlp.hidden,
        "rope": Call("ComplexRoPE.Config", (), rope),
        "attn_backend": "flex",
    }
    table = {"num_embeddings": model.vocab_size, "embedding_dim": model.hidden}
    head = {"in_features": model.hidden, "out_features": model.vocab_size}
    norm = {"normalized_shape": model.hidden, "param_init": Name("_NORM_INIT")}
    head_init = {"param_init": Call("_output_linear_init", (model.hidden,))}
    return Call(
        "Llama3Model.Config",
        (),
        {
            "dim": model.hidden,
            "vocab_size": model.vocab_size,
            "enable_weight_tying": model.tied_embeddings,
            "tok_embeddings": Call(
                "Embedding.Config", (), table | {"param_init": Name("_EMBEDDING_INIT")}
            ),
            "norm": Call("RMSNorm.Config", (), norm),
            "lm_head": Call("Linear.Config", (), head | head_init),
            "layers": Call("_build_llama3_layers", (), layers),
        },
    )


def _assignments(launch: Launch, settings: Settings, imports: dict[str, list[str]]) -> list[Assign]:
    """The settings as assignments to the parts of a configuration."""
    found = [
        Assign(f"config.{section}.{key}", value)
        for section, table in settings.items()
        for key, value in table.items()
    ]
    policy = POLICIES[common_recompute(launch)]
    if policy:
        imports["torchtitan.distributed.activation_checkpoint"] = [policy]
    chosen = Call(f"{policy}.Config") if policy else None
    return [*found, Assign("config.activation_checkpoint", chosen)]
