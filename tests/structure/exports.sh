#!/usr/bin/env bash
# What the shared library exports: names of tutti, but no kernel, and the weak symbols of the standard library that every
# C++ library has.
#   exports.sh <libtutti.so>
set -euo pipefail
exported=$(nm -DC --defined-only "$1")
[ -n "$exported" ] || { echo "$1 exports nothing" >&2; exit 1; }
if wrong=$(grep -vE '^[0-9a-f]+ ([A-Za-z] ((vtable|typeinfo|typeinfo name|guard variable) for )?.*\btutti::|[VWu] .*\b(std|__gnu_cxx)::)' <<<"$exported"); then
  echo "exported, although no part of the library:" >&2
  echo "$wrong" >&2
  exit 1
fi
if wrong=$(grep -E '::run<tutti::target::|\bxsimd|\(anonymous namespace\)' <<<"$exported"); then
  echo "exported, although internal:" >&2
  echo "$wrong" >&2
  exit 1
fi
