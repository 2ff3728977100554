"""What the collector wants of this host: asked for every few seconds, for nobody calls an agent.

`asking` is how every request and answer travels, for profiles (`agent/profiling`) too, and
`polling` the thread that asks; the other files each do one kind of thing that is asked for. Off
unless the settings allow it: then nobody is asked.

In: requests from the collector. Out: runs of `rankscope check`, ends of ranks.
Imports: open_file, procfs, settings, trainers.
"""
