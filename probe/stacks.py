"""A stack as text: function names, file names and lines. Never locals: they hold the job's data."""

from pathlib import PurePath
from types import FrameType

_DEEPEST = 40


def stack_text(frame: FrameType) -> str:
    """Return the stack, outermost call first, the innermost forty calls of it."""
    calls: list[str] = []
    here: FrameType | None = frame
    while here is not None and len(calls) < _DEEPEST:
        code = here.f_code
        calls.append(f"{code.co_qualname} ({PurePath(code.co_filename).name}:{here.f_lineno})")
        here = here.f_back
    return "\n".join(reversed(calls))
