#!/usr/bin/env bash
# What the sources must keep to: the direction of includes, file sizes, every kernel named by a test.
#   sources.sh <root of the project>
set -euo pipefail
cd "$1"
failed=0
complain() {
  echo "$*" >&2
  failed=1
}

# may <folder> <what it may include, as a regular expression of paths after tutti/>
may() {
  local file header
  while read -r file header; do
    [[ "$header" =~ ^($2)$ ]] || complain "$file includes tutti/$header, which it may not"
  done < <(grep -rE --include='*.h' --include='*.cpp' --include='*.cu' '^ *# *include [<"]tutti/' "$1" |
    sed -E 's|^([^:]+):.*[<"]tutti/([^>"]+)[>"].*|\1 \2|')
}
core='core/(detail/)?[a-z0-9_]+\.h|config\.h'
contract='backends/contract/[a-z0-9_]+\.h'
autograd='autograd/(detail/)?[a-z0-9_]+\.h'
ops='ops/(detail/)?[a-z0-9_]+\.h'
nn='nn/([a-z0-9_]+/)*[a-z0-9_]+\.h'
may core "$core"
may backends/contract "$core|$contract"
may backends/cpu "$core|$contract|backends/cpu/[a-z0-9_]+\.h"
may autograd "$core|$autograd"
may ops "$core|$contract|$autograd|$ops"
may nn "$core|$contract|$autograd|$ops|$nn"

# Headers in detail/ are not installed: none of the public ones may need them, nor a program.
while read -r line; do
  complain "a public header or a program includes what is not installed: $line"
done < <(grep -rnE --include='*.h' '^ *# *include .*/detail/' core autograd ops nn backends | grep -v '^[^:]*/detail/'
  grep -rnE --include='*.h' --include='*.cpp' '^ *# *include [<"]tutti/.*/detail/' examples)

# A file is one idea.
while read -r lines file; do
  [ "$lines" -le 400 ] || complain "$file has $lines lines (at most 400)"
done < <(find core backends autograd ops nn examples tests cmake -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cmake' -o -name '*.sh' -o -name CMakeLists.txt |
  xargs wc -l | grep -v ' total$')

# Every kernel has a test that names it.
for kernel in $(sed -nE 's/^struct ([a-z0-9_]+) : Kernel<.*/\1/p' backends/contract/*.h | sort -u); do
  grep -qrwE --include='*_test.cpp' "$kernel" tests || complain "no test names the kernel $kernel"
done

# Two types of one name in one namespace: the linker keeps one's destructor for both, and the program crashes somewhere else.
for folder in examples/common examples/grouped_vs_standard; do
  for name in $(find $folder -name '*.h' | xargs sed -nE 's/^(struct|class|enum class) ([A-Za-z_]+) .*\{$/\2/p' | sort | uniq -d); do
    complain "$folder defines $name in two headers"
  done
done

# In CMake a ; parts a list and a [ joins one: CTest would run tests of other names, that is none, and pass.
while read -r line; do
  complain "a test's name may not contain [ ] or ;: $line"
done < <(grep -rnE --include='*_test.cpp' 'TEST_CASE\("[^"]*[];[]' tests)
exit $failed
