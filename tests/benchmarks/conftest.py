"""What tests of benchmarks share."""

import sys
from collections.abc import Iterator

import pytest
from support.engines import BENCHMARKS


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Benchmarks import each other by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "engines"]:
        del sys.modules[name]
