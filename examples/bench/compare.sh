#!/usr/bin/env bash
# The comparison with PyTorch and ONNX Runtime on a fresh Debian machine: installs them into a virtual environment of their
# own, builds tutti-bench, and prints README.md's table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/debian.sh

usage() {
  cat <<'HELP'
bash examples/bench/compare.sh [options]

Times Tutti, PyTorch and ONNX Runtime by turns on the same work and prints a table in Markdown. Installs what is missing: on
Debian the packages that the build needs and python3-venv; the other frameworks into a virtual environment (about 1 GB).
  --rounds 12        interleaved blocks of each contender; what is printed are medians of their ratios
  --threads 2        of all of them
  --only NAME,..     only these lines: vit, vit grouped vs looped, vit grouped vs hand-batched, image, long, wide, tiny, far,
                     vit forward, sentence forward, short forward; with --ops, operations with one of these words
  --ops              single operations with PyTorch instead, on models' sizes and odd ones; the slower ones are listed
  --processor-time   count the seconds that the processors worked, all threads added, instead of the clock's: on a busy machine,
                     with --threads 1
  --venv FOLDER      the virtual environment, which is made where there is none (~/.cache/tutti/peers-venv); inside the
                     sources only where git ignores it
  --bench FILE       this tutti-bench, and build none
HELP
}
fail() { echo "compare.sh: $*" >&2; exit 2; }

venv=${XDG_CACHE_HOME:-${HOME:?}/.cache}/tutti/peers-venv bench= options=()
for argument; do
  case $argument in -h | --help) usage; exit 0 ;; esac
done
while [ $# -gt 0 ]; do
  case $1 in
    --ops | --processor-time) options+=("$1"); shift; continue ;;
    --rounds | --threads | --only | --venv | --bench) [ $# -ge 2 ] || fail "$1 wants a value (--help)" ;;
    *) fail "no option '$1' (--help)" ;;
  esac
  case $1 in
    --rounds | --threads) [[ "$2" =~ ^[1-9][0-9]{0,5}$ ]] || fail "$1: '$2': expected a number above 0" ;;&
    --rounds | --threads | --only) options+=("$1" "$2") ;;
    --venv) venv=$(realpath -m "$OLDPWD/$2"); [[ "$2" != /* ]] || venv=$(realpath -m "$2") ;;
    --bench) bench=$2; [[ "$2" == /* ]] || bench=$OLDPWD/$2; [ -x "$bench" ] || fail "--bench $2: no such program" ;;
  esac
  shift 2
done
[[ "$venv/" != "$(pwd -P)"/* ]] || git check-ignore -q "$venv" 2>/dev/null ||
  fail "--venv $venv: inside the sources, where git does not ignore it"
[ -e "$venv/bin/python" ] || [ -z "$(ls -A "$venv" 2>/dev/null)" ] || fail "--venv $venv: holds other things"

# What is said on the way goes to stderr: stdout is the table alone.
packages=()
[ -n "$bench" ] || packages+=("${tools[@]}" $(packages_of cmake examples))
[ -e "$venv/bin/python" ] || packages+=(python3-venv)
[ ${#packages[@]} -eq 0 ] || install_missing "${packages[@]}"
if [ -z "$bench" ]; then
  configure_and_build release build -DTUTTI_BUILD_EXAMPLES=ON -DTUTTI_BUILD_TESTS=AUTO --target tutti-bench >&2
  bench=build/bin/tutti-bench
fi

[ -e "$venv/bin/python" ] || python3 -m venv "$venv"
has() { "$venv/bin/python" -c 'import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))' "$@"; }
pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
if ! has torch numpy onnxruntime onnx onnxscript; then
  "$venv/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv "$venv"  # one whose making was interrupted
  echo "installing PyTorch and ONNX Runtime into $venv" >&2
  cpu=https://download.pytorch.org/whl/cpu  # without CUDA's libraries, which are several times as large
  has torch || pip --retries 1 --timeout 10 --index-url $cpu torch 2>/dev/null ||
    { echo "$cpu was not reached: PyPI's PyTorch, with CUDA's libraries (about 6 GB)" >&2; pip torch; }
  pip numpy onnxruntime onnx onnxscript
fi
exec "$venv/bin/python" examples/bench/peers/compare.py --bench "$bench" "${options[@]}"
