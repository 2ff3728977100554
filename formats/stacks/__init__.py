"""Dumps of stacks that people take of processes which stand still: of py-spy, gdb and others.

In: lines of text. Out: processes with the calls of their threads, and where each of them stands.
Imports: vocabulary; training_logs. `py_spy` reads a dump that was asked for; `reading` is loaded
where a file has one of MARKS.
"""

MARKS = (b'"MainThread"', b"(most recent call ", b" (LWP ", b"#0  ", b"#0 0x", b"TID ")
"""One of these texts is in every dump."""
