#!/usr/bin/env bash
# torch 2.13.0, torchrun on two nodes (two launchers here, one rendezvous of c10d) with --max-restarts 3: rank 3
# is killed in its first life, while the ranks of the other node are in the middle of their work.
#
# Guess: all four ranks are started again together, and TORCHELASTIC_RESTART_COUNT is 1 for all of them, since it
# numbers the attempts of the job; so do the folders attempt_N of --log-dir. Seen: all four are started again
# together, ranks 2 and 3 with 1, ranks 0 and 1 with 0, as in their first life. A launcher counts what failed on its
# own node, and a restart that another node asks for is free. The second attempt is attempt_1 on one node, on
# the other it writes over the files of the first, and the message by which a rank of that node ended is
# lost. No other variable is new in each attempt and the same on all nodes. Who keys by that number mixes two
# lives of one half of the job, and divides the second attempt in two.
#
# Installs torch in a temporary folder (PYTHON: which interpreter, python3 by default; INDEX: where
# pip finds a build for CPUs); a minute or two.
set -euo pipefail
folder=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  --timeout 5 --retries 0 --extra-index-url "${INDEX:-https://download.pytorch.org/whl/cpu}" \
  torch==2.13.0 numpy 2>/dev/null
cat >"$folder/ranks.py" <<'PYTHON'
import os
import pathlib
import signal
import sys
import time

told, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
first = not (told / "killed").exists()
life = "first" if first else "second"
(told / f"{life} life of rank {rank}").write_text(os.environ["TORCHELASTIC_RESTART_COUNT"])
print(life, flush=True)
time.sleep(3)
if first:
    if rank == "3":
        (told / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)
PYTHON
mkdir "$folder/told"
port=$("$folder/venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for node in a b; do
  timeout --kill-after 5 100 "$folder/venv/bin/torchrun" --nnodes 2 --nproc-per-node 2 --max-restarts 3 \
    --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$port" --rdzv-id job --local-addr 127.0.0.1 \
    --redirects 3 --log-dir "$folder/$node" "$folder/ranks.py" "$folder/told" >/dev/null 2>&1 &
  pids+=($!)
  sleep 2
done
wait "${pids[@]}"
counts=$(cd "$folder/told" && grep -H "" ./*life* | sed 's#^\./##' | sort)
logs=$(cd "$folder" && find a b -path '*attempt_*' -name stdout.log -printf '%p ' -exec paste -sd' ' {} \; |
  sed 's#^\([ab]\)/[^ ]*/\(attempt_[0-9]*\)#node \1, \2#' | sort)
printf '%s\n%s\n' "$counts" "$logs"
expected='first life of rank 0:0
first life of rank 1:0
first life of rank 2:0
first life of rank 3:0
second life of rank 0:0
second life of rank 1:0
second life of rank 2:1
second life of rank 3:1'
[ "$counts" = "$expected" ] || { echo "this has changed"; exit 1; }
