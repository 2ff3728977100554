"""The command `rankscope`: one verb a file, an entry point that needs the standard library only.

In: words of a command line. Out: text or JSON on a terminal, and an exit code. Imports: agent,
alerts, checks, collector, dashboards, formats, lab, settings, vocabulary.
"""
