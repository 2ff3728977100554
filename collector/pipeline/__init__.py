"""From batches and events to changes of incidents: windows, detectors, causes.

In flow decoded batches and events with a time, out changes of incidents; the same calls in the same
order give the same incidents, to the byte. No thread, no clock, no I/O. It may import `windows` and
`settings`.
"""
