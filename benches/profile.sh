#!/usr/bin/env bash
# Counters on a device: benches/profile.sh [VXM [DEVICE [FOLDER]]]
# Runs algorithms with and without counters, each twice: the first run compiles kernels. Digests must be equal; seconds of the second runs are
# printed. The tables go to FOLDER, as text and JSON. Needs python3, to read JSON.
set -euo pipefail
vxm=${1:-target/release/vxm} device=${2:-cuda} folder=${3:-target/profile}
mkdir -p "$folder"

field() {
    python3 -c 'import json, sys; print(json.loads(sys.stdin.readline())[sys.argv[1]])' "$1"
}

printf '%-14s %-14s %10s %10s %6s\n' algorithm graph off on ratio
for graph in rmat:20:8 road:1024 grid:1024x1024 delaunay:18; do
    for algorithm in mis color components scc "bfs --source 0" "msf --weights 1..100"; do
        read -ra words <<<"$algorithm"
        name=$folder/${words[0]}-${graph//:/-}
        for run in first second; do
            off=$("$vxm" "${words[@]}" "$graph" --device "$device" --json)
            "$vxm" profile "${words[@]}" "$graph" --device "$device" --json >"$name.json"
        done
        "$vxm" profile "${words[@]}" "$graph" --device "$device" >"$name.txt"
        if [ "$(field digest <<<"$off")" != "$(field digest <"$name.json")" ]; then
            echo "$algorithm of $graph: counters change the answer" >&2
            exit 1
        fi
        python3 -c 'import sys; a, g, x, y = sys.argv[1:]; x, y = float(x), float(y); print(f"{a:14} {g:14} {x:10.6f} {y:10.6f} {y / x:6.2f}")' \
            "${words[0]}" "$graph" "$(field seconds <<<"$off")" "$(field seconds <"$name.json")"
    done
done
