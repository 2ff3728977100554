"""Tracebacks of interrupts by hand: the calls of the main thread, the innermost first."""

import pytest

from rankscope.formats.stacks import interrupts, places

PYTHON = """^CTraceback (most recent call last):
  File "run.py", line 9, in <module>
    train()
  File "/opt/torch/utils/data/dataloader.py", line 1132, in _try_get_data
    data = self._data_queue.get(timeout=timeout)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/python/selectors.py", line 416, in select
    ready = self._selector.poll(timeout)
KeyboardInterrupt
"""
IPYTHON = """KeyboardInterrupt                         Traceback (most recent call last)
Cell In[4], line 1
----> 1 trainer.fit(model)
File ~/env/torch/utils/data/dataloader.py:1132, in _BaseIter._try_get_data(self, timeout)
   1131 try:
-> 1132     data = self._data_queue.get(timeout=timeout)
KeyboardInterrupt:
"""
OLD_IPYTHON = """<ipython-input-4-6e7f8a> in <module>
----> 1 trainer.fit(model)
/opt/torch/utils/data/dataloader.py in _try_get_data(self, timeout)
    760         try:
--> 761             data = self._data_queue.get(timeout=timeout)
KeyboardInterrupt:
"""
RICH = """\u256d\u2500\u2500\u2500 Traceback (most recent call last) \u2500\u2500\u2500\u256e
\u2502 /home/me/run.py:9 in <module>                     \u2502
\u2502                                                   \u2502
\u2502 \u2771    9 train()                                     \u2502
\u2502 /opt/torch/utils/data/dataloader.py:1132 in       \u2502
\u2502 _try_get_data                                     \u2502
\u2570\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u256f
KeyboardInterrupt
"""


def read(text):
    return interrupts.processes(text.encode().split(b"\n"))


@pytest.mark.parametrize("text", [PYTHON, IPYTHON, OLD_IPYTHON, RICH])
def test_a_process_stands_where_it_was_interrupted(text):
    (process,) = read(text)
    place = places.of(process)
    assert place is not None
    assert "data" == place.name
    assert "(dataloader.py" in place.call


def test_each_rank_has_its_own_traceback_though_their_lines_are_mixed():
    lines = PYTHON.removeprefix("^C").splitlines()
    text = "".join(f"[rank{rank}]: {line}\n" for line in lines for rank in (0, 1))
    assert [0, 1] == [process.rank for process in read(text)]
    assert {3} == {len(process.threads[0].calls) for process in read(text)}


def test_a_traceback_that_ends_otherwise_says_nothing_of_the_interrupt_below_it():
    other = PYTHON.replace("KeyboardInterrupt", "ValueError: no such shard")
    assert [] == read(other + "KeyboardInterrupt\n")


def test_a_worker_of_a_loader_that_is_interrupted_too_stands_nowhere():
    worker = PYTHON.replace(
        "line 9, in <module>", 'line 9, in <module>\n  File "worker.py", line 3, in _worker_loop'
    )
    assert [None, "data"] == [
        place and place.name for place in map(places.of, read(worker + PYTHON))
    ]
