"""The process that reads the past: a question on standard input, the answer on standard output."""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

NICE = 10


def main() -> int:
    """Answer one question; return the exit code, 3 where memory did not suffice."""
    question = json.load(sys.stdin)
    os.nice(NICE)
    bound = question["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    try:
        # After the bound, so that it holds for them too.
        from ..settings.evaluation import EvaluationSettings  # noqa: PLC0415
        from .stretch import JournalStretch  # noqa: PLC0415

        evaluation = EvaluationSettings.model_validate(question["evaluation"])
        stretch = JournalStretch(
            journal=Path(question["journal"]),
            job=question["job"],
            start=question["start"],
            end=question["end"],
        )
        answer: Any
        if question.get("wanted"):
            from ..figures.distribution import SpreadQuery  # noqa: PLC0415
            from . import pictures  # noqa: PLC0415

            wanted = [SpreadQuery(**one) for one in question["wanted"]]
            answer = pictures.distributions(stretch, wanted, capacity=evaluation.max_series)
        else:
            from ..pipeline.pipeline import DetectionPipeline  # noqa: PLC0415
            from ..settings.detectors import DetectorSettings  # noqa: PLC0415
            from . import reading  # noqa: PLC0415

            detectors = DetectorSettings.model_validate(question["detectors"]).selection()
            pipeline = DetectionPipeline(detectors=detectors, settings=evaluation)
            answer = reading.root_cause(stretch, pipeline)
    except (MemoryError, ImportError):  # a library that could not be loaded into the bound
        return 3
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
