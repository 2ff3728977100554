"""Tables of torch.profiler: rows, and the totals below."""

import pytest

from rankscope.formats.profiles import profiler_tables

DASHES = "  ".join(["-" * 24, *["-" * 12] * 6])


def table(*rows, totals=("Self CPU time total: 89.2s", "Self CUDA time total: 4602.000ms")):
    head = (
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "# of Calls",
    )
    lines = ["  ".join(f"{cell:>12}" for cell in row) for row in (head, *rows)]
    return ["FIT Profiler Report", DASHES, lines[0], DASHES, *lines[1:], DASHES, *totals]


LOADER = (
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter._...",
    "62.1%",
    "55.4s",
    "89.2%",
    "79.6s",
    "1.592s",
    "50",
)
MATMUL = ("aten::mm", "0.51%", "455.000us", "0.93%", "830.000us", "83.000us", "10000")


def test_times_are_seconds_and_totals_stand_below():
    (found,) = profiler_tables.read(table(LOADER, MATMUL))
    assert [(5, 79.6, 50), (6, 0.00083, 10000)] == [
        (row.line, row.cpu_seconds, row.calls) for row in found.rows
    ]
    assert (89.2, 4.602) == (found.cpu_seconds, found.device_seconds)


@pytest.mark.parametrize(
    "name",
    [
        LOADER[0],
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "[pl][profile][_TrainingEpochLoop].train_dataloader_n...",
    ],
)
def test_the_wait_for_the_loader_is_known_though_its_name_is_cut_off(name):
    (found,) = profiler_tables.read(table((name, *LOADER[1:]), MATMUL))
    assert found.loading == found.rows[0]


def test_an_operation_is_no_loader():
    (found,) = profiler_tables.read(table(MATMUL, ("DataParallel.forward", *MATMUL[1:])))
    assert found.loading is None


def test_totals_of_older_versions_are_read_and_lacking_ones_are_zero():
    (old,) = profiler_tables.read(
        table(MATMUL, totals=["CPU time total: 12.5ms", "CUDA time total: 3us"])
    )
    (none,) = profiler_tables.read(table(MATMUL, totals=[]))
    assert (0.0125, 3e-6, 0.0) == (old.cpu_seconds, old.device_seconds, none.cpu_seconds)


def test_a_head_without_rows_is_no_table():
    assert [] == profiler_tables.read(table())


def test_the_table_of_lightnings_simple_profiler_is_one_too():
    rows = [
        ("Action", "Mean duration (s)", "Num calls", "Total time (s)", "Percentage %"),
        ("Total", "-", "171", "50.5", "100 %"),
        ("run_training_epoch", "45.1", "1", "45.1", "90.2"),
        ("[_TrainingEpochLoop].train_dataloader_next", "0.9", "40", "36.0", "71.3"),
    ]
    lines = [line for row in rows for line in ("-" * 60, "|  " + "\t|  ".join(row) + "  |")]
    lines += ["-" * 60, "done"]
    (found,) = profiler_tables.read(lines)
    assert (50.5, 0.0) == (found.cpu_seconds, found.device_seconds)
    assert found.loading == profiler_tables.ProfiledOperation(8, rows[3][0], 36.0, 40)
