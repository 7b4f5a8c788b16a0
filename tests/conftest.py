"""Settings of all tests, and what tests of several folders start from.

In CI, hypothesis draws the same examples every time. Garbage is collected more rarely than by
default: a test process keeps all modules, and looking through them takes a twentieth of the time.
A test that leaves a file in the checkout fails: it belongs into a temporary folder.

A quick run, the default, takes some cases of what takes long, and leaves some tests out, unless one
is asked for by its name (`support.quick`); `--whole` runs everything.
"""

import gc
import os
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from support import quick
from support.checkout import Listing
from support.outside import Outside, serving

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

gc.set_threshold(100_000, 20, 20)
CHECKOUT = Listing()


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much runs."""
    parser.addoption("--whole", action="store_true", help="run every case of every test")
    parser.addoption("--write-seconds", action="store_true", help="write tests/seconds.csv")


def pytest_configure(config: pytest.Config) -> None:
    """Notes seconds where they are asked for, once for all workers."""
    if config.getoption("write_seconds"):
        config.pluginmanager.register(quick.Fixtures())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(quick.Seconds(whole=config.getoption("whole")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what a quick run does not take; one that writes pages or pictures takes all."""
    writes = any(name.startswith(("PLANNER_WRITE_", "PLANNER_DRAW_")) for name in os.environ)
    if writes or config.getoption("whole") or any("::" in one for one in config.args):
        return
    taken = quick.selected(items, quick.kept())
    of_taken = set(taken)
    if left := [one for one in items if one not in of_taken]:
        config.hook.pytest_deselected(items=left)
        items[:] = taken


def pytest_collection_finish() -> None:
    """What the modules and the collected tests are made of stays to the end: no garbage there."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """After a test with its fixtures: nothing new is in the checkout."""
    yield
    if left := CHECKOUT.left():
        pytest.fail(
            f"{', '.join(left)} left in {CHECKOUT.folder} by this test, or by one at the same time"
        )


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """The command line where a framework, a schedule and an objective come from other packages."""
    with serving(tmp_path_factory.mktemp("outside")) as running:
        yield running
