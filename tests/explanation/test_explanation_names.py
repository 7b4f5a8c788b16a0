"""Names of numbers that say too little have a line of their own below the table."""

from planner.report.tables.explain import meaning_words


def test_a_name_that_says_too_little_is_explained() -> None:
    (line,) = meaning_words(["peak.bf16", "era.megatron-core.zero3_overlap"])
    assert line.startswith("zero3_overlap: ")
    assert "zero2" in line
    assert meaning_words(["peak.bf16", "zero3_overlap.other"]) == []
