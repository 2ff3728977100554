"""What libraries report of their own collectives while a job runs, without a word in its code.

In: answers of NCCL's RAS, files of its Inspector, dumps of the Flight Recorder. Out: numbers of
collectives as batches of a rank. Imports: formats, vocabulary; rank_processes, training_logs.
"""
