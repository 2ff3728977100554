"""Where a file could be wrong: every place that a mutant can change, found in its syntax tree.

Not in docstrings, texts, annotations, `if TYPE_CHECKING` and calls that only write a log.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    *("agent", "alerts", "checks", "cli", "collector", "dashboards", "detectors", "formats", "lab"),
    *("probe", "settings", "vocabulary"),
)

Defaults = set[tuple[str, str]]
"""Name of a function or class, name of a parameter of it that has a default."""

_COMPARISONS: dict[type[ast.cmpop], tuple[str, dict[str, str]]] = {
    ast.Eq: ("==", {"comparison": "!="}),
    ast.NotEq: ("!=", {"comparison": "=="}),
    ast.Lt: ("<", {"comparison": ">=", "boundary": "<="}),
    ast.LtE: ("<=", {"comparison": ">", "boundary": "<"}),
    ast.Gt: (">", {"comparison": "<=", "boundary": ">="}),
    ast.GtE: (">=", {"comparison": "<", "boundary": ">"}),
    ast.Is: ("is", {"comparison": "is not"}),
    ast.IsNot: (r"is\s+not", {"comparison": "is"}),
    ast.In: ("in", {"comparison": "not in"}),
    ast.NotIn: (r"not\s+in", {"comparison": "in"}),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: (r"\*\*", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: (r"\|", "&"),
}
_LOG_CALLS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One error, named by what stays when files move: function, kind, ordinal in it, line."""

    path: str
    function: str
    kind: str
    ordinal: int
    text: str
    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Site:
    """A mutant and its place: bytes in the file, lines of the statement, run on import or not."""

    mutant: Mutant
    start: int
    end: int
    lines: range
    on_import: bool

    def applied(self, source: bytes) -> bytes:
        """Return the file's bytes with the error in them."""
        return source[: self.start] + self.mutant.after.encode() + source[self.end :]


def files(root: Path) -> dict[str, bytes]:
    """Return the source of each file of the packages by its path below the root."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def every_site(sources: dict[str, bytes]) -> dict[str, list[Site]]:
    """Return each file's sites in the order of its text."""
    trees = {path: ast.parse(source) for path, source in sources.items()}
    defaults = {pair for tree in trees.values() for pair in _defaults(tree)}
    return {path: _Finder(path, sources[path], defaults).find(trees[path]) for path in trees}


