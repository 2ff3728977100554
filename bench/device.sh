#!/usr/bin/env bash
# Tries Rankscope on a machine with an NVIDIA GPU, in five minutes at most: the agent beside nvidia-smi,
# the probe in a CUDA job, a real out-of-memory, a real leak, a foreign process. One line a step, a
# summary and captures in a folder, with serial numbers, UUIDs, PCI addresses and names of hosts
# replaced. What cannot be tried here is said, with the reason.
#
#   bash bench/device.sh [FOLDER] [--steps 1,2] [--rehearse]
#
# FOLDER: default $OUT, else bench-results/device. --rehearse: without a GPU but on the driver's double
# (python -m rankscope.lab.node --gpus 1 -- bash bench/device.sh --rehearse) the same steps on CPUs.
set -u
cd "$(dirname "$0")/.." || exit 2

python="${PYTHON:-}"
if [ -z "$python" ]; then
  if [ -x .venv/bin/python ]; then python=.venv/bin/python; else python=python3; fi
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "nothing measured: $python is not Python 3.11 or later (PYTHON=/path/to/python names another)"
  exit 2
fi
# The source tree serves where the package is not installed; it comes first where it is.
export PYTHONPATH="src:.${PYTHONPATH:+:$PYTHONPATH}"
exec timeout --kill-after=10 290 "$python" -m bench.device "$@"
