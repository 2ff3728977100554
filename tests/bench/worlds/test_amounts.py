"""Arithmetic of the tables."""

import pytest

from bench.worlds import amounts
from bench.worlds.amounts import AmountError


def test_an_amount_is_a_number_or_arithmetic_over_names():
    names = {"limit": 90.0, "weak": 1.0}
    assert 3.0 == amounts.value(3.0, names)
    assert 0.4 == pytest.approx(amounts.value("0.4 * limit / 90", names))
    assert 61.0 == amounts.value("least(61, -limit) * (weak >= 1)", names)


@pytest.mark.parametrize("text", ["nobody", "limit.real", "limit if weak else 1", "3 +", "2 % 1"])
def test_anything_else_is_refused_with_its_text(text: str):
    with pytest.raises(AmountError):
        amounts.value(text, {"limit": 1.0, "weak": 0.0})
