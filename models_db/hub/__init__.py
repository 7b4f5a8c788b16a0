"""Models from Hugging Face: a config.json, with the weights beside it, as a model file."""

from models_db.hub.importing import Import, import_model
from models_db.hub.reading import MODEL_TYPES

__all__ = ["MODEL_TYPES", "Import", "import_model"]
