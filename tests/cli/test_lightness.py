"""What a verb loads that it does not need, everybody waits for: by modules and tables, no clock."""

import json
import os
import subprocess
import sys

import pytest

COUNTED = """
import contextlib, io, json, re, sys, tomllib
from rankscope.vocabulary import patterns
read, every, lengths = [], [], []
compiled = re.compile
def measured(pattern, flags=0):
    lengths.append(len(pattern))
    return compiled(pattern, flags)
re.compile = measured
loads = tomllib.loads
def counted(text):
    read.append(text)
    return loads(text)
tomllib.loads = counted
made = patterns.DeferredPattern.__init__
def noted(self, pattern):
    every.append(self)
    made(self, pattern)
patterns.DeferredPattern.__init__ = noted
with contextlib.redirect_stdout(io.StringIO()):
{work}
json.dump({{
    "modules": sorted(sys.modules),
    "tables": len(read), "twice": len(read) - len(set(read)),
    "patterns": len(every), "compiled": sum("compiled" in vars(one) for one in every),
    "longest": max(lengths, default=0),
}}, sys.stdout)
"""

DIAGNOSE = """
    from rankscope.cli.main import main
    main(["diagnose", {path!r}, "--json", "--time-zone", "UTC"])
"""
SEARCH = """
    from rankscope.collector.artefacts.walk import blocks
    blocks._search()
"""
INCIDENTS = """
    from rankscope.cli.main import main
    main(["incidents", "--url", "http://127.0.0.1:9"])
"""
DOCTOR = """
    from rankscope import settings
    from rankscope.agent import examination
    from rankscope.agent.settings import FOREIGN, AgentSettings
    empty = {{"RANKSCOPE_NODE__" + key: {path!r} for key in ("PROC", "SYS", "DEV")}}
    loaded = settings.load(AgentSettings, path=None, environ=empty, foreign=FOREIGN)
    examination.examine(loaded, pause=lambda _: None)
"""


def counted(work, path=""):
    program = COUNTED.format(work=work.format(path=str(path)))
    unset = {name: value for name, value in os.environ.items() if not name.startswith("RANKSCOPE_")}
    ended = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=unset
    )
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    (folder / "rank_0.log").write_text(
        "2026-05-13 12:00:00 step 10 loss 2.31\n"
        "2026-05-13 12:00:10 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    )
    return counted(DIAGNOSE, folder)


def unwanted(loaded, *names):
    return [one for one in loaded["modules"] if one.startswith(names)]


def test_a_list_of_incidents_needs_no_more_than_the_command_line():
    loaded = counted(INCIDENTS)
    assert [] == unwanted(loaded, "rankscope.collector", "rankscope.agent", "rankscope.alerts")
    assert ([], 0) == (unwanted(loaded, "numpy", "pydantic", "yaml"), loaded["tables"])


def test_a_diagnosis_of_logs_loads_no_settings_no_store_and_no_tables_of_exporters(diagnosed):
    assert [] == unwanted(
        diagnosed, "pydantic", "yaml", "sqlalchemy", "fastapi", "rankscope.formats.exporters",
        "rankscope.formats.exposition", "rankscope.vocabulary.answers.collectives",
        "rankscope.formats.device_tables.reading", "rankscope.collector.artefacts.hosts.tables",
    )  # fmt: skip


def test_a_diagnosis_of_logs_loads_nothing_that_serves_sends_or_learns(diagnosed):
    assert [] == unwanted(
        diagnosed, "pandas", "sklearn", "scipy", "pyarrow", "torch", "asyncio", "httpx", "uvicorn",
        "opentelemetry", "google", "prometheus_client", "structlog", "alembic", "subprocess",
        "multiprocessing", "rankscope.agent", "rankscope.collector.api",
        "rankscope.collector.store",
    )  # fmt: skip


def test_the_search_over_a_log_needs_no_arrays():
    assert [] == unwanted(counted(SEARCH), "numpy")


def test_a_diagnosis_of_what_is_not_packed_loads_nothing_that_unpacks(diagnosed):
    assert [] == unwanted(
        diagnosed, "tarfile", "zipfile", "rankscope.collector.artefacts.files.archives"
    )


def test_no_table_is_parsed_twice_for_a_diagnosis(diagnosed):
    assert diagnosed["tables"] > 30
    assert diagnosed["twice"] == 0


def test_of_the_patterns_for_lines_a_few_are_compiled_for_a_log_of_two(diagnosed):
    assert diagnosed["patterns"] > 400
    assert diagnosed["compiled"] < diagnosed["patterns"] / 5


def test_no_pattern_is_made_of_all_texts_that_the_walk_over_a_log_has_searched_for(diagnosed):
    assert diagnosed["longest"] < 3000


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_verb_starts_one_thread_for_products_unless_somebody_wants_more(given, threads):
    variables = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    program = (
        "import os, sys\n"
        "from rankscope.cli.main import main\n"
        "sys.argv = ['rankscope', '--version']\n"
        "main()\n"
        "print(os.environ['OPENBLAS_NUM_THREADS'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True,
        env=variables | given,
    )  # fmt: skip
    assert threads == ended.stdout.splitlines()[-1]


def test_the_doctor_of_a_node_without_jobs_and_devices_loads_nothing_about_them(tmp_path):
    loaded = counted(DOCTOR, tmp_path)
    assert [] == unwanted(loaded, "numpy", "yaml", "pynvml", "rankscope.formats.exporters")
    assert loaded["tables"] < 12
