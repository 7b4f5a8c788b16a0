"""Records as rows of a CSV file."""

from typing import Any

from planner.base.flat import csv_records, csv_text

RECORDS: list[dict[str, Any]] = [
    {"mesh": {"tp": 2, "dp": 4}, "order": ["tp", "dp"], "stages": [{"layers": 3}], "chips": 8},
    {"mesh": {"tp": 1, "dp": 8}, "order": [], "offload": False, "chips": 8},
]


def test_a_spreadsheet_that_marks_its_byte_order_is_read() -> None:
    """It was a heading of another name."""
    text = csv_text(RECORDS, "chips")
    assert csv_records(f"\ufeff{text}", ["order"], ["mesh.tp"]) == RECORDS
