"""What the agent may weigh: it runs on every node beside the training."""

import subprocess
import sys

HEAVY = (
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
    "opentelemetry.sdk",
    "grpc",
    "h2",
    "fastapi",
    "prometheus_client",
    "sqlalchemy",
    "torch",
    "rankscope.collector",
    # Settings are read in another process, and the version with them.
    "pydantic",
    "yaml",
    "importlib.metadata",
    # Of what few nodes need: names of dcgm-exporter, profiles, a time zone.
    "importlib.resources",
    "rankscope.agent.dcgm_names",
    "rankscope.agent.profiling",
    "tempfile",
    "zoneinfo",
    # What a function of a few lines does.
    "psutil",
    "statistics",
)


def test_importing_the_agent_imports_nothing_heavy():
    code = "import sys; import rankscope.agent.service; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    modules = set(done.stdout.split())
    assert "rankscope.agent.service" in modules
    assert {name for name in HEAVY if name in modules} == set()
