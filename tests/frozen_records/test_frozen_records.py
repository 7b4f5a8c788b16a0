"""Records behave as dataclasses of the standard library do, which are the oracle."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any

import pytest

import frozen_records
from frozen_records import dataclass


def made_by(decorator: Any) -> tuple[type, type, type]:
    """The same three classes: with slots, without, and one derived from the first."""

    @decorator(frozen=True, slots=True, kw_only=True)
    class Slotted:
        """With slots."""

        a: int
        b: tuple[int, ...] = (1,)
        c: list[int] = field(default_factory=list, compare=False)
        d: int = field(default=0, init=False, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "d", self.a + 1)

    @decorator(frozen=True, repr=False)
    class Plain:
        """Without slots, and with a text of its own."""

        a: int
        b: int = 2

        def __repr__(self) -> str:
            return f"<{self.a}>"

    @decorator(frozen=True, slots=True, kw_only=True)
    class Derived(Slotted):
        """Derived."""

        e: str = "e"

    return Slotted, Plain, Derived


@pytest.mark.parametrize("at", range(3))
def test_a_record_is_what_the_standard_library_makes(at: int) -> None:
    mine, theirs = made_by(dataclass)[at], made_by(dataclasses.dataclass)[at]
    one, other = mine(a=1), theirs(a=1)
    changed = dataclasses.replace(one, a=2)
    for ours, standard in ((one, other), (changed, dataclasses.replace(other, a=2))):
        assert repr(ours).rpartition("made_by")[2] == repr(standard).rpartition("made_by")[2]
        assert hash(ours) == hash(standard)
        assert dataclasses.asdict(ours) == dataclasses.asdict(standard)
    assert one == mine(a=1)
    assert one != changed
    assert one != other
    assert inspect.signature(mine) == inspect.signature(theirs)
    assert copy.deepcopy(one) == one
    assert hasattr(one, "__dict__") == hasattr(other, "__dict__")
    with pytest.raises(TypeError, match="'a'"):
        mine()


@pytest.mark.parametrize("at", range(3))
def test_a_record_is_frozen(at: int) -> None:
    one = made_by(dataclass)[at](a=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a
    with pytest.raises(TypeError, match="non-frozen"):
        dataclasses.dataclass(type("Thawed", (type(one),), {}))


@dataclass(frozen=True, slots=True)
class Kept:
    """One that a pickle can find."""

    a: int
    b: str = "b"


def test_a_record_is_kept_by_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Kept(1))) == Kept(1)


def test_a_method_is_compiled_once_and_when_it_is_called() -> None:
    slotted = made_by(dataclass)[0]
    assert "__init__" in vars(slotted)
    assert not inspect.isfunction(vars(slotted)["__init__"])
    slotted(a=1)
    assert inspect.isfunction(vars(slotted)["__init__"])
    assert not inspect.isfunction(vars(slotted)["__eq__"])


def test_equality_of_its_own_is_left_alone() -> None:
    @dataclass(frozen=True, slots=True, eq=False)
    class Same:
        """Equal where it is the same."""

        a: int

    one = Same(1)
    assert one == one
    assert one != Same(1)
    assert hash(one) == object.__hash__(one)


@pytest.mark.parametrize("asked", [repr, hash, lambda one: one == type(one)(2)])
def test_a_signal_while_a_method_is_compiled_counts(
    asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python dropped it, and took two equal records as different ones."""

    @dataclass(frozen=True, slots=True)
    class Record:
        """A record."""

        a: int

    one, came = Record(1), list[int]()
    usual = (frozen_records._equality, dataclasses.dataclass)

    def late(call: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            came.append(1)
            if len(came) == 1:
                raise KeyboardInterrupt
            return call(*given, **named)

        return called

    with monkeypatch.context() as patched:
        patched.setattr(frozen_records, "_equality", late(usual[0]))
        patched.setattr(dataclasses, "dataclass", late(usual[1]))
        with pytest.raises(KeyboardInterrupt):
            asked(one)
    assert len(came) > 1
    assert asked(one) == asked(Record(1))
