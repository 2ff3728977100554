"""What collectives show: who waits for whom, by watchdogs, dumps, answers of RAS, stacks.

In: events of logs, dumps, files of NCCL. Out: counters and states of groups, and the story of a
hang. Imports: formats, vocabulary; found, job.
"""
