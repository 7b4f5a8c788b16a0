"""Which tests hold a line that is mutated, of those that were seen to run it."""

import importlib
from pathlib import Path

from support.cases import each

MODULE = """A = 7
class C:
    x: int = 3
    def f(
        self, a=1,
    ):
        if a:
            return (
                a
            )
        return 2
def g():
    return A
"""
AT_IMPORT, OF_A, OF_NO_A, OF_G = "first", "of a", "of no a", "of g"
SEEN = {1: AT_IMPORT, 2: AT_IMPORT, 3: AT_IMPORT, 4: AT_IMPORT, 5: AT_IMPORT, 7: OF_A, 8: OF_A,
        11: OF_NO_A, 12: AT_IMPORT, 13: OF_G}  # fmt: skip


@each(("line", "tests"), [
    (1, {AT_IMPORT, OF_A, OF_NO_A, OF_G}), (3, {AT_IMPORT, OF_A, OF_NO_A, OF_G}),
    (5, {AT_IMPORT, OF_A, OF_NO_A}), (7, {OF_A}), (9, {OF_A}), (11, {OF_NO_A}),
    (12, {AT_IMPORT, OF_G}), (13, {OF_G}),
])  # fmt: skip
def test_a_line_is_held_by_what_runs_it_or_its_function_or_module(
    tmp_path: Path, line: int, tests: set[str]
) -> None:
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    mutation = importlib.import_module("mutation")
    assert mutation._holding(path, line, {at: {name} for at, name in SEEN.items()}) == tests
