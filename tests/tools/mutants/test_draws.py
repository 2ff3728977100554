"""A sample is the same for a seed, is spread by lines of code, and is found again after moves."""

from collections import Counter

import pytest
from tools.mutants.draws import Finder, draw
from tools.mutants.sites import Mutant, every_site

LINE = "def f{0}(a):\n    return a + {0}\n"
SOURCES = {
    "lab/one.py": "".join(LINE.format(number) for number in range(60)).encode(),
    "cli/two.py": "".join(LINE.format(number) for number in range(20)).encode(),
}


def test_a_seed_gives_one_sample_of_each_package_by_its_lines():
    sites = every_site(SOURCES)
    drawn = draw(SOURCES, sites, 35, 40)
    assert drawn == draw(SOURCES, sites, 35, 40)
    assert drawn != draw(SOURCES, sites, 36, 40)
    assert {"lab": 30, "cli": 10} == Counter(one.path.partition("/")[0] for one in drawn)
    assert 40 == len(set(drawn))


def mutant(text: str, function: str, ordinal: int = 1) -> Mutant:
    """Return the mutant of a constant in a function."""
    (found,) = [
        one.mutant
        for one in every_site({"lab/old.py": text.encode()})["lab/old.py"]
        if (one.mutant.kind, one.mutant.function, one.mutant.ordinal)
        == ("constant", function, ordinal)
    ]
    return found


OLD = """class Held:
    def f(self, a):
        return a + 1

    def g(self, a):
        return a + 1
"""


@pytest.mark.parametrize(
    ("now", "place"),
    [
        ({"lab/old.py": OLD}, "lab/old.py:3"),
        ({"lab/old.py": "x = y\n" + OLD}, "lab/old.py:4"),
        ({"cli/new.py": OLD.replace("Held", "History")}, "cli/new.py:3"),
        ({"cli/new.py": "def f2(a):\n    return a + 1\n"}, "cli/new.py:2"),
        ({"cli/new.py": OLD.replace("return a +", "return ab +")}, "cli/new.py:3"),
        ({"cli/new.py": OLD.replace("a + 1", "a + 2")}, None),
        ({"cli/new.py": OLD, "cli/newer.py": OLD}, None),
        ({"cli/new.py": "def other(b):\n    return g(b) + 1 + 3\n"}, None),
    ],
    ids=["same", "lower", "moved", "another name", "renamed in", "changed", "twice", "gone"],
)
def test_a_mutant_is_found_where_its_line_is_now_or_not_at_all(
    now: dict[str, str], place: str | None
):
    finder = Finder(every_site({path: text.encode() for path, text in now.items()}))
    found = finder.find(mutant(OLD, "Held.f"))
    assert place == (f"{found.mutant.path}:{found.mutant.line}" if found else None)


def test_of_two_on_one_line_the_one_with_its_number():
    text = "def f(a):\n    return a[1] + a[1]\n"
    finder = Finder(every_site({"lab/old.py": ("x = 5\n" + text).encode()}))
    starts = [finder.find(mutant(text, "f", ordinal)) for ordinal in (1, 2)]
    assert [29, 36] == [one.start for one in starts if one]
