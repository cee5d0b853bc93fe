#!/usr/bin/env bash
# The run scripts install all that CMake requires of what they configure, say so where they cannot install, and answer
# --help before they do anything.
#   scripts.sh <source> <scratch>
set -euo pipefail
source=$1 scratch=$2
fail() { echo "FAILED: $*" >&2; exit 1; }
rm -rf "$scratch"
mkdir -p "$scratch/bin"
for tool in bash cat dirname grep sed sort; do ln -s "$(command -v $tool)" "$scratch/bin/$tool"; done
export PATH=$scratch/bin  # neither apt-get nor cmake

# run <script> [argument..] into `output`
run() {
  local script=$1
  shift
  output=$(bash "$source/$script" "$@" 2>&1)
}
for script in examples/run.sh tests/run.sh examples/bench/compare.sh; do
  for help in --help -h "release --help" "--full --help"; do
    run $script $help || fail "$script $help: $output"
    [[ "$output" == *"bash $script ["* ]] || fail "$script $help says: $output"
  done
done

# installs <script> <folder>..: on a machine without apt-get it names every package that the folders' CMake files require.
installs() {
  local script=$1 names package
  shift
  ! run $script || fail "$script ended well without cmake"
  names=$(grep "needed are" <<<"$output") || fail "$script does not say what to install: $output"
  for package in g++ cmake $(grep -rhE --include=CMakeLists.txt --include='*.cmake' '^ *tutti_require\(' "$@" |
    sed -E 's/^ *tutti_require\([^ ]+ ([^ )]+).*/\1/'); do
    [[ "$names " == *" $package "* ]] || fail "$script does not install $package, which $* require"
  done
}
cd "$source"
# Some by name, so that a slip in reading those files does not pass on both sides.
for package in libdnnl-dev libxsimd-dev zlib1g-dev libcli11-dev dataset-fashion-mnist; do
  ! run examples/run.sh && [[ "$output " == *" $package"[[:space:]]* ]] || fail "examples/run.sh does not install $package"
done
! run tests/run.sh && [[ "$output " == *" catch2"[[:space:]]* ]] || fail "tests/run.sh does not install catch2"
installs examples/run.sh cmake examples
installs tests/run.sh cmake examples tests
installs examples/bench/compare.sh cmake examples
run examples/run.sh || [[ "$output" != *catch2* ]] || fail "examples/run.sh wants catch2"

# What is required is required in the one way that says a package's name; nowhere but where the scripts look.
while IFS=: read -r file line; do
  package=$(sed -E 's/.*find_package\(([^ )]+).*/\1/' <<<"$line")
  grep -rqE --include=CMakeLists.txt --include='*.cmake' "^ *tutti_require\($package " cmake examples tests ||
    fail "$file requires $package, and no tutti_require(..) names its Debian package"
done < <(grep -rE --include=CMakeLists.txt --include='*.cmake' '^ *find_package\(.*REQUIRED' cmake examples tests CMakeLists.txt |
  grep -vE 'find_package\(tutti ')
if grep -rlE --include=CMakeLists.txt '^ *tutti_require\(' CMakeLists.txt core autograd ops nn backends; then
  fail "tutti_require where the scripts do not look"
fi
