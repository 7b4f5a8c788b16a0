"""Changes modules as soon as they are loaded, in processes that launchers start.

The environment variable STAND_IN names the module beside this one whose CHANGES say how.
"""

import importlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any


class Changing(importlib.abc.MetaPathFinder):
    """Finds modules by name and changes each once it is loaded."""

    def __init__(self, changes: dict[str, Callable[[Any], None]]) -> None:
        self.left = dict(changes)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        change = self.left.pop(name, None)
        if change is None:
            return None
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.loader is not None
        own = spec.loader.exec_module

        def load(module: Any) -> None:
            own(module)
            change(module)

        spec.loader.exec_module = load
        return spec


sys.meta_path.insert(0, Changing(importlib.import_module(os.environ["STAND_IN"]).CHANGES))
