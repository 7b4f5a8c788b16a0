"""What a question about uneven pipelines may not ask, in one line each."""

from typing import Any

from support.cases import each
from support.lines import without_lines

from cli.command import planner, refused, replaced
from cli.jobs import BASE, BASE_FLAGS

UNEVEN = (*BASE_FLAGS, "--layout", "uneven")


@each(
    ("flags", "line"),
    [
        (("--objective", "memory"),
         "objective: memory is not minimized with layout uneven; "
         "allowed: time, energy, edp, money"),
        (("--chips", "2..4"),
         "chips: layout uneven plans for one number of chips; give one, or use layout uniform"),
        (("--objective", "money", "--front", "time,money"),
         "front: money is no objective of uneven pipelines; allowed: 'time, energy'"),
        (("--front", "time,energy,memory"),
         "front: memory is no objective of uneven pipelines; allowed: 'time, energy'"),
        (("--offload",), "offload: no stage of layout uneven moves its state to the host; "
                         "leave it out, or use layout uniform"),
        (("--pes", "66,132"), "pes: machines are not decided together with layout uneven; "
                              "leave it out, or use layout uniform"),
        (("--max-links", "8"), "max-links: machines are not decided together with layout uneven; "
                               "leave it out, or use layout uniform"),
        (("--fix", "split=even"),
         "fix: split=even contradicts layout uneven, which decides the layers of every stage; "
         "leave it out, or use layout uniform"),
        (("--fix", "schedule=zb-v"),
         "fix: schedule=zb-v has stages of equal layers alone; allowed with layout uneven: "
         "gpipe, 1f1b, interleaved, zero-bubble, dualpipe"),
        (("--layout", "3,2*2,5", "--fix", "pp=8"),
         "fix: pp=8 contradicts the layout, which has 4 chunks (pp x interleave); "
         "use pp=4 with interleave=1, or another layout"),
        (("--layout", "3,2*2,5", "--fix", "pp=2,4", "--fix", "interleave=4"),
         "fix: pp=2,4 and interleave=4 contradicts the layout, which has 4 chunks (pp x "
         "interleave); use pp=4 with interleave=1, or another layout"),
        (("--layout", "6,6", "--axes", "tp,dp"),
         "axes: without pp, but the layout has 2 chunks; add pp, or leave axes out"),
        (("--layout", "6,0,0,6"),
         "layout: chunk 1 holds no layer; only the first and the last chunk may"),
        (("--layout", "6,7"), "layout: its chunks hold 13 layers, gpt3-125m has 12: 1 too many"),
        (("--layout", "Et*5|t*5L"),
         "layout: its chunks hold 10 layers, gpt3-125m has 12: 2 missing"),
        (("--layout", "6,,6"), "layout: a comma without a number at character 2 of '6,,6'; "
                               "e.g. Et*7|(t*8|)*14t*7L or 7,8*14,7"),
        (("--gap", "0"), "gap: 0: must be greater than 0 and at most 1"),
        (("--gap", "2"), "gap: 2: must be at most 1 and greater than 0; nearest: 1"),
        (("--front-points", "0"),
         "front-points: '0' is not all or a whole number from 1 to 10,000; nearest: 1"),
        (("--front-points", "most"),
         "front-points: 'most' is not all or a whole number from 1 to 10,000"),
    ],
)  # fmt: skip
def test_what_contradicts_uneven_stages_is_refused(flags: tuple[str, ...], line: str) -> None:
    assert refused("solve", *replaced(UNEVEN, *flags)) == [line]


def test_what_only_uneven_stages_have_is_refused_elsewhere() -> None:
    line = "front-points: goes with layout uneven; the search of uniform plans is always exact"
    assert refused("solve", *BASE_FLAGS, "--front-points", "all") == [line]


def test_all_contradictions_are_told_at_once_with_the_names_of_the_file(job: Any) -> None:
    path = job({**BASE, "layout": "uneven", "offload": True, "fix": {"split": "even"}})
    text = path.read_text(encoding="utf-8")
    lines = refused("solve", path, "--objective", "memory")
    assert [without_lines(line, text).split(": ")[:2] for line in lines] == [
        ["objective", "memory is not minimized with layout uneven; allowed"],
        [f"{path}", "offload"],
        [f"{path}", "fix"],
    ]


def test_a_misspelt_layout_is_corrected() -> None:
    (line,) = refused("solve", *BASE_FLAGS, "--layout", "unevn")
    assert line.startswith("layout: 'unevn' ")
    assert "did you mean 'uneven'?" in line


def test_the_help_says_what_uneven_stages_are() -> None:
    text = " ".join(planner("solve", "--help-all").out.replace("│", " ").split())
    for word in ("--layout", "--gap", "--front-points", "uneven"):
        assert word in text
