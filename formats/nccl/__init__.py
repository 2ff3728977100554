"""What NCCL reports of itself: answers of its RAS service, operations by its Inspector plug-in.

In: answers of RAS and lines of the Inspector. Out: launches and single collectives by rank.
Imports: vocabulary; json_text, names.
"""
