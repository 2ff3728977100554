"""Whatever is left of a job: a line that points at a fault is an incident that quotes it."""

import pytest

NOT_SENT = "[n3:195:0:195] ib_mlx5_log.c:139  Transport retry count exceeded on mlx5_0:1/IB\n"
NO_SPACE = "OSError: [Errno 28] No space left on device\n"
CLOSED = "[rank1]: RuntimeError: [1] is setting up: Connection closed by remote peer node-b<4000>\n"
STEP = "[2026-05-13 12:{:02}:{:02}] iteration {}/ 500 | elapsed time per iteration (ms): 10000.0 | lm loss: 1.0E+00 |\n"  # noqa: E501
KERNEL = "2026-05-13T12:00:06.000000+00:00 node-a kernel: "


def said(diagnosis):
    document = diagnosis.document()
    first = document["root_cause"]["hypotheses"][0]
    return first["fault"], first["entity"]["type"], first["entity"]["id"]


def test_a_line_without_rank_time_or_step_is_quoted_by_an_incident_of_unknown_cause(
    explain, tmp_path
):
    (tmp_path / "job.log").write_text("starting\n" + NOT_SENT)
    diagnosis = explain(tmp_path)
    assert ("unknown", "job", "job") == said(diagnosis)
    document = diagnosis.document()
    assert "warning" == document["severity"]
    assert "ucx.retry_exceeded: [n3:195:0:195]" in document["summary"]
    quote = document["leftovers"]["lines"][0]
    assert ("job.log", 2, "root") == (quote["file"], quote["line"], quote["role"])


@pytest.mark.parametrize("name", ["job.log", "dmesg_node-a.txt"])
def test_a_kernel_log_alone_names_the_device_and_the_host_of_the_line(explain, tmp_path, name):
    text = KERNEL + "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n"
    (tmp_path / name).write_text(text)
    assert ("gpu.lost", "gpu", "pci:0000:18:00.0") == said(explain(tmp_path))


def test_a_line_that_follows_from_another_fault_names_no_rank(explain, tmp_path):
    """Rank 1 lost its peer: whoever that was is not in the log."""
    (tmp_path / "job.log").write_text(CLOSED)
    assert ("unknown", "job", "job") == said(explain(tmp_path))


def test_a_root_goes_before_what_follows_from_it_however_late_it_stands(explain, tmp_path):
    (tmp_path / "a.log").write_text(CLOSED * 3)
    (tmp_path / "b.log").write_text(NO_SPACE)
    assert "No space left on device" in explain(tmp_path).document()["summary"]


def test_the_rank_of_a_fatal_line_is_named_though_no_launcher_says_that_it_ended(explain, tmp_path):
    lines = [STEP.format(at // 60, at % 60, number) for number, at in enumerate(range(0, 300, 10))]
    fatal = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    (tmp_path / "job.log").write_text("".join(lines) + fatal)
    assert ("memory.gpu_oom", "rank", "3") == said(explain(tmp_path))


def test_an_error_that_steps_followed_is_no_more_than_news(explain, tmp_path):
    lines = [STEP.format(at // 60, at % 60, number) for number, at in enumerate(range(0, 300, 10))]
    lines.insert(9, "2026-05-13 12:01:25,000 " + NO_SPACE)
    (tmp_path / "job.log").write_text("".join(lines))
    document = explain(tmp_path).document()
    assert ("info", "unknown") == (document["severity"], said(explain(tmp_path))[0])


def test_lines_of_a_form_that_nobody_knows_are_no_fault(explain, tmp_path):
    (tmp_path / "job.log").write_text("step 1\nsaved\n" + STEP.format(0, 0, 1))
    assert explain(tmp_path).document() is None


def test_a_root_before_a_flood_of_what_follows_from_it_is_not_lost(explain, tmp_path):
    fatal = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    (tmp_path / "job.log").write_text(fatal + CLOSED * 20_000)
    assert ("memory.gpu_oom", "rank", "3") == said(explain(tmp_path))
