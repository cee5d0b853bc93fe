#!/usr/bin/env bash
# The tests on a fresh Debian machine: installs what is missing, builds and runs them.
#   bash tests/run.sh [release|debug|asan|tsan]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian.sh

preset=${1:-release}
install_missing "${tutti_packages[@]}" "${example_packages[@]}" catch2 binutils dataset-fashion-mnist
[ "$preset" != tsan ] || install_missing clang libomp-dev

[ "$preset" = release ] && folder=build || folder=build-$preset
[ -f "$folder/CMakeCache.txt" ] && generator=() || generator=(-G Ninja)
cmake --preset "$preset" "${generator[@]}"
cmake --build --preset "$preset" --parallel
ctest --preset "$preset" --parallel "$(nproc)"
