"""What tests of benchmarks share."""

import sys
from collections.abc import Iterator

import pytest
from support.engines import BENCHMARKS

_OURS = ("engines", "campaigns", "enumerated")


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Benchmarks import each other by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in _OURS]:
        del sys.modules[name]
