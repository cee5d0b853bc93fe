#!/usr/bin/env bash
# Installs the library into a scratch folder, builds examples/custom_op against that copy alone, and runs it.
#   package.sh <source> <build> <scratch> [cmake options...]
set -euo pipefail
source=$1 build=$2 scratch=$3
shift 3
rm -rf "$scratch"
cmake --install "$build" --prefix "$scratch/installed" >/dev/null
cp -r "$source/examples/custom_op" "$scratch/custom_op"  # away from the tree: nothing of it may be found by accident
cmake -S "$scratch/custom_op" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/installed" "$@" >/dev/null
cmake --build "$scratch/build" --parallel 2
"$scratch/build/custom_op" --steps 20
