"""Overview, jobs, nodes, deliveries and the API's page in a real browser."""

from typing import Any

import pytest
from tests.dashboards.reading import rows, text

pytestmark = pytest.mark.programs


def cells(browser: Any, selector: str) -> list[str]:
    """Return the cells of the first row of a table, once it is there."""
    row = f"document.querySelector('{selector} tbody tr')"
    found: list[str] = browser.wait(f"{row} && [...{row}.cells].map(cell => cell.innerText.trim())")
    return found


def test_the_overview_shows_what_is_open_what_runs_and_what_was_lost(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    collector.offenders = [{"type": "host", "id": "gpu-12", "host": "gpu-12", "incidents": 3,
                            "jobs": ["run-1"], "faults": {"host.cpu_contention": 3},
                            "gpu_hours_lost": 4.0, "record": []}]  # fmt: skip
    browser.open(f"{collector.address}/")
    assert "CPU contention" in cells(browser, ".incidents")[0]
    assert ["llm-7b", "running", "CPU contention", "4"] == cells(browser, ".jobs")[:4]
    figures = text(browser, ".wide-figures")
    for word in ("active incidents", "93 %", "12.5 GPU-h", "9 s"):
        assert word in figures
    page = text(browser, "main")
    assert "12.5 GPU-h · 3 incidents" in page
    assert "4 GPU-h\nCPU contention" in page
    assert browser.run("document.querySelector('a[href=\"#/nodes/gpu-12\"]') !== null")


def test_a_job_shows_its_ranks_by_step_its_phases_and_who_waits_for_whom(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    assert "Rank 2 stands out." in text(browser, ".heatmap figcaption")
    assert "4x428" == browser.wait("document.querySelector('.heatmap [data-drawn]')?.dataset.drawn")
    assert "most of it, 67 %, is compute" in text(browser, ".phases figcaption")
    assert "Rank 2 on gpu-12 is waited for most" in text(browser, ".waits figcaption")
    caption = text(browser, ".slowest figcaption")
    assert caption == "A step takes 610 ms; without the slowest 2 it would take 500 ms."
    assert ["gpu-12", "500 ms", "490 ms to 510 ms", "12.5 GPU-h"] == cells(browser, ".slowest")
    assert "CPU contention" in text(browser, ".plain")
    assert "running" == text(browser, ".job-status")
    names = browser.wait(
        "(all => all.length >= 10 && all.map(one => one.innerText.split(':')[0]))"
        "([...document.querySelectorAll('.grid figcaption')])"
    )
    for name in ("Learning rate", "Throughput", "Wait for data", "Memory allocated"):
        assert name in names


def test_a_cell_of_the_heatmap_is_read_with_the_keyboard(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    browser.wait("document.querySelector('.heatmap [data-drawn]')")
    browser.run("document.querySelector('.heatmap .raster').focus()")
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    browser.wait(
        "document.querySelector('.heatmap .reading').innerText === 'rank 2, step 427: 651 ms'"
    )


def test_another_metric_of_every_rank_can_be_chosen(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    browser.wait("document.querySelector('.heatmap [data-drawn]')")
    browser.run(
        "[...document.querySelectorAll('.part-heat .tabs button')]"
        ".find(one => one.innerText === 'Wait in collectives').click()"
    )
    browser.wait(
        "document.querySelector('.heatmap figcaption').innerText.startsWith('Wait in collectives')"
    )


def test_a_job_lists_its_ranks_with_those_that_are_behind_first(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    assert ["0", "gpu-11", "0", "–", "4000", "420 8 behind", "5.1 s"] == cells(  # noqa: RUF001
        browser, ".ranks"
    )
    assert "behind" == browser.run("document.querySelector('.ranks tbody tr').className")


def test_a_job_shows_how_far_each_rank_is_in_its_collectives_and_who_holds_up_the_others(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    said = text(browser, ".part-collectives .sentence")
    assert "Rank 3 on gpu-12 is 3 behind its group and has not moved for 20 s." in said
    assert "The others wait longest for rank 2: 40 ms in the median AllReduce." in said
    first, second, *_ = rows(browser, ".part-collectives > table tbody tr")
    assert ["3", "gpu-12", "53", "0000:03:00.0", "4,207", "4,206", "3"] == first[:7]
    assert ["51 ms", "71.4 ms", "169 GiB/s", "0 s", "flight_recorder, inspector"] == first[8:]
    assert ["2", "40 ms"] == [second[0], second[11]]


def test_another_group_and_kind_of_collective_can_be_chosen(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    rows(browser, ".part-collectives > table tbody tr")
    for label, value, part, said in (
        ("Operation", "Broadcast", "table tbody tr", "1 ms"),
        ("Group", "tp:00ff00ff", ".sentence", "2 ranks are at"),
    ):
        browser.run(
            f"(one => {{ one.value = '{value}'; one.dispatchEvent(new Event('change')); }})"
            f"(document.querySelector('.part-collectives [data-key=\"choice {label}\"]'))"
        )
        browser.wait(
            f"document.querySelector('.part-collectives > {part}').innerText.includes('{said}')"
        )


def test_single_collectives_and_the_clocks_of_hosts_are_shown(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    browser.wait("document.querySelector('.part-collectives details')")
    browser.run("document.querySelector('.part-collectives details').open = true")
    first, *_ = rows(browser, ".part-collectives details table tbody tr")
    assert ["AllReduce 4,206", "4 MiB", "50 ms", "rank 2 on gpu-12", "39 ms", "4"] == first
    assert "gpu-11 -2.1 ms (± 1 ms)" in text(browser, ".part-collectives details .fine")


def test_a_job_without_collectives_has_no_such_part(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.answers["jobs/llm-7b/collectives"] = (200, {"items": [], "next_cursor": None})
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    text(browser, ".waits figcaption")
    browser.wait("document.querySelector('.part-collectives').childElementCount === 0")


def test_a_job_that_only_exporters_show_says_so_in_the_place_of_empty_plots(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    job = {"job": "llm-7b", "status": "running", "attempt": 0, "last_step": None, "ranks": 4,
           "hosts": ["gpu-11"], "last_at": "2026-11-20T12:00:00Z", "goodput": 1.0}  # fmt: skip
    collector.answers["jobs/llm-7b"] = (200, job)
    collector.answers["jobs/llm-7b/distribution"] = (200, {"variants": []})
    browser.open(f"{collector.address}/#/jobs/llm-7b")
    assert "No steps are reported" == text(browser, ".part-training h2")
    assert "RANKSCOPE_PROBE=1" in text(browser, ".part-training code")
    for part in ("heat", "phases", "waits", "slowest"):
        browser.wait(f"document.querySelector('.part-{part}').childElementCount === 0")


def test_a_node_shows_its_devices_its_ranks_and_its_incidents(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    named = {"incident": "a1", "fault": "gpu.slow", "opened_at": 1795183000, "jobs": ["run-1"],
             "entity": "gpu-12", "verdict": None, "severity": "warning", "status": "open",
             "gpu_hours_lost": 2.0}  # fmt: skip
    collector.offenders = [{"type": "host", "id": "gpu-12", "record": [named]}]
    collector.gains = [documents.repair_gain("gpu-12")]
    browser.open(f"{collector.address}/#/nodes/gpu-12")
    device = cells(browser, ".devices")
    assert ["GPU 6 · GPU-1", "2"] == device[:2]
    assert "91 °C" in device
    assert "thermal_hw" in device
    assert "1 NVLinks down, PCIe \N{MULTIPLICATION SIGN}8 of \N{MULTIPLICATION SIGN}16" in device
    ports = text(browser, ".part-ports")
    assert ports.index("mlx5_1:1") < ports.index("mlx5_2:1"), "the one that is down is first"
    assert "down" in cells(browser, ".ports")
    assert "400 Gb/s" in cells(browser, ".ports")
    assert "symbol_error 1,730" in ports
    assert "2 ports up, without errors." in ports
    assert "ranks 2, 3" in text(browser, ".part-head")
    assert "Slow GPU" in text(browser, ".part-incidents")
    assert "of the last 7 days 12.5 GPU-h" in text(browser, "[data-key=gain]")
    browser.wait("document.querySelector('.part-curves .frame[data-drawn]')")
    assert "now 79 °C to 79 °C" in text(browser, ".part-curves figcaption")


def test_the_nodes_are_listed_with_what_runs_there_and_what_is_wrong_first(
    browser: Any, serve: Any, documents: Any
):
    collector = serve([documents.incident()])
    collector.gains = [documents.repair_gain("gpu-12")]
    browser.open(f"{collector.address}/#/nodes")
    gained = ["12.5 GPU-h", "12.5 GPU-h"]
    assert ["gpu-12", "CPU contention", "llm-7b", "2", "leaf-1", "0", *gained] == cells(
        browser, ".nodes"
    )[:8]
    assert "2 hosts · 1 with an active incident" in text(browser, ".bar [role=status]")
    choose(browser, "silent")
    assert 2 == browser.wait("document.querySelectorAll('.nodes tbody tr.silent').length")
    choose(browser, "trouble")
    browser.wait("document.querySelectorAll('.nodes tbody tr').length === 1")
    assert "#/nodes?show=trouble" == browser.run("location.hash")


def choose(browser: Any, value: str) -> None:
    browser.run(f"document.querySelector('input[value={value}]').click()")


def test_jobs_are_found_by_their_state_name_user_and_host(browser: Any, serve: Any):
    collector = serve([])
    old = {"job": "old-13b", "status": "ended", "user": "ann", "hosts": ["gpu-77"], "incidents": 0}
    collector.jobs = [old]
    browser.open(f"{collector.address}/#/jobs")
    assert "1 running, 1 ended" == text(browser, ".bar [role=status]")
    choose(browser, "ended")
    browser.wait("document.querySelectorAll('.jobs tbody tr').length === 1")
    assert "old-13b" in cells(browser, ".jobs")[0]
    choose(browser, "all")
    for words, found in (("ANN", "old-13b"), ("gpu-77", "old-13b"), ("gpu-11", "llm-7b")):
        browser.run(
            f"(field => {{ field.value = '{words}'; field.dispatchEvent(new Event('input')) }})"
            "(document.querySelector('input[type=search]'))"
        )
        browser.wait(
            f"(rows => rows.length === 1 && rows[0].innerText.includes('{found}'))"
            "(document.querySelectorAll('.jobs tbody tr'))"
        )
    assert "#/jobs?find=gpu-11" == browser.run("location.hash")


def test_a_long_list_is_shown_a_hundred_rows_at_a_time(browser: Any, serve: Any):
    collector = serve([])
    collector.jobs = [{"job": f"run-{number}", "status": "ended", "hosts": [], "incidents": 0}
                      for number in range(150)]  # fmt: skip
    browser.open(f"{collector.address}/#/jobs")
    browser.wait("document.querySelectorAll('.jobs tbody tr').length === 100")
    browser.run("document.querySelector('[data-key=more]').click()")
    browser.wait("document.querySelectorAll('.jobs tbody tr').length === 151")


def test_the_runbook_of_a_cause_is_a_page_of_the_console(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    browser.open(f"{collector.address}/#/incidents/5b8e1f0c2a7d4c93")
    link = browser.wait("document.querySelector('.now a[href^=\"#/runbooks\"]')?.href")
    assert link.endswith("#/runbooks/host.cpu_contention")
    browser.open(link)
    assert "The trainers of one host are ready to run" in text(browser, ".runbook > p")
    assert "cat /proc/pressure/cpu" in text(browser, ".runbook pre")
    heads = browser.run("[...document.querySelectorAll('.runbook h2')].map(one => one.innerText)")
    assert ["How we know", "Check first", "What to do now"] == heads[:3]
    steps = browser.run(
        "[...document.querySelectorAll('.runbook ol li')].map(one => one.innerText)"
    )
    assert 3 == len(steps)
    assert steps[0].startswith("Neighbours: move them away")
    assert "#/runbooks/gpu.slow" in browser.run(
        "[...document.querySelectorAll('.runbook a')].map(one => one.getAttribute('href'))"
    )


def test_dead_letters_are_shown_and_sent_again(browser: Any, serve: Any, documents: Any):
    collector = serve([])
    collector.webhooks = [documents.HOOK]
    browser.open(f"{collector.address}/#/deliveries")
    row = cells(browser, ".deliveries")
    assert ["given up", "opened", "5b8e1f0c2a7d"] == row[:3]
    assert ["26.7 min", "9", "503 · the receiver is overloaded"] == row[4:]
    browser.run("document.querySelector('[data-key^=replay]').click()")
    assert "1 message will be sent again" == text(browser, ".doing [role=status]")
    assert [("/api/v1/webhooks/wh_1/replay", {})] == collector.done


def test_a_delivery_says_which_incident_it_was_about(browser: Any, serve: Any, documents: Any):
    collector = serve([documents.incident()])
    collector.webhooks = [documents.HOOK]
    browser.open(f"{collector.address}/#/deliveries")
    assert "CPU contention\nhost gpu-12 · llm-7b" == cells(browser, ".deliveries")[2]


def test_a_reader_sees_deliveries_and_cannot_send_again(browser: Any, serve: Any, documents: Any):
    collector = serve([])
    collector.webhooks = [documents.HOOK]
    collector.role = "read"
    browser.open(f"{collector.address}/#/deliveries")
    cells(browser, ".deliveries")
    assert 0 == browser.run("document.querySelectorAll('[data-key^=replay]').length")


def test_the_api_is_listed_from_its_own_description(browser: Any, serve: Any):
    collector = serve([])
    browser.open(f"{collector.address}/#/api")
    assert "GET" in text(browser, ".operations")
    assert "/api/v1/jobs" in text(browser, ".operations")
    assert "What is watched" in text(browser, ".operations")
    assert "API" == text(browser, "nav [aria-current]")
    browser.run("document.querySelector('.operations summary').click()")
    shown = text(browser, ".operation")
    for word in ("cluster", "string", "curl -H", "/api/v1/jobs", '"items": []'):
        assert word in shown
