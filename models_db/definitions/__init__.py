"""Models as training frameworks define them: arguments, provider classes, registries, YAML.

There is one file per framework or step; begin with `importing`. Nothing is executed: Python is read
by its syntax tree.
"""

from models_db.definitions.importing import (
    FORMATS,
    argument_names,
    definition_text,
    import_arguments,
    import_definition,
)
from models_db.definitions.stated import Stated

__all__ = [
    "FORMATS",
    "Stated",
    "argument_names",
    "definition_text",
    "import_arguments",
    "import_definition",
]
