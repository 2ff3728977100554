"""The job as a whole: how many ranks, where they ran, when it ran, how it began and ended.

In: events and samples of logs, parts of logs. Out: what they say of the job. Imports: formats,
vocabulary; what stands below it.
"""
