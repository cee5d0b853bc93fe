#!/usr/bin/env bash
# Every public function of ops/*.h is in the table of random programs, or here with a reason.
#   coverage.sh <root of the project>
set -euo pipefail
cd "$1"
exceptions='
empty          its values are nobody'\''s business
rand           tests/ops/random_test.cpp counts and compares the numbers themselves
randn          the same
randint        the same
bernoulli      the same
randperm       the same
multinomial    tests/ops/multinomial_test.cpp
'
failed=0
for name in $(sed -nE 's/^(inline )?(Tensor|ValuesIndices|std::vector<Tensor>|void) ([a-z_0-9]+)\(.*/\3/p' ops/*.h | sort -u); do
  grep -q "^$name " <<<"$exceptions" && continue
  grep -qE "^ *\{\"$name\"," tests/differential/*.cpp || {
    echo "$name of ops/$(grep -lE "^(inline )?[A-Za-z:<>]+ $name\(" ops/*.h | head -1 | xargs basename) is in no table of tests/differential/" >&2
    failed=1
  }
done
exit $failed
