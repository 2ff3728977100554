#!/usr/bin/env bash
# Redis 7.0.15 (Debian 12), a stream of steps with a bound (MAXLEN) and a consumer group that falls behind, is cut off
# by the bound, and then reads all that is left.
#
# Guess: lag, in XINFO GROUPS, is what the group has still to read; the bound makes it smaller, as those entries are no
# more, or leaves it empty, as XDEL does, since it cannot be known. Seen: the entries that the bound took away stay
# in it for good. After 100 entries, 10 read and all but 5 trimmed, it is 90; once the group has read the last
# one it is 85 with nothing left to read, and so it stays, however well the consumer keeps up from then on: an
# alert on lag fires for ever for a consumer that is at the end, and 85 lost steps look like 85 that are late.
# Nothing else counts them. XDEL of one entry that was not read makes lag empty until the group has read past it, so that
# the same alert is silent for one that is far behind. Of what a consumer had been given and not acknowledged, the
# trimmed entries stay in XPENDING until XAUTOCLAIM, which returns their ids alone and forgets them.
#
# Unpacks Debian's packages in a temporary folder (apt-get, dpkg) and starts one on a port of 127.0.0.1; 10 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; wait 2>/dev/null; rm -rf "$folder"' EXIT
server=
(
  cd "$folder"
  apt-get download -qq redis-tools=5:7.0.15-1~deb12u10 liblzf1 libjemalloc2 libatomic1 >/dev/null 2>&1
  for package in *.deb; do dpkg -x "$package" root; done
  ln -s redis-check-rdb root/usr/bin/redis-server # one program; its name says what it does
)
LD_LIBRARY_PATH=$(dirname "$(find "$folder/root" -name 'liblzf.so*' | head -n 1)")
export LD_LIBRARY_PATH
port=$((20000 + $$ % 10000))
"$folder/root/usr/bin/redis-server" --port $port --bind 127.0.0.1 --save "" >"$folder/log" 2>&1 &
server=$!
ask() { "$folder/root/usr/bin/redis-cli" -p $port "$@"; }
for _ in $(seq 100); do
  [ "$(ask ping 2>/dev/null || true)" = PONG ] && break
  sleep 0.1
done
lag() { ask XINFO GROUPS steps | grep -A 1 -x lag | tail -n 1; }
pending() { ask XPENDING steps watcher | head -n 1; }
read_next() { ask XREADGROUP GROUP watcher rank0 COUNT "$1" STREAMS steps '>' | grep -c -x step || true; }
added() { for _ in $(seq "$1"); do ask XADD steps '*' step 1 >/dev/null; done; }

added 100
ask XGROUP CREATE steps watcher 0 >/dev/null
seen="read $(read_next 10), lag $(lag)"
ask XTRIM steps MAXLEN 5 >/dev/null
seen+="; trimmed: lag $(lag)"
seen+="; read $(read_next 1000), then $(read_next 1000): lag $(lag)"
added 20
seen+="; 20 more, read $(read_next 1000): lag $(lag), pending $(pending)"
ask XAUTOCLAIM steps watcher rank1 0 0 COUNT 1000 >/dev/null
seen+=", after a claim $(pending)"
added 3
newest=$(ask XADD steps '*' step 1)
seen+="; 4 more: lag $(lag)"
ask XDEL steps "$newest" >/dev/null
seen+=", one of them deleted: lag '$(lag)'"
echo "$seen"
expected="read 10, lag 90; trimmed: lag 90; read 5, then 0: lag 85; 20 more, read 20: lag 85, pending 35, \
after a claim 25; 4 more: lag 89, one of them deleted: lag ''"
[ "$seen" = "$expected" ] || { echo "this has changed" >&2; exit 1; }
