#!/usr/bin/env bash
# Of an inline function that several object files define, the linker keeps one copy for all instruction sets, perhaps one
# that this CPU cannot run. So the objects of the kernels may define no weak or unique symbol but the kernels themselves.
#   shared_symbols.sh object...
set -euo pipefail
[ $# -gt 0 ] || { echo "no object files given" >&2; exit 1; }
shared=$(nm -A --defined-only "$@" | awk '$2 ~ /^[uVWvw]$/ || $3 ~ /^[uVWvw]$/ { print $NF }' | sort | uniq -c | sort -rn)
[ -z "$shared" ] && exit 0
echo "symbols that object files of several instruction sets may share (count, name):" >&2
echo "$shared" | c++filt >&2
exit 1
