"""The bounds of the settings, as decoders and windows take them."""

from typing import TYPE_CHECKING

from ...formats.otlp.text_bounds import TextBounds
from ..windows.bounds import WindowBounds

if TYPE_CHECKING:
    from ..settings.evaluation import EvaluationSettings


def of_texts(settings: "EvaluationSettings") -> TextBounds:
    return TextBounds(settings.max_text_bytes, settings.max_name_bytes)


def of_windows(settings: "EvaluationSettings") -> WindowBounds:
    return WindowBounds(
        jobs=settings.max_jobs,
        hosts=settings.max_hosts,
        attempts=settings.max_attempts_of_job,
        ranks=settings.max_ranks_of_job,
        events_of_one=settings.max_event_bytes_of_one,
        events=settings.max_event_bytes,
    )
