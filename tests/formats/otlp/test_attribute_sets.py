import threading

import numpy as np

from rankscope.formats.otlp.attribute_sets import AttributeSets


def test_one_thread_adds_sets_while_another_reads_those_it_was_given():
    """Intake numbers new sets while evaluation translates older ones."""
    sets = AttributeSets()
    numbers = np.array([sets.number((("rank", rank),)) for rank in range(64)], np.int64)
    failures: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                pairs, sizes = sets.members(numbers)
                assert list(range(64)) == [sets.pairs[pair][1] for pair in pairs.tolist()]
                assert [1] * 64 == sizes.tolist()
        except (AssertionError, BufferError) as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for first in range(64, 40_000, 400):
            pairs = np.array([sets.pair("rank", first + n) for n in range(400)], np.int32)
            sets.numbers_of(pairs, np.ones(400, np.int64))
    finally:
        done.set()
        reader.join()
    assert not failures
    assert (("rank", 40_063),) == sets[sets.number((("rank", 40_063),))]
