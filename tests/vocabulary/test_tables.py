"""Tables of files are read into rows; a mistake is said with file, row, key and fix."""

import pytest
from tests.vocabulary.planets import Planet, read, refusal, toml

from rankscope.vocabulary import tables
from rankscope.vocabulary.tables import TableError

MISTAKES = {
    "a name that stands twice": (
        toml() + toml(),
        "mars: it stands twice; delete one or change its name",
    ),
    "no row": ("", "space/planets.toml: there is no row; write [[planet]]"),
    "a table for rows": ("[planet]\n", "planet is a table; write a list"),
    "another table": (toml() + "[[plant]]\n", "planets.toml: there is no key plant; did you mean"),
    "no TOML": ("[[planet", "space/planets.toml: it is not TOML: "),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_with_file_row_key_and_fix(mistake):
    text, said = MISTAKES[mistake]
    refused = refusal(text)
    assert said in refused
    assert refused.startswith("space/planets.toml")


def test_all_mistakes_of_a_file_are_said_at_once():
    text = toml(day='"1"', kind="") + toml(name='"venus"', rank="")
    assert 3 == len(refusal(text).splitlines())


def test_names_may_stand_twice_where_the_table_says_so():
    assert 2 == len(read(toml() + toml(), unique=False))


def test_keys_of_another_reader_are_left_to_it():
    text = toml(colour='"red"')
    assert read(text, others=("colour",)) == read(text, others=None) == read(toml())
    with pytest.raises(TableError, match="there is no key colour"):
        read(text, others=("color",))
    assert read("version = 1\n" + toml(), beside="version source") == read(toml())


def test_a_file_of_a_package_is_named_as_in_the_repository(monkeypatch):
    texts = {"a.toml": toml(), "b.toml": toml()}
    monkeypatch.setattr(tables, "text", lambda _package, name: texts[name])
    package = "rankscope.space.far"
    with pytest.raises(TableError) as raised:
        tables.joined(Planet, package, ["a.toml", "b.toml"], "planet")
    assert (
        "space/far/b.toml, planet mars: it stands in space/far/a.toml too; delete one"
        == str(raised.value)
    )  # fmt: skip
    texts["a.toml"] = toml(day="[]")
    with pytest.raises(TableError, match=r"^space/near/a\.toml, planet mars: day is a list"):
        tables.joined(Planet, "rankscope.space.near", ["a.toml", "b.toml"], "planet")


def test_a_file_that_several_read_is_parsed_once(monkeypatch):
    read: list[str] = []

    def text(_package: str, name: str) -> str:
        read.append(name)
        return toml()

    monkeypatch.setattr(tables, "text", text)
    first, second = (
        tables.joined(Planet, "rankscope.space.shared", ["a.toml"], "planet") for _ in range(2)
    )
    assert (first, ["a.toml"]) == (second, read)
