"""What stays is kept out of full collections, and garbage among it is found in the end."""

import subprocess
import sys

SCRIPT = """
import gc, weakref
from rankscope.collector.process.garbage import LongLivedObjects

class Connection:
    def __init__(self): self.itself = self

at = 0.0
gc.disable()
LongLivedObjects(now=lambda: at).keep_out()
{then}
"""


def printed(then):
    """Return what a process of its own prints: all of it has one garbage collector."""
    script = SCRIPT.format(then=then)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_what_there_is_at_the_start_is_looked_through_no_more():
    assert printed("""
print(len(gc.get_objects()) < 100)
gc.collect()
print(len(gc.get_objects()) < 100)
""") == ["True", "True"]


def test_garbage_that_was_never_kept_out_is_found_by_the_next_collection():
    assert printed("""
gone = weakref.ref(Connection())
gc.collect()
print(gone())
""") == ["None"]


def test_garbage_that_was_kept_out_is_found_once_a_quarter_more_is_kept_out():
    assert printed("""
connections = [Connection() for _ in range(gc.get_freeze_count() // 3)]
gc.collect()  # keeps them out
gone = weakref.ref(connections[0])
connections.clear()
gc.collect()
print(gone() is None)
at = 61.0
gc.collect()  # counts
gc.collect()
print(gone() is None)
gc.collect()
print(len(gc.get_objects()) < 100)
""") == ["False", "True", "True"]


def test_what_is_kept_out_and_hardly_grows_stays_out():
    assert printed("""
kept = Connection()
gc.collect()
at = 61.0
gc.collect()
print(len(gc.get_objects()) < 100)
""") == ["True"]
