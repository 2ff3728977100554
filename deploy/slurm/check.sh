#!/bin/sh
# Slurm's HealthCheckProgram, or a piece of its Prolog or Epilog, on every node, as root: the node measures
# itself and the collector keeps it (docs/checks.md). It says one line and always ends with 0: what is slow
# is evidence, and no node is taken away by one result. With RANKSCOPE_CHECK_DRAIN=1 a node that is slow or
# failed is drained, with that line as the reason.
#
# slurm.conf: HealthCheckProgram=/etc/slurm/rankscope-check.sh, HealthCheckInterval=3600,
# HealthCheckNodeState=IDLE. Slurm ends a health check after 60 s, so all of it is to take less.
command="${RANKSCOPE_COMMAND:-/opt/rankscope/bin/rankscope}"
env_file="${RANKSCOPE_ENV:-/etc/rankscope/agent.env}"
# shellcheck source=/dev/null
[ -r "$env_file" ] && . "$env_file"
[ -n "${RANKSCOPE_PUSH__ENDPOINT:-}" ] && export RANKSCOPE_URL="${RANKSCOPE_URL:-$RANKSCOPE_PUSH__ENDPOINT}"
[ -n "${RANKSCOPE_PUSH__TOKEN:-}" ] && export RANKSCOPE_TOKEN="${RANKSCOPE_TOKEN:-$RANKSCOPE_PUSH__TOKEN}"
# shellcheck disable=SC2086 # several words
line="$("$command" check --seconds "${RANKSCOPE_CHECK_SECONDS:-45}" ${RANKSCOPE_CHECK_ARGUMENTS:-} 2>&1)"
code=$?
echo "$line"
if [ "$code" -eq 1 ] && [ "${RANKSCOPE_CHECK_DRAIN:-0}" = 1 ]; then
  scontrol update NodeName="${SLURMD_NODENAME:-$(hostname -s)}" State=DRAIN Reason="rankscope: $(echo "$line" | head -c 200)"
fi
exit 0
