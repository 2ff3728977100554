#!/bin/sh
# Slurm's TaskProlog (or a line of it): every task of every job gets the probe, whatever the script of
# its user is. Lines that begin with "export" become variables of the task. A user who has set
# RANKSCOPE_PROBE has decided: 0 keeps the probe out.
folder="${RANKSCOPE_PROBE_FOLDER:-/opt/rankscope-probe}"
if [ -z "${RANKSCOPE_PROBE:-}" ] && [ -e "$folder/sitecustomize.py" ]; then
  echo "export RANKSCOPE_PROBE=1"
  echo "export PYTHONPATH=$folder${PYTHONPATH:+:$PYTHONPATH}"
fi
exit 0
