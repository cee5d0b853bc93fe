#!/usr/bin/env bash
# Of an inline function that several object files define, the linker keeps one copy for everyone, perhaps one that this
# CPU cannot run. So a kernel object may define no weak symbol unless its name says which instruction set it is for
# (tutti_add_kernels renames xsimd's namespace to that end).
#   shared_symbols.sh <instruction set> object...
set -euo pipefail
isa=$1
shift
[ $# -gt 0 ] || { echo "no object files given" >&2; exit 1; }
# DW.ref.*: a pointer to the exception handler, the same in every object.
shared=$(nm --defined-only "$@" | awk '$2 ~ /^[uVWvw]$/ && $3 !~ /^DW\.ref\./ { print $3 }' | sort -u | c++filt |
  grep -vE "\bxsimd_$isa\b|\btutti::target::$isa\b" || true)
[ -n "$shared" ] || exit 0
echo "symbols of $isa objects that the linker may give to everyone:" >&2
echo "$shared" >&2
exit 1
