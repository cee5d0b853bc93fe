#!/usr/bin/env bash
# The tests on a fresh Debian machine: installs what is missing, builds and runs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/debian.sh

usage() {
  cat <<'HELP'
bash tests/run.sh [release|debug|asan|tsan|clang|shared|emulated[-sanitized|-recorded]] [options of ctest]

Installs what is missing (Debian), builds the tests and runs them.
  release  optimised, in build/ (the default)
  debug    in build-debug/, as each further one in a folder of its name
  asan     under the address and undefined-behaviour sanitizers
  tsan     under the thread sanitizer: the tests of threads, storage, autograd, loading and training
  clang    optimised, by Clang
  shared   optimised, the library a shared one
  emulated the library's tests with every tensor on a CUDA device that is emulated (tests/cuda): no GPU is needed, but the
           headers of the CUDA toolkit are (CUDA_PATH). Also with the kernels under sanitizers (emulated-sanitized), or with
           each of their loads and stores recorded, which finds races (emulated-recorded)

Options of ctest: -L ops (one folder of tests/), -R softmax (tests by name), -N (list them).
HELP
}

for argument; do
  case $argument in -h | --help) usage; exit 0 ;; esac
done
preset=release
case "${1:-}" in "" | -*) ;; *) preset=$1; shift ;; esac
packages=("${tools[@]}" $(packages_of cmake examples tests) binutils pkgconf dataset-fashion-mnist)
options=(-DTUTTI_BUILD_TESTS=ON)
case $preset in
  release | debug | asan | shared | emulated | emulated-sanitized | emulated-recorded) ;;
  clang | tsan) packages+=(clang libomp-dev) ;;
  *) echo "tests/run.sh: no preset '$preset'" >&2; usage >&2; exit 2 ;;
esac
case $preset in
  tsan | emulated*) ;;  # their presets choose
  *) options+=(-DTUTTI_BUILD_EXAMPLES=ON "-DTUTTI_TESTS=*") ;;
esac
install_missing "${packages[@]}"

[ "$preset" = release ] && folder=build || folder=build-$preset
configure_and_build "$preset" "$folder" "${options[@]}"
ctest --preset "$preset" --parallel "$(nproc)" "$@"
