#!/usr/bin/env bash
# What only a machine with a GPU can show: the suite on the device, compute-sanitizer on small cases, training steps beside
# PyTorch's where that is installed, and each kernel's GB/s or TFLOP/s beside the device's peak. Eight minutes at most on a
# machine with 16 cores; the result is one JSON file and a table.
#   bash tests/cuda/device_check.sh [--built FOLDER] [--out FILE] [--small]
#   --built  a build folder made with -DTUTTI_CUDA=ON -DTUTTI_BUILD_TESTS=ON (else one is made: build-cuda)
#   --small  tiny sizes: to try this script itself, also with an emulated build
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
built= out=device_check.json small=
while [ $# -gt 0 ]; do
  case $1 in
    --built) built=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --small) small=1; shift ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "device_check.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
began=$SECONDS
failed=0
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
json() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\n'; } # the inside of a string

# --- build: three minutes at most
if [ -z "$built" ]; then
  built=build-cuda
  say "building in $built"
  generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  if ! { cmake -S . -B $built "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DTUTTI_CUDA=ON -DTUTTI_BUILD_TESTS=ON -DTUTTI_BUILD_EXAMPLES=ON &&
    timeout 240 cmake --build $built --parallel "$(nproc)"; } >"$scratch/build" 2>&1; then
    tail -20 "$scratch/build" >&2
    say "the build failed"
    exit 1
  fi
fi
build_seconds=$((SECONDS - began))
bench=$built/bin/tutti-bench
[ -x "$bench" ] || { echo "device_check.sh: no $bench: build the examples, too" >&2; exit 2; }
where=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
where=${where:-no nvidia-smi}
# GB/s and TFLOP/s (float32 without tensor cores), from the data sheets.
case $where in
  *H200*) peak_bytes=4800 peak_flops=66.9 ;;
  *H100*) peak_bytes=3350 peak_flops=66.9 ;;
  *A100*) peak_bytes=2039 peak_flops=19.5 ;;
  *) peak_bytes=0 peak_flops=0 ;;
esac
if ! answer=$(echo quit | "$bench" op --device cuda add 4 4 2>&1); then
  say "no device: $answer"
  exit 1
fi
say "device: $where"

# --- the suite
suite=() passed=0
for program in core autograd ops nn attention optim data; do
  [ -z "$small" ] || [ $program = optim ] || continue
  (
    TUTTI_DEVICE=cuda timeout 150 "$built/bin/test_$program" >"$scratch/test_$program" 2>&1
    echo $? >"$scratch/rc_$program"
  ) &
  suite+=("$program")
done
wait
results=
for program in "${suite[@]}"; do
  rc=$(<"$scratch/rc_$program")
  line=$(grep -E '^(All tests passed|test cases:)' "$scratch/test_$program" | tail -1)
  [ "$rc" = 0 ] && passed=$((passed + 1)) || { failed=1; grep -E -A12 '^[^ ].*FAILED:' "$scratch/test_$program" | head -60; }
  say "test_$program: rc $rc, ${line:-no summary}"
  results+="${results:+, }\"$program\": {\"rc\": $rc, \"summary\": \"$(json "$line")\"}"
done

# --- compute-sanitizer
sanitizer=skipped
if command -v compute-sanitizer >/dev/null; then
  sanitizer=clean
  for tool in memcheck racecheck; do
    TUTTI_DEVICE=cuda timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 "$built/bin/test_optim" 'optim: *' >"$scratch/$tool" 2>&1
    rc=$?
    [ $rc = 0 ] || { sanitizer="$tool: rc $rc"; [ $rc = 124 ] || { failed=1; tail -20 "$scratch/$tool"; }; }
  done
fi
say "compute-sanitizer: $sanitizer"

# seconds <command>: of one run, the median of three blocks after a warm one. The count is chosen so that a block takes about
# $block seconds.
block=0.4
seconds() {
  coproc contender { "$@" 2>"$scratch/error"; }
  local in=${contender[1]} from=${contender[0]} line count=1 all=() t=0
  run() { echo "run $1" >&"$in" 2>/dev/null && while read -r -t 60 line <&"$from"; do
    case $line in '{"seconds"'*) t=$(sed -E 's/.*: *([0-9.e+-]+)\}.*/\1/' <<<"$line"); return 0 ;; esac
  done; return 1; }
  run 1 && run 1 || { echo nan; return 1; }
  count=$(awk -v t="$t" -v b=$block 'BEGIN { n = t > 0 ? b / t : 1; print n < 1 ? 1 : n > 5000 ? 5000 : int(n) }')
  for _ in 1 2 3; do run "$count" && all+=("$t"); done
  echo quit >&"$in" 2>/dev/null
  printf '%s\n' "${all[@]}" | sort -g | sed -n 2p | awk -v n="$count" '{ printf "%.4g\n", $1 / n }'
}

