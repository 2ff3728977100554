"""What launchers and schedulers said of the ends of a job, and what it means.

In: blocks of logs. Out: reports; who or what ended the job by them. Imports: formats, vocabulary;
found, job, walk.
"""