def _defaults(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((node.name, name) for name in _optional(node.args))
        elif isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name == "__init__":
                    yield from ((node.name, name) for name in _optional(member.args))
                elif isinstance(member, ast.AnnAssign) and member.value is not None:
                    yield node.name, ast.unparse(member.target)


def _optional(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from (one.arg for one in positional[len(positional) - len(arguments.defaults) :])
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from (one.arg for one, default in keywords if default is not None)


class _Finder(ast.NodeVisitor):
    """Walks one file; `_scope` is the qualified name of what it is in, `_lines` its statement's."""

    def __init__(self, path: str, source: bytes, defaults: Defaults) -> None:
        self._path, self._source, self._defaults = path, source, defaults
        self._text = source.split(b"\n")
        self._starts = [0]
        for line in self._text:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._scope: tuple[str, ...] = ()
        self._depth = 0
        self._returns = False
        self._lines = range(0)
        self._found: list[tuple[str, str, int, int, str, range, bool]] = []

    def find(self, tree: ast.Module) -> list[Site]:
        self.visit(tree)
        counted: Counter[tuple[str, str]] = Counter()
        sites = []
        for scope, kind, start, end, after, lines, on_import in sorted(
            self._found, key=lambda one: (one[2], one[1])
        ):
            counted[scope, kind] += 1
            line = self._source.count(b"\n", 0, start) + 1
            text = self._text[line - 1].decode().strip()
            before = self._source[start:end].decode()
            mutant = Mutant(
                self._path, scope, kind, counted[scope, kind], text, line, before, after
            )
            sites.append(Site(mutant, start, end, lines, on_import))
        return sites

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            self._lines = _header(node)
        super().visit(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.visit(part)
        kept = self._scope, self._depth, self._returns
        annotated = "None" if node.returns is None else ast.unparse(node.returns)
        self._scope, self._depth = (*self._scope, node.name), self._depth + 1
        self._returns = annotated not in {"None", "NoReturn", "Never"}
        for statement in node.body:
            self.visit(statement)
        self._scope, self._depth, self._returns = kept

    visit_FunctionDef = _function  # noqa: N815  ast's names, here and below
    visit_AsyncFunctionDef = _function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.keywords):
            self.visit(part)
        kept, self._scope = self._scope, (*self._scope, node.name)
        for statement in node.body:
            self.visit(statement)
        self._scope = kept

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not _writes_log(node.value):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Pass by: positions inside are not those of the file before Python 3.12."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if ast.unparse(node.value).rpartition(".")[2] not in {"Literal", "Annotated"}:
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        test = ast.unparse(node.test)
        if test.endswith("TYPE_CHECKING") or test.startswith("__name__ =="):
            for statement in node.orelse:
                self.visit(statement)
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        terms = [node.left, *node.comparators]
        for left, right, operator in zip(terms, terms[1:], node.ops, strict=False):
            written, kinds = _COMPARISONS[type(operator)]
            for kind, other in kinds.items():
                self._operator(kind, left, right, written, other)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        written, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._operator("boolean operator", left, right, rf"\b{written}\b", other)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [part for part in (node.left, node.right) if _is_text(part)]
        union = isinstance(node.op, ast.BitOr) and not self._depth
        if type(node.op) in _ARITHMETIC and not texts and not union:
            self._operator("arithmetic", node.left, node.right, *_ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _ARITHMETIC and not _is_text(node.value):
            self._operator("arithmetic", node.target, node.value, *_ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, int | float) and not isinstance(value, bool) and value + 1 != value:
            self._replace("constant", node, str(value + 1))

    def visit_Return(self, node: ast.Return) -> None:
        if self._returns and node.value is not None and ast.unparse(node.value) != "None":
            self._replace("return", node.value, "None")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func).rpartition(".")[2]
        for keyword in node.keywords:
            if keyword.arg is not None and (name, keyword.arg) in self._defaults:
                start, end = self._span(keyword)
                gap = re.search(rb",\s*$", self._source[:start])
                if gap:
                    self._add("argument", gap.start(), end, "")
                else:
                    after = re.match(rb"\s*,?\s*", self._source[end:])
                    self._add("argument", start, end + (after.end() if after else 0), "")
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        compared = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not compared and not isinstance(test, ast.Constant):
            start, end = self._span(test)
            self._add("condition", start, end, f"(not ({self._source[start:end].decode()}))")

    def _operator(
        self, kind: str, left: ast.expr, right: ast.expr, written: str, other: str
    ) -> None:
        first, last = self._span(left)[1], self._span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda one: b" " * len(one[0]), self._source[first:last])
        found = re.search(written.encode(), gap)
        if found:
            self._add(kind, first + found.start(), first + found.end(), other)

    def _replace(self, kind: str, node: ast.expr, after: str) -> None:
        self._add(kind, *self._span(node), after)

    def _add(self, kind: str, start: int, end: int, after: str) -> None:
        scope = ".".join(self._scope)
        self._found.append((scope, kind, start, end, after, self._lines, not self._depth))

    def _span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        last_line, last_column = node.end_lineno or 0, node.end_col_offset or 0
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[last_line - 1] + last_column,
        )


def _header(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> range:
    """Return the lines of a statement without those of its body."""
    body: Iterable[ast.stmt] = getattr(node, "body", ())
    if isinstance(node, ast.match_case):
        return range(node.pattern.lineno, max(node.pattern.lineno + 1, node.body[0].lineno))
    last = min((one.lineno for one in body), default=(node.end_lineno or node.lineno) + 1)
    return range(node.lineno, max(last, node.lineno + 1))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _writes_log(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    logger = ast.unparse(node.func.value).lower().rpartition(".")[2]
    return node.func.attr in _LOG_CALLS and logger.endswith(("log", "logger", "logging"))
