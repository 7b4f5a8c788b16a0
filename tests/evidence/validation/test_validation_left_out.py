"""Sources predicted with constants that do not rest on them."""

import numpy as np
import pytest
from evidence import tables_once

from hardware_db import load_calibration
from planner.evidence.left_out.constants import in_the_fit, without
from planner.evidence.left_out.kinds import KINDS, kind_of
from planner.evidence.left_out.sources import LeftOutTable
from planner.evidence.runs.reading import read_runs


@pytest.fixture(scope="module")
def found() -> LeftOutTable:
    return tables_once.left_out()


def test_every_source_with_a_split_is_predicted_once(found: LeftOutTable) -> None:
    runs = [measured for measured in read_runs().runs if measured.split]
    assert [row.source for row in found.sources] == sorted({run.set_name for run in runs})
    assert sum(row.errors.rows for row in found.sources) == len(runs)
    assert sum(row.rows for row in found.kinds) == len(runs)
    counted = {kind.name: 0 for kind in KINDS}
    for run in runs:
        counted[kind_of(run).name] += 1
    assert {row.kind: row.rows for row in found.kinds} == counted


def test_a_source_of_the_test_split_rests_on_the_shipped_constants(found: LeftOutTable) -> None:
    whole = [row for row in found.sources if row.whole_test]
    assert whole
    for row in whole:
        assert row.in_fit is None
        assert without(row.source) is load_calibration()


def test_constants_without_a_source_are_physical_and_near_those_with_it() -> None:
    shipped = load_calibration().values
    sources = [name for name in {run.set_name for run in read_runs().runs} if in_the_fit(name)]
    for name in sources:
        values = without(name).values
        lost = set(shipped) - set(values)
        assert all(path.startswith("intervals.") for path in lost)
        assert set(values) <= set(shipped)
        model = [path for path in values if not path.startswith("intervals.") and shipped[path]]
        ratio = np.array([values[path] / shipped[path] for path in model])
        assert np.all((ratio > 0.1) & (ratio < 10))
