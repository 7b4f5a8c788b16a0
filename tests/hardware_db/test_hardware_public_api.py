"""The public surface and the promise that importing it is cheap."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import hardware_db


def test_all_lists_exactly_the_public_names_sorted() -> None:
    submodules = {
        path.stem for path in Path(hardware_db.__file__).parent.glob("*.py") if path.stem[0] != "_"
    }
    public = {name for name in vars(hardware_db) if not name.startswith("_")} - submodules
    assert hardware_db.__all__ == sorted(public)


def test_import_loads_no_heavy_package() -> None:
    heavy = ("pydantic", "pydantic_core", "yaml", "numpy", "networkx", "ortools")
    code = f"import sys, hardware_db; print([n for n in {heavy!r} if n in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_works_from_any_directory(tmp_path: Path) -> None:
    code = "import hardware_db as h; print(h.load_cluster('tpu-v5p').chip.title)"
    root = Path(hardware_db.__file__).parent.parent
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert result.stdout.strip() == "Google TPU v5p"


def test_records_are_immutable_hashable_and_survive_pickling() -> None:
    allocation = hardware_db.load_cluster("dgx-h100-ndr").scale(16)
    copy = pickle.loads(pickle.dumps(allocation))
    assert copy == allocation
    assert hash(copy) == hash(allocation)
    with pytest.raises(AttributeError):
        allocation.chips = 8  # type: ignore[misc]
    with pytest.raises(TypeError):
        allocation.cluster.chip.peak_flop_per_s["bf16"] = 1.0  # type: ignore[index]


def test_error_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(hardware_db.HardwareError(["a: wrong", "b: wrong"])))
    assert str(error) == "a: wrong\nb: wrong"
    assert error.problems == ("a: wrong", "b: wrong")


def test_database_hash_is_short_and_stable() -> None:
    first = hardware_db.database_hash()
    hardware_db.database_hash.cache_clear()
    assert hardware_db.database_hash() == first
    assert len(first) == 16
    int(first, 16)
