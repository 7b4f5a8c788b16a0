"""What an answer was made with: the program, the file schema and the databases."""

from __future__ import annotations

import hardware_db
import models_db
from planner.version import SCHEMA_VERSION, __version__


def versions() -> dict[str, str]:
    """Versions of the program, the file schema and the databases."""
    return {
        "planner": __version__,
        "schema": str(SCHEMA_VERSION),
        "hardware_db": hardware_db.database_hash(),
        "models_db": models_db.database_hash(),
    }
