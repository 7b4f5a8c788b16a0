"""Settings of all tests, and what tests of several folders start from.

In CI, hypothesis draws the same examples every time. Garbage is collected more rarely than by
default: a test process keeps all modules, and looking through them takes a twentieth of the time.
Where Python is told to write no bytecode, processes that the tests start share it in a temporary
folder: a third of the time of a short command is compiling our modules.
"""

import gc
import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings
from support.outside import Outside, serving

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

gc.set_threshold(100_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Other test processes, which inherit this, come after this one."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        folder = tempfile.TemporaryDirectory(prefix="bytecode-", ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["PYTHONPYCACHEPREFIX"] = folder.name


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """The command line where a framework, a schedule and an objective come from other packages."""
    with serving(tmp_path_factory.mktemp("outside")) as running:
        yield running
