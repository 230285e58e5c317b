#!/usr/bin/env bash
# Times algorithms on 1, 2, 4 and 8 GPUs of this host, in one dimension and in two, and checks that all have the digests of one GPU:
#
#     cargo build --release --bench ranks && benches/ranks.sh target/release/deps/ranks-HASH kron:20:16 grid:2048x2048
#
# Needs mpirun, and NCCL for more than one GPU. Prints the rows of the benchmark, then for each graph and algorithm the time on one GPU over
# the time on each grid. OPTIONS are passed on: OPTIONS='--only mis --runs 20'.
set -euo pipefail

stop() {
    printf 'ranks.sh: %s\n' "$*" >&2
    exit 2
}

[ $# -ge 2 ] || stop "expected the benchmark's program, and graphs"
program=$1
shift
[ -x "$program" ] || stop "$program: expected an executable file"
command -v mpirun >/dev/null || stop "no mpirun"
gpus=$(nvidia-smi -L 2>/dev/null | wc -l)
[ "$gpus" -gt 0 ] || stop "no GPU"
read -ra options <<<"${OPTIONS:-}"
launcher=(mpirun)
# Open MPI binds a rank to one core, where the host's part of the work needs several
export OMPI_MCA_hwloc_base_binding_policy=none
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
for count in 1 2 4 8; do
    [ "$count" -le "$gpus" ] || continue
    case $count in
    1) grids=(1x1) ;;
    2) grids=(2x1 1x2) ;;
    4) grids=(4x1 2x2) ;;
    8) grids=(8x1 4x2) ;;
    esac
    for grid in "${grids[@]}"; do
        "${launcher[@]}" -n "$count" "$program" --device cuda --grid "$grid" "${options[@]}" "$@" | tee -a "$rows"
    done
done

awk -F' *\\| *' '
    { key = $2 " " $3; split($4, place, " "); split($5, time, " ") }
    !(key in one) { one[key] = time[1]; digest[key] = $8; order[++keys] = key }
    $8 != digest[key] { print "DIGESTS DIFFER: " key " on " place[1]; wrong = 1 }
    { gains[key] = gains[key] sprintf("  %s %.2f", place[1], one[key] / time[1]) }
    END {
        print "\none GPU over each grid:"
        for (k = 1; k <= keys; k++) print order[k] ":" gains[order[k]]
        exit wrong
    }' "$rows"
