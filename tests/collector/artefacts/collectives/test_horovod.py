"""Stalls as Horovod writes them, 0.9 to 0.28: who has not come is waited for, until it comes."""

# ruff: noqa: E501  lines are as long as they are printed

import pytest

from rankscope.collector.artefacts.collectives.horovod import HorovodStall

STUCK, MISMATCH = "software.stuck_process", "software.collective_mismatch"
WARNS = "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are trying to submit different tensors or that only subset of ranks is submitting tensors, which will cause deadlock. "
STEP = "Epoch 1 step {}/99 - loss: 0.5\n"
DATED = "[2026-05-13 12:{:02}:00] iteration {}/ 500 | elapsed time per iteration (ms): 9000 | lm loss: 1.0E+00 |\n"
SHUT_DOWN = "horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or broadcast a tensor after one of the ranks finished execution."


def ready(lacking, _, size):
    """0.9 to 0.13.10: all in one line, those that have come, in the order in which they did."""
    every = (
        f"{op} [ready ranks: {', '.join(str(r) for r in reversed(range(size)) if r not in ranks)}]"
        for op, ranks in lacking.items()
    )
    return f"WARNING: {WARNS}Stalled ops: {', '.join(every)}\n"


def ready_below(lacking, minute, size):
    """0.9 to 0.13.10: each operation on a line of its own."""
    one_line = ready(lacking, minute, size)
    return one_line.replace("Stalled ops: ", "Stalled ops: \n").replace("], ", "],\n")


def missing(lacking, _, __):
    """0.13.11 to 0.15."""
    lines = (f"{op} [missing ranks: {', '.join(map(str, r))}]\n" for op, r in lacking.items())
    return f"WARNING: {WARNS}\nStalled ops:\n{''.join(lines)}"


def stamped(lacking, minute, _):
    """0.16.0 and 0.16.1: each operation a line of the logger."""
    stamp = f"[2026-05-13 12:{minute:02}:10.851506: W horovod/common/operations.cc:588] "
    lines = [f"{op} [missing ranks: {', '.join(map(str, r))}]\n" for op, r in lacking.items()]
    return f"{stamp}{WARNS}\nStalled ops:{lines[0]}" + "".join(stamp + one for one in lines[1:])


def by_rank(opener):
    def write(lacking, minute, _):
        stamp = f"[2026-05-13 12:{minute:02}:10. 26353: W horovod/common/stall_inspector.cc:105] "
        lines = []
        for rank in sorted(set().union(*lacking.values())):
            ops = sorted(op for op, ranks in lacking.items() if rank in ranks)
            more = " ..." if len(ops) > 6 else ""
            lines.append(f"{rank}: [{', '.join(ops[:6])}{more}]\n")
        return f"{stamp}{WARNS}\n{opener}\n{''.join(lines)}"

    return write


FORMS = {
    "ready": ready, "ready below": ready_below, "missing": missing, "stamped": stamped,
    "stalled ranks": by_rank("Stalled ranks:"), "missing ranks": by_rank("Missing ranks:"),
}  # fmt: skip
PREFIXES = {
    "none": "", "mpirun": "[1,0]<stderr>:", "mpirun, times": "Wed May 13 12:01:10 2026[1,0]<stderr>:",
    "gloo": "[0]<stderr>:",
}  # fmt: skip


def prefixed(prefix, text):
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.fixture
def named(explain, tmp_path):
    """Return a function that gives fault, ranks named for it and severity of a log."""

    def read(text):
        (tmp_path / "job.log").write_text(text)
        document = explain(tmp_path).document()
        if document is None:
            return None, [], "info"
        every = document["root_cause"]["hypotheses"]
        fault = every[0]["fault"]
        ranks = [one["entity"]["id"] for one in every if one["fault"] == fault]
        return fault, sorted(map(int, filter(str.isdigit, ranks))), document["severity"]

    return read


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("form", FORMS)
def test_who_has_not_come_is_named_in_every_form(named, form, prefix):
    warned = "".join(FORMS[form]({"grads_a": [1], "grads_b": [1]}, at, 4) for at in (1, 2))
    assert (STUCK, [1]) == named("starting\n" + prefixed(PREFIXES[prefix], warned))[:2]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lacking", [[0], [2, 3], [1, 2, 3]])
def test_all_that_have_not_come_are_named_the_coordinator_too(named, form, lacking):
    warned = FORMS[form]({"grads_a": lacking}, 1, 5)
    assert (STUCK, lacking) == named(warned)[:2]


@pytest.mark.parametrize("form", FORMS)
def test_steps_before_it_change_nothing(named, form):
    steps = "".join(STEP.format(number) for number in range(1, 6))
    assert (STUCK, [1]) == named(steps + FORMS[form]({"grads_a": [1]}, 1, 4))[:2]


