"""Models from Hugging Face: a config.json, with the weights beside it, as a model file.

There is one file per family of configurations or part of a model; begin with `importing`. Most
types are rows of data in `types`, see `table`.
"""

from models_db.hub.counting import Counted, NotModelledError
from models_db.hub.importing import Import, import_model
from models_db.hub.reading import MODEL_TYPES, known_types

__all__ = [
    "MODEL_TYPES",
    "Counted",
    "Import",
    "NotModelledError",
    "import_model",
    "known_types",
]
