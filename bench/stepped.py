"""The stages of a collector without their threads: moved on by whoever has a clock of its own."""

from typing import TypeVar

from rankscope.collector.evaluation.schedule import PipelineEvaluator
from rankscope.collector.flows.stages import CollectorStages

P = TypeVar("P", bound=PipelineEvaluator)


class SteppedStages(CollectorStages[P]):
    """For one thread, which is all of theirs; they are not started."""

    def recover(self) -> None:
        """Go back to where the last process was, and begin to take payloads."""
        self.intake.open()
        self.consumer.recover()
        self.storing.flush()

    def step(self) -> None:
        """Let each stage do what it can do now."""
        self.intake.step()
        self.consumer.step()
        self.storing.flush()
