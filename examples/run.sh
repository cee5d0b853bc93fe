#!/usr/bin/env bash
# The main job on a fresh Debian machine: installs what is missing, builds, trains the standard and the grouped classifier
# on Fashion-MNIST and prints the article's table.
#   bash examples/run.sh [--build-only] [options of grouped_vs_standard]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian.sh

build_only=
if [ "${1:-}" = --build-only ]; then
  build_only=yes
  shift
fi
install_missing "${tutti_packages[@]}" "${example_packages[@]}" dataset-fashion-mnist

# Ninja for a new folder; a folder that exists keeps its generator.
[ -f build/CMakeCache.txt ] && generator=() || generator=(-G Ninja)
cmake --preset release "${generator[@]}" -DTUTTI_BUILD_EXAMPLES=ON
cmake --build --preset release --parallel --target grouped_vs_standard train_digits tutti-bench custom_op
[ -z "$build_only" ] || exit 0
exec build/bin/grouped_vs_standard "$@"
