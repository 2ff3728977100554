"""Dataclasses of a short verb behave as those of the standard library, and cost one compilation."""

import copy
import dataclasses
import inspect
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, field
from typing import ClassVar

import pytest

from rankscope.cli import quick_classes


def plain(decorated):
    @decorated(frozen=True, slots=True)
    class Plain:
        name: str
        at: float = 0.0
        tags: tuple[str, ...] = ()
        more: list[int] = field(default_factory=list)
        shown: ClassVar[int] = 3
        beside: float = field(default=1.0, compare=False, repr=False)

        @property
        def twice(self):
            return self.at * 2

    return Plain


def open_one(decorated):
    @decorated(slots=True)
    class Open:
        count: int
        names: dict[str, int] = field(default_factory=dict)

    return Open


def keyed(decorated):
    @decorated(frozen=True, slots=True, kw_only=True)
    class Keyed:
        first: int = 1
        second: int

        def __post_init__(self):
            if self.second < 0:
                raise ValueError(self.second)

    return Keyed


def single(decorated):
    @decorated(frozen=True)
    class Single:
        value: float

    return Single


CLASSES = [
    (plain, [("a",), ("a", 1.0), ("a", 1.0, ("x",), [1], 2.0), ("b", math.nan)], {}),
    (open_one, [(1,), (1, {"a": 2}), (2,)], {}),
    (keyed, [()], {"second": 2}),
    (single, [(1.0,), (math.nan,), (2.0,)], {}),
]


def made(make, decorated, given, named):
    kind = make(decorated)
    return kind, [kind(*values, **named) for values in given]


@pytest.mark.parametrize(("make", "given", "named"), CLASSES)
def test_values_compare_hash_show_and_change_as_those_of_the_library(make, given, named):
    kind, ours = made(make, quick_classes.dataclass, given, named)
    _, theirs = made(make, dataclasses.dataclass, given, named)
    assert list(map(repr, theirs)) == list(map(repr, ours))
    assert [[a == b for b in theirs] for a in theirs] == [[a == b for b in ours] for a in ours]
    assert all(a != b for a in ours for b in theirs)
    assert [answered(hash, one) for one in theirs] == [answered(hash, one) for one in ours]
    for name in (one.name for one in dataclasses.fields(kind)):
        for one, two in zip(theirs, ours, strict=True):
            assert answered(setattr, one, name, 5) == answered(setattr, two, name, 5)
            assert answered(delattr, one, name) == answered(delattr, two, name)


def answered(called, *given):
    """Return what a call gives, or the kind of its error."""
    try:
        return called(*given)
    except (TypeError, FrozenInstanceError) as error:
        return type(error)


@pytest.mark.parametrize(("make", "given", "named"), CLASSES)
def test_fields_signature_and_copies_are_those_of_the_library(make, given, named):
    kind, ours = made(make, quick_classes.dataclass, given, named)
    other, theirs = made(make, dataclasses.dataclass, given, named)
    assert [one.name for one in dataclasses.fields(other)] == [
        one.name for one in dataclasses.fields(kind)
    ]
    arguments = [[(one.name, one.kind) for one in inspect.signature(each).parameters.values()]
                 for each in (other, kind)]  # fmt: skip
    assert arguments[0] == arguments[1]
    assert other.__match_args__ == kind.__match_args__
    for one, two in zip(theirs, ours, strict=True):
        name = dataclasses.fields(kind)[0].name
        copies = dataclasses.replace(one, **{name: 7}), dataclasses.replace(two, **{name: 7})
        assert repr(copies[0]) == repr(copies[1])
        assert repr(dataclasses.astuple(one)) == repr(dataclasses.astuple(two))


def test_a_frozen_class_with_slots_is_copied_by_its_state_as_pickle_does():
    one = plain(quick_classes.dataclass)("a", 2.0)
    assert one == copy.copy(one)
    assert ["a", 2.0, (), [], 1.0] == one.__getstate__()


def test_a_mistake_after_construction_is_raised_as_ever():
    with pytest.raises(ValueError, match="-1"):
        keyed(quick_classes.dataclass)(second=-1)
    with pytest.raises(TypeError, match="missing 1 required"):
        single(quick_classes.dataclass)()


def test_rarer_classes_are_made_by_the_library_and_may_inherit():
    base = plain(quick_classes.dataclass)
    heir = quick_classes.dataclass(frozen=True)(
        type("Heir", (base,), {"__annotations__": {"last": int}, "last": 0})
    )
    assert ("a", 2) == (heir("a", last=2).name, heir("a", last=2).last)
    ordered = quick_classes.dataclass(order=True)(
        type("Ordered", (), {"__annotations__": {"value": int}})
    )
    assert ordered(1) < ordered(2)
    own = quick_classes.dataclass(frozen=True)(
        type("Own", (), {"__annotations__": {"value": int}, "__eq__": lambda *_: True})
    )
    assert own(1) == own(2)


def test_a_verb_that_loads_much_has_its_classes_made_so_and_a_server_has_not():
    program = (
        "import dataclasses, sys\n"
        "from rankscope.cli import main\n"
        "sys.argv = ['rankscope', sys.argv[1], '--help']\n"
        "try:\n    main.main()\nexcept SystemExit:\n    pass\n"
        "print(dataclasses.dataclass.__module__)\n"
    )
    made = {
        verb: subprocess.run(
            [sys.executable, "-c", program, verb], check=True, capture_output=True, text=True
        ).stdout.splitlines()[-1]
        for verb in ("diagnose", "collector")
    }
    assert {"diagnose": "rankscope.cli.quick_classes", "collector": "dataclasses"} == made
