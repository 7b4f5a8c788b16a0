"""Facts about published models: YAML records with sources, typed, with exact parameter counts.

Every number carries its unit, its kind (datasheet, measured, derived, assumed) and its source.
Importing this package is cheap: pydantic and ruamel.yaml are loaded when a file is read.
"""

from models_db.blocks import Attention, Mlp, Moe, Norm, Order, Positions, Published, Window
from models_db.catalog import database_hash, describe, facts, json_schemas, list_models
from models_db.errors import ModelError
from models_db.loading import is_config, load_model, record_text
from models_db.model import FeedForward, LayerKind, Mixer, Model
from models_db.provenance import Fact, Quantity, Source
from models_db.recurrence import Recurrence
from models_db.towers import Vision

__all__ = [
    "Attention",
    "Fact",
    "FeedForward",
    "LayerKind",
    "Mixer",
    "Mlp",
    "Model",
    "ModelError",
    "Moe",
    "Norm",
    "Order",
    "Positions",
    "Published",
    "Quantity",
    "Recurrence",
    "Source",
    "Vision",
    "Window",
    "database_hash",
    "describe",
    "facts",
    "is_config",
    "json_schemas",
    "list_models",
    "load_model",
    "record_text",
]
