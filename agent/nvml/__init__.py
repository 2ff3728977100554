"""NVIDIA's library, at arm's length: a worker process asks it, the agent reads the answers.

`worker` and `subjects` run in the worker, a bare interpreter with nothing but the standard library
and pynvml; `supervisor` runs in the agent and never calls the library.
"""
