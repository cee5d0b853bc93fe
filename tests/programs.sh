#!/usr/bin/env bash
# The example programs in small form, as a person runs them.   programs.sh FOLDER_OF_PROGRAMS
set -euo pipefail
bin=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { grep -qF -- "$1" <<<"$2" || fail "no '$1' in: $2"; }   # expect TEXT OUTPUT
refuse() { # refuse TEXT COMMAND..: the command must fail with that text
  local text=$1 output; shift
  output=$("$@" 2>&1 </dev/null) && fail "succeeded: $*"
  expect "$text" "$output"
}

for program in grouped_vs_standard train_digits resume char_gpt tutti-bench; do
  expect "--help" "$("$bin/$program" --help)"
done

# examples/run.sh says the options without the program.
help=$(bash "$(dirname "$0")/../examples/run.sh" --help)
for option in $("$bin/grouped_vs_standard" --help | grep -oE '^ +[a-z,-]*--[a-z-]+' | grep -oE -- '--[a-z-]+') \
  $("$bin/grouped_vs_standard" claims --help | grep -oE -- '^ +[a-z,-]*--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
  [ "$option" = --help ] || expect "$option" "$help"
done

# The main job: its table, its file, and the same accuracies with another number of threads.
small=(--seeds 2 --steps 6 --training-images 100 --test-images 250 --blocks 2)
[ -d /usr/share/datasets/fashion-mnist ] || { echo "skipped: grouped_vs_standard needs the Debian package dataset-fashion-mnist"; small=(); }
if [ ${#small[@]} -gt 0 ]; then
  one=$("$bin/grouped_vs_standard" "${small[@]}" --threads 1 --json "$folder/one.json")
  two=$("$bin/grouped_vs_standard" "${small[@]}" --threads 2)
  for row in "training speed (iter/s)" "validation accuracy (%)" "memory (MB)" "below protocol" "parameters" "cpu, "; do expect "$row" "$one"; done
  expect '"accuracy_difference"' "$(cat "$folder/one.json")"
  [ "$(grep 'accuracy by seed' <<<"$one")" = "$(grep 'accuracy by seed' <<<"$two")" ] || fail "the accuracies depend on the threads"
  # Ctrl-C goes to the whole group: to the process that measures the memory first of all, too.
  setsid "$bin/grouped_vs_standard" --seeds 1 >"$folder/interrupted" 2>&1 & program=$!
  until [ -s "$folder/interrupted" ]; do kill -0 $program; sleep 0.02; done
  kill -INT -- -$program
  status=0
  wait $program || status=$?
  [ $status -eq 130 ] || fail "interrupted at the start: exit status $status: $(cat "$folder/interrupted")"
  expect "Interrupted before the end of the first seed" "$(cat "$folder/interrupted")"
  # Ctrl-C once it has said what it runs on: however slow the machine, what was finished is printed.
  "$bin/grouped_vs_standard" --seeds 1 --blocks 2 --test-images 250 >"$folder/interrupted" & program=$!
  until [ -s "$folder/interrupted" ]; do kill -0 $program; sleep 0.1; done
  sleep 1
  kill -INT $program
  status=0
  wait $program || status=$?
  [ $status -eq 130 ] || fail "interrupted: exit status $status"
  expect "Interrupted" "$(cat "$folder/interrupted")"
fi
# The claims: all are listed, an exact one holds, and what does not exist is refused by name.
list=$("$bin/grouped_vs_standard" claims --list)
for number in $(seq 1 41); do expect "C$(printf %-3s $number)" "$list"; done
expect "holds: equal in all nine" "$("$bin/grouped_vs_standard" claims --only C8,7 --results "$folder/results")"
refuse "no such claim; they are C1 to C41" "$bin/grouped_vs_standard" claims --only C99 --results "$folder/results"
refuse "leave --only away" "$bin/grouped_vs_standard" claims --only C8 --report "$folder" --results "$folder/results"
refuse "no such folder" "$bin/grouped_vs_standard" --data "$folder/none"
refuse "must divide 28" "$bin/grouped_vs_standard" --patch 5
refuse "'0': expected a number above 0" "$bin/grouped_vs_standard" --seeds 0
refuse "'-2': expected a number above 0" "$bin/tutti-bench" op softmax 4 -2
refuse "not in {standard,grouped}" "$bin/grouped_vs_standard" memory --arm other
refuse "expected same_width, equal_ffn" "$bin/grouped_vs_standard" --match none

# The first program that people read: better than the nearest training image (.956), whatever the seed.
for seed in 0 1; do
  digits=$("$bin/train_digits" --seed $seed --save "$folder/digits.safetensors")
  accuracy=$(sed -n 's/^test accuracy //p' <<<"$digits")
  awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.965) }' || fail "train_digits, seed $seed: $digits"
done
[ -s "$folder/digits.safetensors" ] || fail "train_digits saved nothing"
refuse "train_digits: " "$bin/train_digits" --data "$folder/none.csv"
refuse "--epochs: 'x': expected a number above 0" "$bin/train_digits" --epochs x
refuse "--epochs: '0': expected a number above 0" "$bin/train_digits" --epochs 0
refuse "--seed: '-1': expected a whole number that is 0 or more" "$bin/train_digits" --seed -1
printf '1,2,3\n' >"$folder/short.csv"
refuse "expected over 360 lines of 64 pixels and a digit, not [1, 3]" "$bin/train_digits" --data "$folder/short.csv"
# What could not be written is said before the work, not after it.
refuse "cannot create a file in $folder/none/: No such file or directory" "$bin/train_digits" --save "$folder/none/digits.safetensors"
refuse "is a directory, not a regular file; nothing is written" "$bin/train_digits" --save "$folder"
refuse "is a character device, not a regular file; nothing is written" "$bin/train_digits" --save /dev/null
refuse "cannot create a file in $folder/none/: No such file or directory" "$bin/grouped_vs_standard" --json "$folder/none/table.json"

# A text without choices is learned by heart, and gone on from any of its places.
for i in $(seq 40); do printf 'one two three four five. '; done >"$folder/text"
text=$("$bin/char_gpt" "$folder/text" --steps 40 --length 40 --temperature 0 --prompt "two thr")
expect "--- after 40 steps" "$text"
[ "$(tail -n 1 <<<"$text")" = "two three four five. one two three four five. o" ] || fail "char_gpt: $text"
short=("$bin/char_gpt" "$folder/text" --steps 1 --length 30)
[ "$("${short[@]}" --threads 1 --seed 5 | tail -n 1)" = "$("${short[@]}" --seed 5 | tail -n 1)" ] || fail "char_gpt: a seed gives two texts"
[ "$("${short[@]}" --seed 6 | tail -n 1)" != "$("${short[@]}" --seed 5 | tail -n 1)" ] || fail "char_gpt: two seeds give one text"
refuse "--prompt: not all of it is in the text" "$bin/char_gpt" "$folder/text" --prompt "Two"
refuse "short.csv: only 6 characters; over 64 are needed" "$bin/char_gpt" "$folder/short.csv"
refuse "text is required" "$bin/char_gpt"
refuse "--steps: '0': expected a number above 0" "$bin/char_gpt" "$folder/text" --steps 0
refuse "--top-p: Value 2 not in range" "$bin/char_gpt" "$folder/text" --top-p 2
# Killed twice, it goes on to the same bits as a run that was never stopped.
resume=("$bin/resume" --steps 3000 --every 20)
expect "from step 0" "$("${resume[@]}" --folder "$folder/straight" --save "$folder/straight.safetensors")"
for least in 1 1200; do  # once a checkpoint of so many steps is there
  "${resume[@]}" --folder "$folder/killed" >/dev/null & program=$!
  until ls "$folder/killed" 2>/dev/null | sed -n 's/^step-\([0-9]*\)\.safetensors$/\1/p' | awk -v n=$least '$1 >= n { f = 1 } END { exit !f }'; do
    kill -0 $program 2>/dev/null || break
    sleep 0.01
  done
  kill -KILL $program 2>/dev/null || true
  wait $program 2>/dev/null || true
done
expect "on from step" "$("${resume[@]}" --folder "$folder/killed" --save "$folder/killed.safetensors")"
cmp "$folder/straight.safetensors" "$folder/killed.safetensors" || fail "a run that was killed ends in other bits"
expect "on from step 3000" "$("${resume[@]}" --folder "$folder/killed")"
refuse "amid an epoch" "$bin/resume" --steps 3100 --seed 1 --folder "$folder/killed"
refuse "--every: '0': expected a number above 0" "$bin/resume" --every 0

for kind in standard looped grouped; do
  answer=$(printf 'run 2\nquit\n' | "$bin/tutti-bench" step --kind $kind --batch 2 --tokens 5 --dim 16 --layers 1)
  expect '"parameters":' "$answer"; expect '"seconds":' "$answer"; expect '"work_bytes":' "$answer"
done
expect '"seconds":' "$(echo 'run 1' | "$bin/tutti-bench" step --infer --batch 2 --tokens 5 --dim 16 --layers 1)"
while read -r operation; do
  expect '"seconds":' "$(echo 'run 1' | "$bin/tutti-bench" op $operation)"
done <<'OPERATIONS'
matmul 5 6 7
--backward batched_matmul 2 5 6 7
--backward linear 5 6 7
--backward grouped_linear 5 8 8 4
--backward softmax 5 7
softmax_dim0 5 7
--backward layer_norm 5 7
--backward gelu 5 7
gelu_tanh 5 7
relu 5 7
exp 5 7
tanh 5 7
--backward add 5 7
add_bias 5 7
add_column 5 7
mul 5 7
sum 5 7
sum_dim0 5 7
sum_dim1 5 7
--backward max_dim1 5 7
transpose 5 7
--backward dropout 5 7
--backward cross_entropy 5 7
--backward embedding 9 4 6
--backward attention 2 2 5 8
causal_attention 2 2 5 8
--transposed --backward softmax 5 7
adamw 3 10
OPERATIONS
# Every kernel, stored, and compared with itself: the table, the file, and files that are none.
quick=(kernels --quick --rounds 2 --only softmax,linear)
expect "softmax 12 12 --backward" "$("$bin/tutti-bench" "${quick[@]}" --commit abc --json "$folder/kernels.json")"
expect '"commit": "abc"' "$(cat "$folder/kernels.json")"
expect '"median_seconds"' "$(cat "$folder/kernels.json")"
both=$("$bin/tutti-bench" "${quick[@]}" --compare "$folder/kernels.json")
for text in "peak: " "copy " "of roof" "commit abc" "within noise"; do expect "$text" "$both"; done
expect "in one of the two alone" "$("$bin/tutti-bench" kernels --quick --rounds 1 --only gelu --compare "$folder/kernels.json")"
expect "layer_norm 4096 768 --backward" "$("$bin/tutti-bench" kernels --list)"
expect "softmax 149796 7" "$("$bin/tutti-bench" kernels --list --odd --only softmax)"
head -c 99 "$folder/kernels.json" >"$folder/cut-kernels.json"
refuse "cut-kernels.json: is not JSON" "$bin/tutti-bench" "${quick[@]}" --compare "$folder/cut-kernels.json"
refuse "none.json: cannot be read" "$bin/tutti-bench" "${quick[@]}" --compare "$folder/none.json"
refuse "cannot create a file in $folder/none/" "$bin/tutti-bench" "${quick[@]}" --json "$folder/none/kernels.json"
refuse "--only nothing: no operation" "$bin/tutti-bench" kernels --only nothing
refuse "'0': expected a number above 0" "$bin/tutti-bench" kernels --rounds 0
# The comparison with other frameworks: what is refused before anything is installed, and the driver, on tutti-bench alone.
here=$(dirname "$0")/../examples/bench
compare=(bash "$here/compare.sh" --bench "$bin/tutti-bench")
refuse "--rounds: '0': expected a number above 0" "${compare[@]}" --rounds 0
refuse "no option '--round'" "${compare[@]}" --round 3
refuse "--threads wants a value" "${compare[@]}" --threads
refuse "inside the sources, where git does not ignore it" "${compare[@]}" --venv "$here/venv"
refuse "holds other things" "${compare[@]}" --venv "$folder"
refuse "no such program" bash "$here/compare.sh" --bench "$folder/none"
for operation in $("$bin/tutti-bench" kernels --list | cut -d' ' -f1 | sort -u); do
  grep -qw -- "$operation" "$here/peers/torch_op.py" || fail "peers/torch_op.py has no $operation"
done
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  export PYTHONDONTWRITEBYTECODE=1
  op="$bin/tutti-bench op exp 4"
  expect "x1.000 [1.000, 1.000]" "$(python3 "$here/peers/pair.py" --rounds 1 "$op")"
  expect "tutti exp 4" "$(python3 "$here/peers/pair.py" --rounds 1 "$op" "$op" | tail -n 1)"
  refuse "ended without an answer" python3 "$here/peers/pair.py" "$op" "$bin/tutti-bench op nothing 4"
  for script in "$here"/peers/*_step.py "$here/peers/torch_op.py" "$here/peers/compare.py"; do
    python3 -c 'import sys; compile(open(sys.argv[1]).read(), *sys.argv[1:2], "exec")' "$script"
  done
fi
refuse "is unknown" "$bin/tutti-bench" op nothing 1
refuse "expected M N K" "$bin/tutti-bench" op matmul 1
refuse "expected standard, looped or grouped" "$bin/tutti-bench" step --kind other
refuse "expected cpu, cuda or cuda:<number>" "$bin/tutti-bench" step --device gpu
refuse "--device cuda:99: " "$bin/tutti-bench" step --device cuda:99
# On a CUDA device where there is one (the emulated one too), else a word on what is missing.
small=(--batch 2 --tokens 5 --dim 16 --layers 1)
if answer=$(echo 'run 1' | "$bin/tutti-bench" step --device cuda "${small[@]}" 2>&1); then
  expect '"environment":"cuda:0, Tutti' "$answer"
  expect '"seconds":' "$answer"
  expect "cuda:0, Tutti" "$("$bin/train_digits" --device cuda --epochs 1)"
else
  expect "--device cuda: device cuda:0: " "$answer"
fi
TUTTI_ISA=mmx refuse "TUTTI_ISA=mmx" "$bin/tutti-bench" op exp 4
echo "programs: all as expected"
