"""Reports of other tools that check nodes: what each of their tests says of which device.

One reader a tool, each with its names in a table beside it: `dcgm` (`dcgmi diag -j`), `nccl_tests`,
`superbench`, `readiness` (NVIDIA's Cluster Readiness Engine), `sniff_tests` (Megatron's). `reading`
tells which one a text is of; it is loaded where a file is a report, or a log has one of LOG_MARKS.

In: what a tool wrote. Out: results, filed under checks of the vocabulary. Imports: vocabulary;
nccl.
"""

from .marks import LOG_MARKS, is_report

__all__ = ["LOG_MARKS", "is_report"]
