"""How a file of answers of RAS is shown, and who is last in a communicator."""

from collections.abc import Sequence

from .....formats.nccl.ras import RasCommunicator, RasStatus


def described(answers: Sequence[RasStatus]) -> str:
    """Return how a file of answers is shown: what the last one says."""
    last = answers[-1]
    count = f"{len(answers)} answers" if len(answers) > 1 else "answer"
    shown = len(last.sizes) or len(last.communicators)
    communicators = f"{shown} communicator{'' if shown == 1 else 's'}"
    if last.answered:
        uneven = any(status != "OK" for _, status in last.sizes) or last.communicators
        unequal = "; ".join(filter(None, map(_unequal, last.communicators)))
        equal = f"; {unequal}" if unequal else "" if uneven else ", their counts agree"
        text = f"all ranks answered{equal}"
    else:
        gone = max([len(last.missing) + len(last.dead),
                    *(len(one.missing) for one in last.communicators)])  # fmt: skip
        text = f"{gone or 'some'} did not answer"
    cut = "" if last.whole else ", cut off before its end"
    return f"{count} of NCCL RAS, {communicators}: {text}{cut}"


def _unequal(made: RasCommunicator) -> str:
    """Return who is last in a communicator, "" where none is or too many are."""
    most = max(made.launched.values(), default=0)
    behind = sorted(number for number, count in made.launched.items() if count < most)
    if not 0 < len(behind) <= min(8, made.size / 2):
        return ""
    least = min(made.launched.values())
    numbers = ", ".join(map(str, behind))
    return f"rank {numbers} of {made.size} launched {least} collectives, its peers {most}"
