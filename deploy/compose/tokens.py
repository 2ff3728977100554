"""Make the tokens of docker-compose.yml, once: `python tokens.py FOLDER`.

Standard library only. `read`, `ingest` and `admin` hold one token each; collector.yaml has their
digests, agent.yaml the one that it sends with. A second call changes nothing, so that what was
given out stays valid; to change them all, `docker compose down --volumes` or delete the files.
"""

import hashlib
import json
import os
import secrets
import sys
from pathlib import Path

ROLES = {"ingest": "agents", "read": "people", "admin": "oncall"}
"""Role of each token, which is the name of its file too, and who uses it."""


def write(path: Path, text: str, mode: int) -> None:
    """Write a file under its final name only when it is whole, with this mode from the start."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    new.chmod(mode)  # whatever the umask is
    new.rename(path)


def main(folder: Path) -> None:
    """Make what is missing; the file that the collector waits for comes last."""
    if (folder / "collector.yaml").exists():
        print(f"tokens are in {folder} already")
        return
    entries = []
    for role, name in ROLES.items():
        token = "rks_" + secrets.token_urlsafe(32)
        # Prometheus, Alertmanager and Grafana have users of their own and act with the first two.
        # The third is for the collector's user, who types it out, and nobody else's container.
        write(folder / role, token, 0o400 if role == "admin" else 0o444)
        digest = hashlib.sha256(token.encode()).hexdigest()
        entries.append({"token": f"sha256:{digest}", "role": role, "name": name})
        if role == "ingest":
            write(folder / "agent.yaml", json.dumps({"push": {"token": token}}), 0o444)
    write(folder / "collector.yaml", json.dumps({"api": {"tokens": entries}}, indent=1), 0o444)
    print(f"tokens made in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
