#!/usr/bin/env bash
# The main job on a fresh Debian machine: installs what is missing, builds, trains the standard and the grouped classifier
# on Fashion-MNIST and prints the article's table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian.sh

usage() {
  cat <<'HELP'
bash examples/run.sh [--build-only | --full] [options]

Installs what is missing (Debian), builds, trains a standard and a grouped classifier on Fashion-MNIST and prints the
article's table.
  --build-only       stop after building
  --full             test every claim of the article instead (about two hours on two cores); what is done stays in
                     build/claims-results, and a run that was stopped continues there; writes REPORT.md, REPORT.html and
                     figures/ to examples/grouped_vs_standard/

Options of the table, with defaults:
  --seeds 5          runs of each arm, from --first-seed 1 on
  --steps 1200       training steps of a run, of --batch 50 images
  --training-images 1000, --test-images 0 (all), --validation (test on training images set apart)
  --blocks 30        paired blocks of 20 steps that speed is measured on
  --patch 4, --dim 64, --heads 4, --groups 4, --layers 2, --lr 0.003, --plain (no random shifts and mirroring)
  --match equal_ffn  how parameters are made equal: equal_ffn, equal_inner, equal_depth, shrunk_baseline, same_width
  --data FOLDER      Fashion-MNIST's four files (/usr/share/datasets/fashion-mnist)
  --json FILE        write everything to this file too
  --threads 0        0: all that the process may use
  --device cpu       or cuda, cuda:N in a build with CUDA
Options of --full:
  --only C30,C31     only these claims, and no report
  --list, --plan     print the claims, or what is missing and how long it takes; run nothing
  --quick            about a third of the seeds
  --results FOLDER, --report FOLDER, --gpu FILE, --commit NAME, --workers 0, --threads 0, --device cpu
HELP
}

for argument; do
  case $argument in -h | --help) usage; exit 0 ;; esac
done
what=headline
case "${1:-}" in
  --build-only) what=nothing; shift ;;
  --full) what=claims; shift ;;
esac
install_missing "${tools[@]}" $(packages_of cmake examples) dataset-fashion-mnist

# The tests are nothing to this script: AUTO leaves them to a person who works in this folder, and needs nothing for them.
configure_and_build release build -DTUTTI_BUILD_EXAMPLES=ON -DTUTTI_BUILD_TESTS=AUTO \
  --target grouped_vs_standard train_digits resume char_gpt tutti-bench custom_op
case $what in
  headline) exec build/bin/grouped_vs_standard "$@" ;;
  claims)
    commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
    report=(--report examples/grouped_vs_standard)
    [[ " $* " != *" --only"* ]] || report=()
    exec build/bin/grouped_vs_standard claims --results build/claims-results "${report[@]}" --commit "$commit" "$@" ;;
esac
