#!/usr/bin/env bash
# README.md says what is so: its C++ programs compile, run and print what stands behind them, its operation is the one in
# examples/custom_op, and what any README links to is there.
#   readme.sh <source> <libtutti> <include> <scratch> <compiler> [flags...] -- [libraries...]
set -euo pipefail
source=$1 library=$2 include=$3 scratch=$4
shift 4
unset TUTTI_DEVICE  # the CPU: a device that is emulated takes minutes
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
fail() { echo "README: $*" >&2; exit 1; }

# block HEADING N: the Nth fenced block under "## HEADING".
block() {
  awk -v heading="## $1" -v wanted="$2" '
    /^```/ { inside = !inside; if (inside && here && ++n == wanted) { show = 1; next } if (!inside) show = 0; next }
    !inside && /^## / { here = ($0 == heading) }
    show' "$source/README.md"
}
compiler=()
while [ "$1" != -- ]; do compiler+=("$1"); shift; done
shift
libraries=("$@")
build() { # build NAME: NAME.cpp against the library
  "${compiler[@]}" -std=c++20 -I "$include" "$1.cpp" -o "$1" "$library" -Wl,-rpath,"$(dirname "$library")" \
    "${libraries[@]}" >log 2>&1 || { cat log >&2; fail "$1.cpp does not compile"; }
}

block "A model" 1 >model.cpp
grep -q "int main" model.cpp || fail "no program under 'A model'"
build model
./model >/dev/null || fail "the model does not run"
[ -s model.safetensors ] || fail "the model saved nothing"

block "When something is wrong" 1 >wrong.cpp
block "When something is wrong" 2 >expected
build wrong
./wrong >printed || fail "the program with the slip does not run"
diff expected printed || fail "the error is another"
grep -qF "\`$(cat expected)\`" "$source/README.md" || fail "the error in the introduction is another"

# Every line of the operation but the last, which is a test of it, stands in the example.
block "Add an operation" 1 | sed '/^gradcheck/d' | while IFS= read -r line; do
  grep -qF -- "$line" "$source/examples/custom_op/relu_squared.cpp" || fail "not in relu_squared.cpp: $line"
done

# Links between pages, and to files.
cd "$source"
find . -name README.md -not -path './build*' -o -name CONTRIBUTING.md -not -path './build*' | while IFS= read -r page; do
  folder=$(dirname "$page")
  awk '/^```/ { code = !code } !code' "$page" | { grep -oE '\]\([^)#]+' || true; } | sed 's/^](//' | { grep -v '^http' || true; } | while IFS= read -r link; do
    [ -e "$folder/$link" ] || fail "$page links to $link, which is not there"
  done || exit 1
done || exit 1
echo "README: as it says"
