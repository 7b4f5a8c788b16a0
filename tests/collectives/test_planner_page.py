"""The table of docs/collectives/planner.md is what its command gives today."""

import re
from pathlib import Path

import planner

PAGE = Path(__file__).parents[2] / "docs" / "collectives" / "planner.md"
ROW = re.compile(
    r"^\| (\d+) \| (all well|`nvlink:0-2=[\d.]+`) \|((?: [\d.]+ s \|){3})$", re.MULTILINE
)
JOB = {"model": "gpt3-6.7b", "hardware": "v100-32gb-edr", "batch_tokens": "128Ki"}
MODES = ("nccl", "synthesized", "best")


def test_every_cell_of_the_table_is_the_step_time_of_today() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) == 5
    times = {}
    for chips, link, cells in rows:
        slow = [] if link == "all well" else [link.strip("`")]
        found = []
        for mode in MODES:
            answer = planner.solve(**JOB, chips=int(chips), degrade_link=slow, collectives=mode)
            times[chips, link, mode] = answer.require().step_time_s
            found.append(f"{times[chips, link, mode]:.4g} s")
        assert [cell.strip() for cell in cells.split("|")[:-1]] == found, (chips, link)
    well, slow_link = times["64", "all well", "nccl"], "`nvlink:0-2=0.25`"
    shares = [times["64", slow_link, mode] / well - 1 for mode in ("nccl", "best")]
    words = "costs the library {:.0%} at 64 chips, and {:.0%} with".format(*shares)
    assert words.replace("%", " %") in PAGE.read_text(encoding="utf-8")
