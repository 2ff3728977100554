"""Logs of a job: what their lines report, of which rank, on which host, at what time.

`gathering` reads all logs, `one_log` each of them, `settling` makes telemetry of what they told.

In: logs by name. Out: samples, events, and lines to quote. Imports: formats, vocabulary;
collectives, found, hosts, job, launches, walk.
"""
