"""Dumps of stacks that people take of processes which stand still: of py-spy, gdb and others.

In: lines of text. Out: processes with the calls of their threads, and where each of them stands.
Imports: vocabulary; training_logs.
"""