@pytest.mark.parametrize("form", FORMS)
def test_a_stall_that_steps_follow_is_quiet(named, form):
    steps = "".join(STEP.format(number) for number in range(1, 6))
    assert "info" == named(FORMS[form]({"grads_a": [1]}, 1, 4) + steps)[2]


@pytest.mark.parametrize("form", ["stamped", "stalled ranks", "missing ranks"])
def test_a_stall_between_steps_with_times_is_quiet(named, form):
    warned = FORMS[form]({"grads_a": [1]}, 5, 4) + FORMS[form]({"grads_a": [1]}, 6, 4)
    before = "".join(DATED.format(at, at) for at in range(1, 5))
    after = "".join(DATED.format(at, at) for at in range(7, 12))
    assert "info" == named(before + warned + after)[2]


@pytest.mark.parametrize("form", FORMS)
def test_only_who_has_not_come_by_the_newest_warning_is_named(named, form):
    warned = FORMS[form]({"metric": [1, 2]}, 1, 4) + FORMS[form]({"metric": [2]}, 2, 4)
    assert (STUCK, [2]) == named(warned)[:2]


def test_what_is_no_longer_listed_came(named):
    warned = missing({"metric": [1]}, 1, 4) + missing({"grads_a": [2]}, 2, 4)
    assert (STUCK, [2]) == named(warned)[:2]


@pytest.mark.parametrize("form", FORMS)
def test_whoever_did_something_else_than_the_others_called_another_operation(named, form):
    lacking = {"loss_mean": [0, 1, 2], "grads_a": [3], "grads_b": [3]}
    assert (MISMATCH, [3]) == named(FORMS[form](lacking, 1, 4))[:2]


@pytest.mark.parametrize("opener", ["Stalled ranks:", "Missing ranks:"])
def test_a_list_that_goes_on_does_not_say_that_the_rest_was_submitted(named, opener):
    """Rank 1 lacks all of it, rank 2 all but the first: the last of its list is not in that of 1."""
    lacking = {f"grads_{number}": [1, 2] for number in range(1, 9)} | {"grads_0": [1]}
    assert (STUCK, [1]) == named(by_rank(opener)(lacking, 1, 4))[:2]


@pytest.mark.parametrize("opener", ["Stalled ranks:", "Missing ranks:"])
def test_two_ranks_that_each_lack_what_the_other_did_are_apart_though_lists_go_on(named, opener):
    lacking = {f"sync_{n}": [0] for n in range(8)} | {f"grads_{n}": [1] for n in range(8)}
    assert MISMATCH == named(by_rank(opener)(lacking, 1, 2))[0]


def test_a_list_that_is_cut_off_in_the_middle_of_a_name_ends_before_it():
    stall = HorovodStall()
    for rank, cut in ((9, "grads_c"), (10, "grads_")):
        stall.learn(f"{rank}: [grads_a, grads_b, {cut}", None)
    assert {9, 10} == stall.late()
    assert set() == stall.apart()


def test_a_warning_of_which_only_the_first_line_is_left_names_nobody(named):
    assert ("unknown", [], "warning") == named(f"WARNING: {WARNS}\n")


def test_those_that_have_come_tell_nothing_where_the_rest_is_not_known(named):
    assert ("unknown", []) == named(ready({"grads_a": [1]}, 1, 1) * 2)[:2]


def test_ranks_that_end_as_horovod_shuts_down_are_no_crash(named):
    marked = by_rank("Missing ranks:")({"grads_a": [2]}, 3, 4).replace("2: [", "2!: [")
    ends = f'Traceback (most recent call last):\n  File "/w/train.py", line 8, in <module>\n    train()\n{SHUT_DOWN}\n'
    told = (
        'One or more rank (marked by "!") is stalled for longer than 120 seconds. Will shutdown.\n'
    )
    text = prefixed("[1,0]<stderr>:", marked + told)
    text += "".join(prefixed(f"[1,{rank}]<stderr>:", ends) for rank in (0, 1, 3))
    assert (STUCK, [2]) == named(text)[:2]


def test_values_of_a_form_that_is_learned_late_do_not_end_a_stall_below_them(explain, tmp_path):
    """TensorFlow's two lines: what they mean is known only at the end of so short a log."""
    before = "INFO:tensorflow:loss = 2.1, step = 1200 (52.2 sec)\n"
    stall = ready({"mean": [0, 1, 2], "grad": [3]}, 0, 4)
    (tmp_path / "job.log").write_text(before + stall)
    first = explain(tmp_path).document()["root_cause"]["hypotheses"][0]
    assert (MISMATCH, [3]) == (first["fault"], first["entity"]["ranks"])
