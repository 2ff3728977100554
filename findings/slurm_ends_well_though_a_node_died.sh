#!/usr/bin/env bash
# Slurm 22.05.8 (Debian 12), two nodes on this machine: a job of two tasks whose second node dies, and steps
# whose second task is killed.
#
# Guess: srun ends with an error where the node of a task dies, and the job's account says NODE_FAIL; the
# larger exit code wins; "launch failure" is a task that could not be started. Seen: srun writes "Node
# failure on" and ends with 0, the code of the tasks that it still has, so that a batch script goes on as if
# all were well. A job that may be requeued is never NODE_FAIL: it goes from COMPLETING to PENDING with
# reason BeginTime, for two minutes, with Restarts=1 and ExitCode=0:0; which node it was is in the log of
# slurmctld alone. A signal wins over a larger exit code (139, not 200). A task that is killed in the middle
# of its work leaves Reason=JobLaunchFailure in the account, with ExitCode=0:9; and "Force Terminated"
# is written although nobody was terminated: the other task had run to its end.
#
# Unpacks Debian's packages in a temporary folder (apt-get, dpkg, as root or as the user who may start
# slurmd), starts its own controller and nodes on ports of 127.0.0.1, ends them; two minutes.
set -euo pipefail
folder=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
version=22.05.8-4+deb12u3
(
  cd "$folder"
  apt-get download -qq slurmctld=$version slurmd=$version slurm-client=$version \
    slurm-wlm-basic-plugins=$version libhwloc15 libpmix2 libjson-c5 libmunge2 libfreeipmi17 >/dev/null 2>&1
  for package in *.deb; do dpkg -x "$package" root; done
)
libraries=$folder/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
export LD_LIBRARY_PATH=$libraries:$libraries/slurm-wlm SLURM_CONF=$folder/slurm.conf
export PATH=$folder/root/usr/bin:$PATH
me=$(id -un) host=$(hostname)
port=$((20000 + $$ % 10000))
cat >"$SLURM_CONF" <<CONF
ClusterName=finding
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$me
SlurmdUser=$me
AuthType=auth/none
CredType=cred/none
SlurmctldPort=$port
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool_%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
PluginDir=$libraries/slurm-wlm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdTimeout=5
ReturnToService=2
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES
CONF
mkdir "$folder/state" "$folder/spool_n1" "$folder/spool_n2"
"$folder/root/usr/sbin/slurmctld-wlm" -D -f "$SLURM_CONF" >"$folder/slurmctld.log" 2>&1 &
pids+=($!)
disown
for node in n1 n2; do
  "$folder/root/usr/sbin/slurmd-wlm" -D -N $node -f "$SLURM_CONF" \
    -d "$folder/root/usr/sbin/slurmstepd-wlm" >"$folder/$node.log" 2>&1 &
  pids+=($!)
  disown
done
for _ in $(seq 100); do
  [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c idle)" = 2 ] && break
  sleep 0.5
done
account() { # of job $1
  scontrol -o show job "$1" |
    grep -oE '\<(JobState|Reason|Restarts|ExitCode)=[^ ]*' | paste -sd' '
}
step() { # what its two tasks do: print the exit code of srun, seconds, its words, the job's account
  local began=$SECONDS code=0
  srun -J step -N2 -n2 bash -c "$1" >"$folder/out" 2>&1 || code=$?
  echo "srun: $code after $((SECONDS - began)) s; $(grep -oE 'task 1: .*|Force Terminated' "$folder/out" | paste -sd,);" \
    "$(account "$(scontrol -o show job | sed -nE 's/^JobId=([0-9]+).*/\1/p' | sort -n | tail -1)")"
}
killed=$(step '[ "$SLURM_PROCID" = 1 ] && kill -9 $$; sleep 8')
echo "one killed, the other well: $killed"
both=$(step '[ "$SLURM_PROCID" = 1 ] && kill -11 $$; exit 200')
echo "one killed by 11, the other with 200: $both"
cat >"$folder/job.sh" <<'JOB'
#!/bin/bash
srun bash -c 'echo $$ >'"$1"'/task_$SLURM_PROCID; echo $PPID >'"$1"'/step_$SLURM_PROCID; sleep 15'
echo "srun ended with $?" >"$1/ended"
sleep 600
JOB
job=$(sbatch --parsable -N2 -n2 -o "$folder/job.out" "$folder/job.sh" "$folder")
for _ in $(seq 100); do
  [ -s "$folder/task_1" ] && [ -s "$folder/step_1" ] && break
  sleep 0.2
done
sleep 1
kill -9 "${pids[2]}" "$(cat "$folder/step_1")" "$(cat "$folder/task_1")"
states=""
for _ in $(seq 120); do
  now=$(account "$job")
  [ "$now" = "$(tail -n 1 <<<"$states")" ] || states+=$'\n'$now
  case $now in *PENDING*) break ;; esac
  sleep 0.5
done
echo "a node died: $(cat "$folder/ended"); srun wrote: $(grep -o 'Node failure.*' "$folder/job.out")"
echo "its job: $(grep -v '^$' <<<"$states" | paste -sd';')"
echo "slurmctld: $(grep -o 'requeue job .*' "$folder/slurmctld.log")"
scancel "$job"
if [[ $killed != *"srun: 137 after "[89]*" s; task 1: Killed,Force Terminated;"*JobLaunchFailure*ExitCode=0:9* ]] ||
  [[ $both != *"srun: 139 "* ]] || ! grep -q 'ended with 0' "$folder/ended" ||
  [[ $states == *NODE_FAIL* ]] || [[ $now != *"Reason=BeginTime Restarts=1 ExitCode=0:0"* ]]; then
  echo "this has changed"
  exit 1
fi
