"""Amounts of the tables: a number, or arithmetic over names, as in `0.4 * limit / 90`."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

Amount = float | str

NAMES: Mapping[str, Any] = {
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "inf": math.inf,
    "nan": math.nan,
    "exp": np.exp,
    "log": np.log,
    "least": np.maximum,
    "most": np.minimum,
    "clip": np.clip,
    "round": np.round,
    "total": np.cumsum,
    "greatest": np.maximum.accumulate,
    "where": np.where,
}
"""What every amount may use beside the names of its table; `total`, `greatest`: up to each time."""
_OPERATIONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
}


class AmountError(ValueError):
    """An amount that is no arithmetic over known names; the text quotes it."""


def value(amount: Amount, names: Mapping[str, Any]) -> Any:
    """Return a number, or an array where a name stands for one; raises AmountError."""
    if not isinstance(amount, str):
        return amount
    try:
        return _value(_parsed(amount), names)
    except (KeyError, SyntaxError) as error:
        raise AmountError(f"{amount}: {error!r}; there are {', '.join(sorted(names))}") from error


@cache
def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=float() | int() as number):
            return number
        case ast.Name(id=name):
            return names[name] if name in names else NAMES[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, names)
        case ast.BinOp(left=left, op=operation, right=right):
            return _OPERATIONS[type(operation)](_value(left, names), _value(right, names))
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            return _OPERATIONS[type(operation)](_value(left, names), _value(right, names))
        case ast.Call(func=called, args=given):
            return _value(called, names)(*(_value(one, names) for one in given))
        case _:
            raise AmountError(f"{ast.unparse(node)} is no arithmetic")
