"""What launchers and kernels write of a host's memory is no device's."""

import numpy as np
import pytest

from rankscope.detectors.memory.gpu_oom import GpuOomDetector
from rankscope.detectors.sketch import START, sketch
from rankscope.vocabulary.samples import Event, TelemetryResource


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: gpu31-07: task 3: Out Of Memory",
        "slurmstepd-gpu-4: error: Detected 1 oom_kill event in StepId=5.0. Some OOM Killed.",
        "cuda-node kernel: Memory cgroup out of memory: Killed process 4711 (python)",
    ],
)
def test_a_host_s_lack_of_memory_is_no_device_s_whatever_the_host_is_called(text):
    pairs = {"rank": 3, "role": "root", "text": text}
    line = Event("log.fault", START + 50, pairs, TelemetryResource("host-1", "example"))
    assert [] == GpuOomDetector().evaluate(sketch(np.full((4, 60), 0.8), events=(line,)))
