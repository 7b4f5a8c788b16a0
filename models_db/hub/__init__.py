"""Models from Hugging Face: a config.json, with the weights beside it, as a model file.

There is one file per family of configurations or part of a model; begin with `importing`.
"""

from models_db.hub.importing import Import, import_model
from models_db.hub.reading import MODEL_TYPES

__all__ = ["MODEL_TYPES", "Import", "import_model"]
