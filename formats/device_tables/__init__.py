"""What people paste of devices: the tables of nvidia-smi and its kin, of links, disks and memory.

One reader a form: `boxes` (the framed tables of all vendors), `sections` (`nvidia-smi -q`),
`columns` (tables with a header, CSV), `process_rows` (lists of processes), `links` (NVLinks),
`gpustat`, `hosts` (`df`, `free`, `ibstat`). `reading` finds them among other lines; it is loaded
where a file has one of MARKS.

In: lines of a paste. Out: tables of devices and hosts, in the vocabulary's metrics and units.
Imports: vocabulary.
"""

from .marks import MARKS

__all__ = ["MARKS"]
