"""The public surface and the promise that importing it is cheap."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hardware_db
from hardware_db import loading


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


@pytest.mark.parametrize(("file", "moved"), [
    ("calibration/default.yaml", ("database_hash", "constants_hash")),
    ("chips/h100-sxm5-80.yaml", ("database_hash", "facts_hash")),
    ("clusters/dgx-h100-ndr.yaml", ("database_hash", "facts_hash")),
])  # fmt: skip
def test_facts_and_constants_have_hashes_of_their_own(
    file: str, moved: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashes() -> dict[str, str]:
        names = ("database_hash", "facts_hash", "constants_hash")
        return {name: getattr(hardware_db, name).__wrapped__() for name in names}

    before, data = hashes(), tmp_path / "data"
    shutil.copytree(loading.DATA, data)
    monkeypatch.setattr(loading, "DATA", data)
    assert hashes() == before
    with (data / file).open("a", encoding="utf-8") as text:
        text.write("# another\n")
    after = hashes()
    assert {name for name in before if after[name] != before[name]} == set(moved)


def test_database_hash_is_short_and_stable() -> None:
    first = hardware_db.database_hash()
    hardware_db.database_hash.cache_clear()
    assert hardware_db.database_hash() == first
    assert len(first) == 16
    int(first, 16)
