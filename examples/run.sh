#!/usr/bin/env bash
# The main job on a fresh Debian machine: installs what is missing, builds, trains the standard and the grouped classifier
# on Fashion-MNIST and prints the article's table.
#   bash examples/run.sh [--build-only | --full] [options of grouped_vs_standard]
# --build-only stops after building. --full tests every claim of the article instead (about two hours on two cores; what is
# done stays in build/claims-results, and a run that was stopped continues there) and writes the report to
# examples/grouped_vs_standard/: REPORT.md, REPORT.html and figures/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian.sh

what=headline
case "${1:-}" in
  --build-only) what=nothing; shift ;;
  --full) what=claims; shift ;;
esac
install_missing "${tutti_packages[@]}" "${example_packages[@]}" dataset-fashion-mnist

# Ninja for a new folder; a folder that exists keeps its generator.
[ -f build/CMakeCache.txt ] && generator=() || generator=(-G Ninja)
cmake --preset release "${generator[@]}" -DTUTTI_BUILD_EXAMPLES=ON
cmake --build --preset release --parallel --target grouped_vs_standard train_digits tutti-bench custom_op
case $what in
  headline) exec build/bin/grouped_vs_standard "$@" ;;
  claims)
    commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
    exec build/bin/grouped_vs_standard claims --results build/claims-results --report examples/grouped_vs_standard \
      --commit "$commit" "$@" ;;
esac
