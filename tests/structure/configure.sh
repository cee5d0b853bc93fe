#!/usr/bin/env bash
# Configuring, as the run scripts and a developer do it. Builds nothing.
#   configure.sh <source> <scratch> [cmake options...]
set -euo pipefail
source=$1 scratch=$2
shift 2
options=("$@")
fail() { cat "$scratch/log" >&2; echo "FAILED: $*" >&2; exit 1; }
rm -rf "$scratch"
mkdir -p "$scratch"
configure() { cmake -S "$source" -B "$scratch/$1" "${options[@]}" "${@:2}" >"$scratch/log" 2>&1; }  # configure FOLDER [-D..]
flags_of() { grep -oE '"command": .*core/tensor\.cpp"' "$scratch/$1/compile_commands.json"; }
expect() { grep -q "$1" "$scratch/log" || fail "no '$1'"; }

no_catch=-DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON
quick=-DTUTTI_BUILD_EXAMPLES=OFF

# examples/run.sh needs no Catch2, whatever tests/run.sh left in the folder; tests/run.sh says what it lacks, whatever
# examples/run.sh left there.
configure a $quick $no_catch || fail "without Catch2"
expect "tests OFF"
! configure a $quick $no_catch -DTUTTI_BUILD_TESTS=ON || fail "tests without Catch2"
expect "apt-get install catch2"
configure a $quick $no_catch -DTUTTI_BUILD_TESTS=AUTO || fail "the examples after the tests, without Catch2"
configure a $quick -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=OFF -DTUTTI_BUILD_TESTS=ON || fail "the tests after the examples"
expect "tests ON"
configure a $quick -DTUTTI_BUILD_TESTS=AUTO || fail "the examples after the tests"
expect "tests ON"  # a developer's folder keeps them

# A Release build is -O2, unless its user says otherwise.
[[ "$(flags_of a)" == *" -O2 "* && "$(flags_of a)" != *" -O3 "* ]] || fail "the flags of a Release build: $(flags_of a)"
configure b $quick -DTUTTI_BUILD_TESTS=OFF "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG" || fail "-O3"
[[ "$(flags_of b)" == *" -O3 "* && "$(flags_of b)" != *" -O2 "* ]] || fail "a user's flags were not taken: $(flags_of b)"

# Instruction sets are known ones, lowest first.
if [ "$(uname -m)" = x86_64 ]; then
  configure b $quick "-DTUTTI_ISAS=avx2;sse2" || fail "two instruction sets"
  grep -q 'isa_names{"sse2", "avx2"}' "$scratch/b/include/tutti/config.h" || fail "the order of instruction sets"
fi
for wrong in avx3 "sse2;mmx" ""; do
  ! configure b $quick "-DTUTTI_ISAS=$wrong" || fail "TUTTI_ISAS=$wrong was taken"
  expect "TUTTI_ISAS"
done
