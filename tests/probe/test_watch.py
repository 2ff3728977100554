"""The calls a loop may make: exact where it says exact, harmless whatever it is handed."""

import copy
import gc
import os
import time

import pytest

from rankscope import probe
from rankscope.probe.silent import SilentWatch


@pytest.fixture(autouse=True)
def no_garbage_is_collected():
    """Keep the collector off: what it takes, in any thread, is taken out of what is waited for."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def watch(listener):
    made = probe.attach(job="j", rank=1, world_size=4, environ=listener.environ)
    yield made
    made.detach()


def test_only_attach_is_public():
    assert ["attach"] == probe.__all__


def test_steps_are_timed_end_to_end_and_numbered_as_the_loop_says(watch, listener):
    for index in (40, 41, None, 50):
        with watch.step(index):
            time.sleep(0.01)
    watch.detach()
    listener.wait()
    assert [40, 41, 42, 50] == listener.values("training.step")
    assert all(value >= 0.01 for value in listener.values("training.step.duration"))


def test_a_step_that_raises_does_not_count_and_the_error_is_the_jobs(watch, listener):
    with watch.step():
        pass
    with pytest.raises(KeyError), watch.step():
        raise KeyError
    with watch.step():
        pass
    watch.detach()
    listener.wait()
    assert [0, 1] == listener.values("training.step")


def test_the_wait_for_data_and_work_between_the_steps_are_taken_out_of_the_compute_time(
    watch, listener
):
    def slow():
        for number in range(3):
            time.sleep(0.02)
            yield number

    seen = []
    for item in watch.data(slow()):
        with watch.step():
            seen.append(item)
            time.sleep(0.01)
        time.sleep(0.03)
    watch.detach()
    listener.wait()
    assert [0, 1, 2] == seen
    assert all(value >= 0.02 for value in listener.values("training.data.duration"))
    whole = listener.values("training.step.duration")
    own = listener.values("training.compute.duration")
    waited = listener.values("training.data.duration")
    other = [step - compute - data for step, compute, data in zip(whole, own, waited, strict=True)]
    assert all(value >= 0.01 for value in own)
    assert all(value >= 0.03 for value in other[1:]), "what follows the span is no compute"


def test_a_timed_loader_is_as_long_as_the_loader_and_copies_with_it(watch):
    class Loader(list[int]):
        batch_size = 8

    timed = watch.data(Loader([1, 2, 3]))
    assert 3 == len(timed)
    assert 8 == timed.batch_size
    assert [1, 2, 3] == list(timed) == list(timed), "a second epoch"
    with pytest.raises(TypeError):
        iter(watch.data(None))
    assert copy.copy(timed) is not timed


def test_marked_collectives_are_exact_counted_and_named_alike(watch, listener):
    for _ in range(3):
        with watch.step():
            with watch.collective("all_reduce", size_bytes=4000):
                time.sleep(0.01)
            with watch.collective("broadcast", group="dp:1234"):
                pass
    listener.until(lambda: 3 in listener.values("collective.completed", group="dp:1234"))
    watch.detach()
    listener.wait()
    said = dict(listener.samples("training.comm.duration")[0].attributes)
    assert {"rank": 1, "quality": "exact"} == said
    assert all(value >= 0.01 for value in listener.values("training.comm.duration"))
    assert 3 == listener.values("collective.enqueued", group="dp:1234", source="probe")[-1]
    groups = {dict(each.attributes)["group"] for each in listener.samples("collective.completed")}
    world = (groups - {"dp:1234"}).pop()
    assert world.startswith("world:")
    longest = listener.values("collective.duration.max", group=world, op="all_reduce")
    assert max(longest) >= 0.01
    assert 4000 <= sum(listener.values("collective.size", group=world))


def test_a_collective_that_raises_stays_enqueued_and_not_completed(watch, listener):
    with pytest.raises(OSError), watch.collective("all_reduce", group="dp:1"):
        raise OSError
    listener.until(lambda: listener.samples("collective.enqueued", group="dp:1"))
    assert 1 == listener.values("collective.enqueued", group="dp:1")[-1]
    assert not listener.values("collective.completed", group="dp:1")


def test_checkpoints_are_timed_and_are_a_phase(watch, listener):
    with watch.step():
        pass
    with watch.checkpoint():
        time.sleep(0.02)
    with watch.step():
        pass
    watch.detach()
    listener.wait()
    assert [True] == [value >= 0.02 for value in listener.values("training.checkpoint.duration")]
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", "checkpoint", "train", "shutdown"] == phases


def test_evaluations_are_a_phase_and_their_batches_no_wait_of_a_step(watch, listener):
    for _ in range(2):
        with watch.step():
            pass
        with watch.evaluation(), watch.evaluation():
            assert [1, 2] == list(watch.data([1, 2]))
            with watch.checkpoint():
                pass
    watch.detach()
    listener.wait()
    around = ["eval", "checkpoint", "eval", "train"]
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "train", *around, *around, "shutdown"] == phases
    assert not listener.values("training.data.duration")


def test_a_phase_that_does_not_exist_is_not_sent(watch, listener):
    watch.phase("warm-up")
    watch.detach()
    watch.phase("train")
    listener.wait()
    phases = [each.attributes["phase"] for each in listener.events("training.phase")]
    assert ["init", "shutdown"] == phases
    assert 1 == watch.failures


def test_a_collective_around_or_inside_another_span_is_counted_once(watch, listener):
    with watch.step():
        pass
    with watch.step():
        with watch.collective("all_reduce"), watch.collective("all_reduce"):
            time.sleep(0.02)
        with watch.checkpoint(), watch.collective("barrier"):
            time.sleep(0.03)
    watch.detach()
    listener.wait()
    step = listener.values("training.step.duration")[1]
    comm = listener.values("training.comm.duration")[0]
    (checkpoint,) = listener.values("training.checkpoint.duration")
    assert comm >= 0.02
    assert checkpoint >= 0.03
    assert comm + checkpoint <= step


def test_a_resumed_run_goes_on_with_the_index_it_is_given(watch, listener):
    watch.continue_from(40)
    for _ in range(2):
        watch.end_step()
    watch.continue_from(0)
    watch.end_step()
    watch.detach()
    listener.wait()
    assert [40, 41, 42] == listener.values("training.step"), "given before the first step"


def test_recorded_values_arrive_with_their_scope_and_the_last_one_counts(watch, listener):
    with watch.step():
        watch.record(loss=1.0, scope="local")
        watch.record(loss=2.0, grad_norm=3, learning_rate=0.1, tokens=4096, scope="global")
    watch.detach()
    listener.wait()
    assert [2.0] == listener.values("training.loss", scope="global")
    assert [3.0] == listener.values("training.grad_norm", scope="global")
    assert [4096.0] == listener.values("training.tokens")
    assert [0.1] == listener.values("training.learning_rate")


class Awkward:
    """Raises whatever one asks of it."""

    def __float__(self):
        raise RuntimeError

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __bool__(self):
        raise RuntimeError


WEIRD = ["1.5", object(), [], {}, b"3", Awkward(), 1j, lambda: 1, float, 10**400]


@pytest.mark.parametrize("value", WEIRD, ids=lambda value: type(value).__name__)
def test_record_takes_anything_and_sends_only_numbers(watch, listener, value):
    with watch.step():
        watch.record(loss=value, grad_norm=value, learning_rate=value, tokens=value, scope=value)
        watch.record(loss=None, scope="everywhere")
    assert 4 == watch.failures
    watch.detach()
    listener.wait()
    assert [0.0] == listener.values("training.step")
    assert not listener.values("training.loss")


@pytest.mark.parametrize(("value", "text"), [(float("nan"), "nan"), (float("-inf"), "-inf")])
def test_a_value_that_is_not_finite_is_sent_as_such_and_said_at_once(watch, listener, value, text):
    with watch.step(7):
        watch.record(loss=value, scope="local")
    watch.detach()
    listener.wait()
    assert text == repr(listener.values("training.loss")[0])
    assert [1.0] == listener.values("training.nonfinite", of="loss")
    (event,) = listener.events("training.numeric")
    assert {"rank": 1, "step": 7, "what": "loss", "value": text} == event.attributes


def test_other_odd_arguments_are_survived(watch, listener):
    with watch.step("first"), watch.collective(None, group=7, size_bytes="many"):
        pass
    with watch.collective("all_reduce", size_bytes=object()):
        pass
    watch.phase("train")
    watch.detach()
    watch.detach()
    with watch.step():
        watch.record(loss=1)


def test_attaching_twice_is_attaching_once(watch, listener):
    assert probe.attach(environ=listener.environ) is watch


def test_after_detaching_a_new_watch_can_be_attached(watch, listener):
    watch.detach()
    again = probe.attach(job="k", environ=listener.environ)
    assert again is not watch
    again.detach()


@pytest.mark.parametrize("off", ["0", "off", "False"])
def test_switched_off_every_call_is_nothing(listener, off):
    silent = probe.attach(environ={**listener.environ, "RANKSCOPE_PROBE": off})
    assert isinstance(silent, SilentWatch)
    loader = [1, 2]
    assert silent.data(loader) is loader
    with silent.step(3), silent.checkpoint(), silent.collective("all_reduce"):
        silent.record(loss=object())
    silent.phase("eval")
    silent.end_step()
    silent.detach()
    assert not listener.wait()


def test_an_address_that_makes_no_sense_leaves_the_job_alone(capsys):
    watch = probe.attach(environ={"RANKSCOPE_AGENT": "nonsense"})
    assert isinstance(watch, SilentWatch)
    assert "RANKSCOPE_AGENT" in capsys.readouterr().err


def test_the_silent_watch_takes_every_call_of_the_real_one(watch):
    real = {name for name in dir(type(watch)) if not name.startswith("_")} - {"emit"}
    assert real <= set(dir(SilentWatch))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_child_sends_nothing(watch, listener):
    with watch.step():
        pass
    child = os.fork()
    if child == 0:
        with watch.step():
            watch.record(loss=1)
        watch.detach()
        os._exit(0)
    assert 0 == os.waitpid(child, 0)[1]
    with watch.step():
        pass
    watch.detach()
    listener.wait()
    assert [0, 1] == listener.values("training.step")
    assert {os.getpid()} == {each.pid for each in listener.received}
