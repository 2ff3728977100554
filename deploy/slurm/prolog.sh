#!/bin/sh
# A piece of Slurm's Prolog, on every node of a job, as root: which job has which GPU. One file a
# device index with the job's id in it, as dcgm-exporter reads it too. Only for clusters whose slurmd
# does not put jobs into cgroups of their own; elsewhere the agent sees it by itself.
#
# A prolog that fails drains its node: nothing here is worth that, so it always ends with 0.
folder="${RANKSCOPE_JOB_FOLDER:-/run/rankscope-jobs}"
job="${SLURM_JOB_ID:-}"
# A name of numbers only, and devices as Slurm lists them: 0,1,2 or 0-3. Else there is nothing to do.
case "$job" in "" | *[!0-9]*) exit 0 ;; esac
mkdir -p "$folder" 2>/dev/null || exit 0
for part in $(echo "${SLURM_JOB_GPUS:-}" | tr ',' ' '); do
  case "$part" in
  *[!0-9-]* | -* | *- | *-*-*) continue ;;
  esac
  device="${part%%-*}"
  last="${part##*-}"
  while [ "$device" -le "$last" ] && [ "$device" -lt 1024 ]; do
    # Whole under its final name: the agent may read at any moment.
    if echo "$job" >"$folder/.$device.$$" 2>/dev/null; then
      mv "$folder/.$device.$$" "$folder/$device" 2>/dev/null
    fi
    device=$((device + 1))
  done
done
exit 0
