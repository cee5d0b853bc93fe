#!/usr/bin/env bash
# Installs the library into a scratch folder and uses that copy alone, as other projects do: through CMake, with flags of
# their own, through pkg-config, with too old a standard, with the headers of another build; and on its CUDA device, if that is
# emulated.
#   package.sh <source> <build> <scratch> <compiler> <flags> [cmake options...]
set -euo pipefail
source=$1 build=$2 scratch=$3 compiler=$4 flags=$5
shift 5
unset TUTTI_DEVICE  # each program says where it runs
fail() { echo "FAILED: $*" >&2; exit 1; }
fail_with_errors() { cat "$scratch/errors" >&2; fail "$@"; }
rm -rf "$scratch"
installed=$scratch/installed
cmake --install "$build" --prefix "$installed" >/dev/null
# Away from the tree: nothing of it may be found by accident.
cp -r "$source/examples/custom_op" "$source/tests/structure/march_native" "$scratch"

# build <folder> <installed copy> <flags> [cmake options...]
build() {
  local folder=$1 copy=$2 flags=$3
  shift 3
  cmake -S "$scratch/$folder" -B "$scratch/build-$folder" -DCMAKE_PREFIX_PATH="$copy" "-DCMAKE_CXX_FLAGS=$flags" "$@" \
    >"$scratch/log" || { cat "$scratch/log" >&2; fail "configuring $folder"; }
  cmake --build "$scratch/build-$folder" --parallel 2
}
build custom_op "$installed" "$flags" "$@"
"$scratch/build-custom_op/custom_op" --steps 20
# On the device the operation's own kernel.cu runs. Its numbers are the CPU's; the initial loss shows it.
if [ -d "$installed/include/tutti/emulator" ]; then
  first_loss() { "$scratch/build-custom_op/custom_op" --steps 1 --device "$1" | sed -n 's/^step    0  //p'; }
  "$scratch/build-custom_op/custom_op" --steps 20 --device cuda || fail "custom_op on the emulated device"
  [ -n "$(first_loss cuda)" ] && [ "$(first_loss cuda)" = "$(first_loss cpu)" ] || fail "custom_op: another loss on the device"
fi

# A user's own flags do not change a kernel's: a broadcast operand has as many copies as the kernel reads.
build march_native "$installed" "$flags -march=native" "-DCUSTOM_OP=$scratch/custom_op" "$@"
isas=$(sed -nE 's/^struct ([a-z0-9]+) \{$/\1/p' "$installed/include/tutti/config.h")
[ -n "$isas" ] || fail "config.h names no instruction set"
for isa in $isas; do
  output=$(TUTTI_ISA=$isa "$scratch/build-march_native/march_native" 2>&1) ||
    [[ "$output" == *"this CPU supports only"* ]] || fail "-march=native, $isa: $output"
  echo "$output"
done
[ -z "$(TUTTI_ISA='' "$scratch/build-march_native/march_native" 2>&1 >/dev/null)" ] || fail "TUTTI_ISA= is not the same as unset"

compile() { # compile <flags> <file>
  $compiler $1 -I"$installed/include" -fsyntax-only "$2" 2>"$scratch/errors"
}
# Kernels compiled without tutti_add_kernels, with registers of another width than the target's, do not compile.
if [[ " "$isas" " == *[[:space:]]avx2[[:space:]]* ]]; then
  compile "-std=c++20 -DTUTTI_TARGET=avx2 -mavx2 -mfma" "$scratch/custom_op/kernel.cpp" || fail_with_errors "a kernel with its own flags"
  ! compile "-std=c++20 -DTUTTI_TARGET=sse2 -mavx2 -mfma" "$scratch/custom_op/kernel.cpp" || fail "an sse2 kernel compiled with AVX2"
  grep -q "flags of another instruction set" "$scratch/errors" || fail_with_errors "the message on a kernel's flags"
fi

# Before C++20: one error that says so, and its end.
for first in tutti/tutti.h tutti/backends/contract/kernel.h; do
  printf '#include <%s>\nusing namespace tutti;\nTensor x;\n' $first >"$scratch/old.cpp"
  ! compile -std=c++17 "$scratch/old.cpp" || fail "C++17 compiled"
  grep -q "Tutti needs C++20" "$scratch/errors" || fail_with_errors "no word of C++20"
  [ "$(grep -c 'error:' "$scratch/errors")" -le 2 ] || fail_with_errors "more errors than the one that counts"
done

# Headers of a build for other instruction sets than the library's: the indices into the list would not be the same.
cp -r "$installed" "$scratch/mixed"
sed -i -E 's/(CpuTargets = TargetList<target::[a-z0-9]+).*>/\1>/
           s/(std::array<const char\*, )[0-9]+(> isa_names\{"[a-z0-9]+").*\}/\11\2}/' "$scratch/mixed/include/tutti/config.h"
if cmp -s "$installed/include/tutti/config.h" "$scratch/mixed/include/tutti/config.h"; then
  [ "$(wc -w <<<"$isas")" = 1 ] || fail "the list of instruction sets was not found in config.h"
else
  rm -rf "$scratch/build-custom_op"
  ! build custom_op "$scratch/mixed" "$flags" "$@" >"$scratch/errors" 2>&1 || fail "linked with headers of another build"
  grep -q 'tutti::isa::level(tutti::config::TargetList<' "$scratch/errors" || fail_with_errors "the link error does not name the list"
fi

[ -n "$(find "$installed" -name LICENSE)" ] || fail "no LICENSE is installed"
pc=$(find "$installed" -name tutti.pc)
[ -n "$pc" ] || fail "no tutti.pc is installed"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=${pc%/*}
  cat >"$scratch/program.cpp" <<'CPP'
#include <tutti/tutti.h>
int main() { return tutti::sum(tutti::matmul(tutti::ones({2, 3}), tutti::ones({3, 2}))).item() == 12 ? 0 : 1; }
CPP
  $compiler $flags -std=c++20 $(pkg-config --cflags tutti) "$scratch/program.cpp" $(pkg-config --libs tutti) -o "$scratch/program"
  LD_LIBRARY_PATH=$(pkg-config --variable=libdir tutti) "$scratch/program" || fail "the program built through pkg-config"
fi
