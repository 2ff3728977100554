#!/bin/sh
# A piece of Slurm's Epilog, on every node of a job, as root: its devices are free again. Files that
# name another job stay, so that a late epilog takes nothing from whoever came next. Always ends with 0.
folder="${RANKSCOPE_JOB_FOLDER:-/run/rankscope-jobs}"
job="${SLURM_JOB_ID:-}"
case "$job" in "" | *[!0-9]*) exit 0 ;; esac
for file in "$folder"/[0-9]*; do
  if [ -f "$file" ] && [ "$(cat "$file" 2>/dev/null)" = "$job" ]; then
    rm -f "$file"
  fi
done
exit 0
