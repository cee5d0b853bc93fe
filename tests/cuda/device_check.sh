#!/usr/bin/env bash
# What only a machine with a GPU can show: the suite on the device, compute-sanitizer on small cases, training steps beside
# PyTorch's where that is installed, and each kernel's GB/s or TFLOP/s beside the device's peak. Eight minutes at most on a
# machine with 16 cores; the result is one JSON file and a table.
# What the machine lacks (nvidia-smi, compute-sanitizer, PyTorch) is said to be skipped; ends with 1 if something failed.
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
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "device_check.sh: unknown option $1" >&2; exit 2 ;;
  esac
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
began=$SECONDS
failed=0
programs=(core autograd ops differential nn attention optim data)
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
json() { printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | tr -d '\n'; } # the inside of a string
number() { [[ $1 =~ ^[0-9.]+(e[+-]?[0-9]+)?$ ]] && printf '%s' "$1" || printf null; }

# --- build: three minutes at most
if [ -z "$built" ]; then
  built=build-cuda
  say "building in $built"
  generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  if ! { cmake -S . -B $built "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DTUTTI_CUDA=ON -DTUTTI_BUILD_TESTS=ON -DTUTTI_BUILD_EXAMPLES=ON &&
    timeout 240 cmake --build $built --parallel "$(nproc)" --target tutti-bench "${programs[@]/#/test_}"; } >"$scratch/build" 2>&1; then
    tail -20 "$scratch/build" >&2
    say "the build failed"
    exit 1
  fi
fi
build_seconds=$((SECONDS - began))
bench=$built/bin/tutti-bench
[ -x "$bench" ] || { echo "device_check.sh: no $bench: build the examples, too" >&2; exit 2; }
where=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
where=${where:-unknown: nvidia-smi skipped, it is not there}
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
for program in "${programs[@]}"; do
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
  case $rc in
    0) passed=$((passed + 1)) ;;
    124) line="stopped after 150 s" ;;
    *) line=${line:-$(tail -1 "$scratch/test_$program")} ;; # a crash, or no such program
  esac
  [ "$rc" = 0 ] || { failed=1; grep -E -A12 '^[^ ].*FAILED:' "$scratch/test_$program" | head -60; }
  say "test_$program: rc $rc, $line"
  results+="${results:+, }\"$program\": {\"rc\": $rc, \"summary\": \"$(json "$line")\"}"
done

# --- compute-sanitizer
sanitizer="skipped: it is not there"
if command -v compute-sanitizer >/dev/null; then
  sanitizer=clean
  for tool in memcheck racecheck; do
    TUTTI_DEVICE=cuda timeout 60 compute-sanitizer --tool $tool --error-exitcode 9 "$built/bin/test_optim" 'optim: *' >"$scratch/$tool" 2>&1
    rc=$?
    [ $rc = 0 ] || { sanitizer="$tool: rc $rc"; [ $rc = 124 ] || { failed=1; tail -20 "$scratch/$tool"; }; }
  done
fi
say "compute-sanitizer: $sanitizer"

# seconds <command>: of one run, the median of three blocks after two warm ones, or "nan". The count is chosen so that a block
# takes about $block seconds.
block=0.4
seconds() {
  trap '' PIPE # a contender that died is found when it does not answer
  coproc contender { exec "$@" 2>"$scratch/error"; }
  local in=${contender[1]} from=${contender[0]} line count all=() t
  run() {
    echo "run $1" >&"$in" || return 1
    while read -r -t 60 line <&"$from"; do
      case $line in '{"seconds"'*) t=$(sed -E 's/.*: *([0-9.e+-]+)\}.*/\1/' <<<"$line"); return 0 ;; esac
    done
    return 1
  }
  {
    run 1 && run 1 &&
      count=$(awk -v t="$t" -v b=$block 'BEGIN { n = t > 0 ? int(b / t) : 1; print (n < 1 ? 1 : n > 5000 ? 5000 : n) }') &&
      for _ in 1 2 3; do run "$count" && all+=("$t"); done
    echo quit >&"$in"
  } 2>/dev/null
  [ ${#all[@]} = 3 ] || { echo nan; return; }
  printf '%s\n' "${all[@]}" | sort -g | sed -n 2p | awk -v n="$count" '{ printf "%.4g\n", $1 / n }'
}
# For what ours answered: "nan" is a failure.
complain_of_nan() { # complain_of_nan <seconds> <what>
  [ "$1" = nan ] || return 0
  failed=1
  say "$2: no answer. $(tail -1 "$scratch/error")"
}

# --- training steps, ours and PyTorch's in turns
python=
for p in python3 python; do "$p" -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null && { python=$p; break; }; done
pytorch="PyTorch skipped: it is not there, or sees no GPU"
steps=
[ -z "$small" ] && works=("vit" "image --batch 16 --tokens 196 --inputs 48 --dim 256 --heads 8"
  "long --batch 2 --tokens 2048 --dim 256 --heads 8 --layers 2" "wide --batch 8 --tokens 128 --inputs 64 --dim 512 --heads 8") ||
  works=("tiny --batch 2 --tokens 4 --inputs 4 --dim 16 --heads 2 --layers 1")
for work in "${works[@]}"; do
  read -ra word <<<"$work"
  ours=$(seconds "$bench" step --device cuda "${word[@]:1}")
  complain_of_nan "$ours" "step $work"
  theirs=skipped
  if [ -n "$python" ]; then
    theirs=$(seconds "$python" tests/cuda/torch_step.py "${word[@]:1}")
    pytorch="PyTorch $theirs s"
  fi
  say "step ${word[0]}: $ours s, $pytorch"
  steps+="${steps:+, }\"${word[0]}\": {\"seconds\": $(number "$ours"), \"pytorch_seconds\": $(number "$theirs")}"
done

# --- kernels: bytes that must move, or operations, by the sizes
kernels=
measure() { # measure <GB or TFLOP of one run> <unit> <peak> <op and sizes>
  local time rate share
  time=$(seconds "$bench" op --device cuda "${@:4}")
  complain_of_nan "$time" "${*:4}"
  read -r rate share < <(awk -v w="$1" -v t="$time" -v p="$3" 'BEGIN {
    if (t == "nan" || t <= 0) print "nan", "?"
    else printf "%.4g %s\n", w / t, (p > 0 ? int(100 * w / t / p + 0.5) : "?") }')
  printf '%9s %-8s %4s %%  %s\n' "$rate" "$2" "$share" "${*:4}"
  kernels+="${kernels:+, }{\"op\": \"${*:4}\", \"seconds\": $(number "$time"), \"rate\": $(number "$rate"), \"unit\": \"$2\", \"peak\": $3}"
}
bytes() { awk "BEGIN { print $1 / 1e9 }"; }
flops() { awk "BEGIN { print $1 / 1e12 }"; }
block=0.2
say "kernels, and per cent of the device's peak"
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
