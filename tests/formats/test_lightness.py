"""What the agent takes from this package must not bring numpy or the protobuf runtime along."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    ["kernel_log", "otlp.encode", "otlp.errors", "otlp.resources", "segments", "training_logs"],
)
def test_a_part_for_the_agent_needs_the_standard_library_only(module):
    program = (
        f"import sys, rankscope.formats.{module}\n"
        "heavy = {'numpy', 'google.protobuf', 'opentelemetry', 'cramjam'} & set(sys.modules)\n"
        "sys.exit(', '.join(sorted(heavy)) or 0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
