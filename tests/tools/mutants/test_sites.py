"""Each kind of error is found where it stands and changes what it says; nothing else is touched."""

import ast
from pathlib import Path

import pytest
from tools.mutants.sites import Site, every_site


def sites(text: str) -> list[Site]:
    return every_site({"lab/one.py": text.encode()})["lab/one.py"]


def changed(text: str) -> list[tuple[str, str]]:
    """Return the kind and the whole changed text of every site."""
    return [(one.mutant.kind, one.applied(text.encode()).decode()) for one in sites(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == b", [("comparison", "a != b")]),
        ("a < b", [("boundary", "a <= b"), ("comparison", "a >= b")]),
        ("a is  not b", [("comparison", "a is b")]),
        ("a not in b", [("comparison", "a in b")]),
        ("(a)and(b)", [("boolean operator", "(a)or(b)")]),
        ("x = a if b else c", [("condition", "x = a if (not (b)) else c")]),
        ("[a for a in b if a]", [("condition", "[a for a in b if (not (a))]")]),
        ("x = a - b", [("arithmetic", "x = a + b")]),
        ("x += a", [("arithmetic", "x -= a")]),
        ("x = -0.5", [("constant", "x = -1.5")]),
        ("é = a * 7", [("arithmetic", "é = a / 7"), ("constant", "é = a * 8")]),
        ("def f() -> int:\n    return a", [("return", "def f() -> int:\n    return None")]),
        (
            "x = (a  # - here\n    - b)",
            [("arithmetic", "x = (a  # - here\n    + b)")],
        ),
    ],
)
def test_an_error_of_each_kind(text: str, expected: list[tuple[str, str]]):
    assert expected == changed(text)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(1, b=c)", "f(1)"),
        ("f(b=c)", "f()"),
        ("f(b=c, d=e)", "f(d=e)"),
        ("f(\n    b=c,\n)", "f(\n    )"),
        ("m.f(*a, b=(c))", "m.f(*a)"),
        ("Row(b=c)", "Row()"),
    ],
)
def test_an_argument_is_left_out_where_its_function_has_a_default(call: str, expected: str):
    """Others would only be a TypeError."""
    head = "def f(a, *, b='', d): ...\nclass Row:\n    b: int = c\n"
    (mutant,) = [text for kind, text in changed(head + call) if kind == "argument"]
    assert head + expected == mutant


@pytest.mark.parametrize(
    "text",
    [
        '"""One 1 == 1."""',
        "x: Literal[1]",
        "x: tuple[int, 3] = y",
        "X = Literal[1, 2]",
        "def f(a: 'x < 3' = b) -> None: return g(a)",
        "if TYPE_CHECKING:\n    x = 1",
        "if __name__ == '__main__':\n    x = 1",
        "log.warning('x', n=1 + 2)",
        "self._LOG.info('x', n=1 + 2)",
        "x = f'{1 + 2}'",
        "x = 'a' + b",
        "X = A | B",
        "x = True",
        "while True: pass",
        "def f() -> int: return None",
    ],
)
def test_what_is_not_touched(text: str):
    assert [] == changed(text)


def test_a_site_has_its_function_its_number_and_the_lines_of_its_statement():
    head = "class A:\n    x = 1\n    def f(self):\n"
    text = f"{head}        if (a and\n            b == 2):\n            return 3 + 4\n"
    found = {(one.mutant.before, one.mutant.kind): one for one in sites(text)}
    assert ("A", True, range(2, 3)) == _place(found["1", "constant"])
    assert ("A.f", False, range(4, 6)) == _place(found["2", "constant"])
    assert ("A.f", False, range(6, 7)) == _place(found["4", "constant"])
    four = found["4", "constant"].mutant
    assert (3, 6, "return 3 + 4") == (four.ordinal, four.line, four.text)


def _place(site: Site) -> tuple[str, bool, range]:
    return site.mutant.function, site.on_import, site.lines


def test_every_site_of_a_real_file_is_python_that_differs():
    source = Path(ast.__file__).read_bytes()
    found = every_site({"ast.py": source})["ast.py"]
    before = ast.dump(ast.parse(source))
    assert len(found) > 300
    for site in found[::10]:
        assert before != ast.dump(ast.parse(site.applied(source))), site.mutant
