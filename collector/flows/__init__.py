"""Intake, evaluation and storing put together, over files of one's own.

In flow payloads and actions, out answers of the pipeline. `flow.py` is what a collector asks of its
flow, alone or as one of several; `standalone.py` is the first of the two, `cluster` the other. It
may import the three stages and what is read beside them: `past`, `profiles`, `accounting`.
"""
