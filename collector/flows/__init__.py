"""Intake, evaluation and storing put together, over files of one's own.

`flow.py` is what a collector asks of its flow, alone or as one of several; `standalone.py` is the
first of the two, `cluster` the other. `concluded.py` is of what is over: it takes nothing.

In: payloads and actions. Out: answers of the pipeline. Imports: vocabulary; what stands below it.
"""
