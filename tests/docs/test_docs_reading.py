"""What of a page is a command, a file or a screen, and how a screen is kept current."""

from pathlib import Path

import pytest

from docs.reading import Screen, arguments_of, commands_in, names_from, screens_in, words_of
from docs.tables import rows_in

PRINTED = """\
job on 8 chips
part      time  share
compute   1.5 s   60 %
memory    0.8 s   32 %
host      0.2 s    8 %

proved optimal in 0.34 s: no plan has
less step time
"""
PAGE = """\
```sh
planner solve --model a --show time
planner solve --model a
```

It says:

```screen
job on 8 chips
```

`planner solve --model a --show ...` says:

```screen
part      time  share
```

`planner evaluate a.yaml` says:

```screen
host      0.2 s    8 %
```

`planner doctor` is another.

```screen
x
```
"""


def shown(body: str) -> Screen:
    return Screen(command="", body=body)


def test_the_reading_of_pages() -> None:
    page = (
        "```bash\n$ planner solve --model a \\\n  --chips 8\n.venv/bin/planner doctor # slow\n"
        "python3 -m venv .venv && .venv/bin/planner models list | head -3\n```\n"
        "```python\nplanner.solve()\n```\nplanner is good\n"
    )
    lines = commands_in(page)
    assert lines == [
        "planner solve --model a  --chips 8", ".venv/bin/planner doctor # slow",
        ".venv/bin/planner models list | head -3",
    ]  # fmt: skip
    assert arguments_of(lines[0]) == ["solve", "--model", "a", "--chips", "8"]
    assert arguments_of(lines[1]) is None
    assert arguments_of(lines[2]) == ["models", "list"]
    assert arguments_of("planner solve ... --json") is None


def test_the_command_of_a_screen_is_the_last_above_or_the_one_that_is_named() -> None:
    assert [screen.command for screen in screens_in(PAGE)] == [
        "planner solve --model a",
        "planner solve --model a --show time",
        "planner evaluate a.yaml",
        "planner solve --model a",
    ]


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        ("part      time  share\ncompute   1.5 s   60 %\n", []),
        ("part      time  share\n...\nhost      0.2 s    8 %\n", []),
        ("proved optimal in 12.1 s:\nno plan has less step time\n", []),
        ("compute   1.5 s   61 %\n", ["compute   1.5 s   61 %"]),
        ("compute   .5 s   60 %\n", ["compute   .5 s   60 %"]),
        ("compute   1.5 s   60 %\nhost      0.2 s    8 %\n",
         ["compute   1.5 s   60 %", "host      0.2 s    8 %"]),
        ("host      0.2 s    8 %\n...\npart      time  share\n", ["part      time  share"]),
    ],
)  # fmt: skip
def test_a_screen_is_what_is_printed(body: str, missing: list[str]) -> None:
    assert shown(body).missing_in(PRINTED) == missing


def test_a_screen_becomes_what_is_printed_now() -> None:
    old = (
        "...\npart  time\ncompute  1.4 s  50 %\n...\nhost  1 s  9 %\n\nproved optimal in 9 s: no\n"
    )
    now = "...\npart      time  share\ncompute   1.5 s   60 %\n...\nhost      0.2 s    8 %\n\n"
    assert shown(old).as_printed(PRINTED) == now + "proved optimal in 0.34 s: no plan has\n"
    kept = "proved optimal in 9 s: no plan has\nless step time\n"
    assert shown(kept).as_printed(PRINTED) == kept, "the run time alone differs"
    with pytest.raises(AssertionError, match="nothing like"):
        shown("a plan of another kind altogether\n").as_printed(PRINTED)


def test_a_page_goes_on_from_the_names_of_another(tmp_path: Path) -> None:
    first, second = tmp_path / "a.md", tmp_path / "b.md"
    first.write_text("```python\n>>> x = 3\n```\n\n```python\n>>> y = 4\n```\n", encoding="utf-8")
    second.write_text("<!-- names: a.md -->\n", encoding="utf-8")
    assert names_from(first) == {}
    names = names_from(second)
    assert (names["x"], "y" in names) == (3, False)


def test_a_row_has_the_figures_of_its_command() -> None:
    table = (
        "<!-- rows: planner evaluate a.yaml ROW --json | {} days | goodput {} -->\n"
        "| asked | days | share | |\n|---|---|---|---|\n"
        "| as it is | 3 | 90 % | a 1 |\n| `--spares 1`, few | 2.5 | 91.5 % | |\n\n"
    )
    first, second = rows_in(table)
    assert first.command == "planner evaluate a.yaml  --json"
    assert second.command == "planner evaluate a.yaml --spares 1 --json"
    assert second.cells == ["2.5", "91.5 %"]
    printed = "It takes 2.5 days,\n goodput 91.5 % of them."
    assert second.as_printed(printed) == second.line
    assert first.as_printed(printed) == "| as it is | 2.5 | 91.5 % | a 1 |"
    with pytest.raises(AssertionError, match="nothing like"):
        first.as_printed("It takes some days.")


def test_words_have_no_run_times() -> None:
    assert words_of("proved  optimal in 0.3 s:\nx") == words_of("proved optimal\nin 12 ms: x")
