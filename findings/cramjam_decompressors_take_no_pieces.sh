#!/usr/bin/env bash
# cramjam 2.14.0: `Decompressor.decompress` of every codec, given a stream in two pieces.
#
# Guess: the object is there for streams, as `zlib.decompressobj` is: feed pieces, then `finish`. Seen:
# each call must get a whole stream. The first piece of a larger one raises OSError, whose text speaks
# of a truncated stream, so that it reads as if the data were torn. Two whole streams, one a call, are
# joined. Who reads a large file through it holds all of it, compressed and not, or uses a file object.
#
# Installs the package in a temporary folder (PYTHON: which interpreter, python3 by default); 10 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cramjam==2.14.0 2>/dev/null
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import cramjam

DATA = bytes(range(256)) * 4000
changed = False
for name in ("zstd", "gzip", "bzip2", "xz", "snappy", "lz4", "zlib", "deflate", "brotli"):
    codec = getattr(cramjam, name)
    whole = bytes(codec.compress(DATA))
    pieces = codec.Decompressor()
    try:
        pieces.decompress(whole[: len(whole) // 2])
        pieces.decompress(whole[len(whole) // 2 :])
        halves = "read"
    except OSError as error:
        halves = f"OSError: {error}"
    twice = codec.Decompressor()
    twice.decompress(whole)
    twice.decompress(whole)
    joined = bytes(twice.finish()) == DATA + DATA
    print(f"{name:8} in two pieces: {halves}; two whole streams are joined: {joined}")
    changed |= halves == "read" or not joined
sys.exit("this has changed" if changed else 0)
PYTHON
