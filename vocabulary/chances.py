"""Probabilities as people read them."""


def chance(probability: float) -> str:
    """Return a probability in percent: never all of it or nothing, no calibration knows that.

    >>> chance(0.931), chance(0.9987), chance(0.001)
    ('93%', 'over 99%', 'under 1%')
    """
    if probability > 0.99:
        return "over 99%"
    return "under 1%" if probability < 0.01 else f"{probability:.0%}"
