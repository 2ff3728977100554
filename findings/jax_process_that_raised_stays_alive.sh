#!/usr/bin/env bash
# jax 0.10.2, jax.distributed with three processes on CPUs (gloo): one raises, the others are in a gather.
#
# Guess: the process that raised ends at once with exit code 1; its peers, as after a kill, lose their
# connection in a second or two. Seen: it prints its traceback and lives on, in a barrier that it enters
# as Python ends, and goes on sending heartbeats, so that nobody misses it, whatever heartbeat_timeout
# is. The others stay in their gather. All three end in the same second, by SIGABRT, once the barrier
# gives up: after shutdown_timeout_seconds, 20 here and 300 by default. A SIGTERM ends none of them before
# that: JAX takes it for a notice of preemption. So the process to blame is alive, has the same exit code
# as its peers, and all say the same last words ("another task died"): only its traceback, minutes
# earlier, tells it from them. A process that is killed instead takes the others along within seconds.
#
# Installs JAX in a temporary folder (PYTHON: which interpreter, python3 by default); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  jax==0.10.2 jaxlib==0.10.2 numpy 2>/dev/null
cat >"$folder/task.py" <<'PYTHON'
import os
import signal
import sys
import time

import jax

task, port, how = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    f"127.0.0.1:{port}", 3, task, heartbeat_timeout_seconds=10, shutdown_timeout_seconds=20
)
import jax.numpy as jnp
from jax.experimental import multihost_utils

for step in range(1000):
    multihost_utils.process_allgather(jnp.ones(2))
    if task == 1 and step == 10:
        print(f"WRONG {time.time()}", flush=True)
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("bad batch")
    time.sleep(0.1)
PYTHON
cat >"$folder/watch.py" <<'PYTHON'
import pathlib
import signal
import socket
import subprocess
import sys
import time

folder = pathlib.Path(sys.argv[1])


def run(how):
    """Return how long after the fault each task ended, and how; one is asked to end meanwhile."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outs = [folder / f"{how}_{task}" for task in range(3)]
    tasks = []
    for number, out in enumerate(outs):
        with out.open("wb") as written:
            command = [sys.executable, str(folder / "task.py"), str(number), str(port), how]
            tasks.append(subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT))
    while b"WRONG" not in outs[1].read_bytes():
        time.sleep(0.1)
    at = float(outs[1].read_text().split("WRONG ")[1].split()[0])
    ended, asked = {}, False
    while len(ended) < 3 and time.time() < at + 60:
        for number, one in enumerate(tasks):
            if number not in ended and one.poll() is not None:
                ended[number] = (round(time.time() - at, 1), one.returncode)
        if how == "raised" and not asked and time.time() > at + 3:
            asked = True
            if 2 not in ended:
                tasks[2].send_signal(signal.SIGTERM)
        time.sleep(0.1)
    for one in tasks:
        if one.poll() is None:
            one.kill()
    for number in range(3):
        seconds, code = ended.get(number, (None, None))
        words = "another task died" in outs[number].read_text(errors="replace")
        print(f"task 1 {how}: task {number} ended after {seconds} s with {code}; "
              f'says "another task died": {words}', flush=True)
    return ended


raised, killed = run("raised"), run("killed")
same = (
    all(19 < seconds < 35 and code == -signal.SIGABRT for seconds, code in raised.values())
    and len(raised) == 3
    and killed[1][1] == -signal.SIGKILL
)
sys.exit(0 if same else "this has changed")
PYTHON
"$folder/venv/bin/python" "$folder/watch.py" "$folder"