# --- training steps, ours and PyTorch's in turns
python=
for p in python3 python; do "$p" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null && { python=$p; break; }; done
steps=
[ -z "$small" ] && works=("vit" "image --batch 16 --tokens 196 --inputs 48 --dim 256 --heads 8"
  "long --batch 2 --tokens 2048 --dim 256 --heads 8 --layers 2" "wide --batch 8 --tokens 128 --inputs 64 --dim 512 --heads 8") ||
  works=("tiny --batch 2 --tokens 4 --inputs 4 --dim 16 --heads 2 --layers 1")
for work in "${works[@]}"; do
  read -ra word <<<"$work"
  ours=$(seconds "$bench" step --device cuda "${word[@]:1}")
  theirs=nan
  [ -z "$python" ] || theirs=$(seconds "$python" tests/cuda/torch_step.py "${word[@]:1}")
  say "step ${word[0]}: $ours s, PyTorch $theirs s"
  steps+="${steps:+, }\"${word[0]}\": {\"seconds\": \"$ours\", \"pytorch_seconds\": \"$theirs\"}"
done

# --- kernels: bytes that must move, or operations, by the sizes
kernels=
measure() { # measure <GB or TFLOP of one run, an awk expression> <unit> <peak> <op and sizes>
  local time rate
  time=$(seconds "$bench" op --device cuda "${@:4}")
  rate=$(awk -v w="$1" -v t="$time" 'BEGIN { print t + 0 > 0 ? w / t : "nan" }')
  printf '%9.4g %s  %5s %%  %s\n' "$rate" "$2" "$(awk -v r="$rate" -v p="$3" 'BEGIN { printf p > 0 ? "%.0f" : "?", p > 0 ? 100 * r / p : 0 }')" "${*:4}"
  kernels+="${kernels:+, }{\"op\": \"${*:4}\", \"seconds\": \"$time\", \"rate\": \"$rate\", \"unit\": \"$2\", \"peak\": $3}"
}
bytes() { awk "BEGIN { print $1 / 1e9 }"; }
flops() { awk "BEGIN { print $1 / 1e12 }"; }
block=0.2
if [ -n "$small" ]; then
  measure "$(bytes '3*4*8*8')" GB/s $peak_bytes add 8 8
else
  n=16777216
  for op in add mul; do measure "$(bytes "3*4*$n")" GB/s $peak_bytes $op 4096 4096; done
  for op in gelu tanh dropout transpose softmax layer_norm; do measure "$(bytes "2*4*$n")" GB/s $peak_bytes $op 4096 4096; done
  for op in sum sum_dim0 sum_dim1 max_dim1 cross_entropy; do measure "$(bytes "4*$n")" GB/s $peak_bytes $op 4096 4096; done
  measure "$(bytes "4*4*$n")" GB/s $peak_bytes --backward gelu 4096 4096
  measure "$(bytes "5*4*$n")" GB/s $peak_bytes --backward layer_norm 4096 4096
  measure "$(flops '2*4096*4096*4096')" TFLOP/s $peak_flops matmul 4096 4096 4096
  measure "$(flops '2*3136*128*512')" TFLOP/s $peak_flops linear 3136 128 512
  measure "$(flops '4*8*16*2048*2048*64')" TFLOP/s $peak_flops attention 8 16 2048 64
  measure "$(flops '14*8*16*2048*2048*64')" TFLOP/s $peak_flops --backward attention 8 16 2048 64
fi

cat >"$out" <<JSON
{"device": "$(json "$where")", "commit": "$(git rev-parse --short HEAD 2>/dev/null)", "build_seconds": $build_seconds, "seconds": $((SECONDS - began)),
 "suite": {$results}, "compute_sanitizer": "$(json "$sanitizer")",
 "steps": {$steps},
 "kernels": [$kernels]}
JSON
say "$passed of ${#suite[@]} test programs pass; results in $out"
exit $failed
