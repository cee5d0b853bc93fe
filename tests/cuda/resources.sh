#!/usr/bin/env bash
# What nvcc makes of the kernels, for each architecture: registers, shared memory and spills, how wide the accesses to global
# memory are, and whether the PTX has local memory.   cmake --build build --target cuda_resources
#   resources.sh compile <nvcc> <arguments>... <object>   compiles, and keeps ptxas' words and the PTX beside the object
#   resources.sh report <object>...                       prints a table of them, and fails if
# - a kernel spills, or a function that it calls;
# - one of attention, norms, normalization, softmax or the optimizer has local memory in its PTX. (Others may: in unary and
#   unary_backward the slow path of sin and cos, for large numbers, has a table there.)
# - accesses of one of attention, normalization, softmax or the optimizer are narrower than accesses.txt says.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kept() { echo "${1%.o}.kept"; }

compile() {
  local folder
  folder=$(kept "${*: -1}")
  rm -rf "$folder"
  mkdir -p "$folder/scratch"
  "$@" -Xptxas -v --keep --keep-dir "$folder/scratch" 2>"$folder/log" || { grep -v '^ptxas info' "$folder/log" >&2; exit 1; }
  mv "$folder"/scratch/*.ptx "$folder"
  rm -r "$folder/scratch"
}

# From ptxas: "<kernel> <architecture>" <tab> registers <tab> shared bytes <tab> spilled bytes. Functions that are not inlined
# have spills and no registers.
resources() {
  awk -v OFS='\t' '
    /Compiling entry function/ { split($0, part, "'\''"); architecture = substr(part[4], 4); names[part[2] " " architecture] }
    /Function properties for/ { at = $NF " " architecture; names[at] }
    /spill stores/ { match($0, /[0-9]+ bytes spill stores/); spill[at] = substr($0, RSTART) + 0
                     match($0, /[0-9]+ bytes spill loads/); spill[at] += substr($0, RSTART) }
    /: Used [0-9]+ registers/ {
      match($0, /Used [0-9]+/); registers[at] = substr($0, RSTART + 5, RLENGTH - 5)
      if (match($0, /[0-9]+ bytes smem/)) shared[at] = substr($0, RSTART) + 0
    }
    END { for (at in names) print at, registers[at] + 0, shared[at] + 0, spill[at] + 0 }' "$1" | sort
}

# From PTX: "<kernel> <architecture>" <tab> loads of 128 bits <tab> narrower ones <tab> stores of 128 bits <tab> narrower ones <tab>
# narrower ones in a basic block with wide ones <tab> local accesses. Global are also accesses without a state space: through
# pointers that lie in memory themselves.
accesses() {
  awk -v OFS='\t' '
    function wide(   lanes) {
      lanes = match(op, /\.v[248]\./) ? substr(op, RSTART + 2, 1) : 1
      return lanes * (match(op, /\.[bufs][0-9]+$/) ? substr(op, RSTART + 2) : 0) >= 128
    }
    function is(wide_one) { if (wide_one) ++wide_here; else ++narrow_here; return wide_one }
    function block_ends() { if (wide_here) beside += narrow_here; wide_here = narrow_here = 0 }
    /^\.target sm_/ { match($0, /sm_[0-9]+/); architecture = substr($0, RSTART + 3, RLENGTH - 3) }
    /^(\.visible |\.weak )?\.(entry|func)/ { match($0, /[A-Za-z_$][A-Za-z0-9_$]*\(?$/); kernel = substr($0, RSTART, RLENGTH)
                                             sub(/\($/, "", kernel); lw = ln = sw = sn = beside = local = 0 }
    { op = $1 ~ /^@/ ? $2 : $1 }
    op ~ /:$|^(bra|brx|ret|bar|call)/ { block_ends() }
    op ~ /^ld\.(global|(volatile\.|relaxed\.)?(v[248]\.)?[bufs][0-9])/ { if (is(wide())) ++lw; else ++ln }
    op ~ /^st\.(global|(volatile\.|relaxed\.)?(v[248]\.)?[bufs][0-9])/ { if (is(wide())) ++sw; else ++sn }
    op ~ /^cp\.async\.c[ag]\.shared\.global/ { if (is($0 ~ /\], 16[,;]/)) ++lw; else ++ln }
    op ~ /^(ld|st)\.local/ { ++local }
    /^}/ && kernel != "" { block_ends(); print kernel " " architecture, lw, ln, sw, sn, beside, local; kernel = "" }' "$@" | sort
}

report() {
  local object folder file status=0
  printf '%-4s %4s %7s %6s  %9s  %9s %6s  %s\n' arch regs shared spill 'ld128/less' 'st128/less' local kernel
  for object; do
    folder=$(kept "$object")
    file=$(basename "$object")
    file=${file%%.*}
    echo "$file.cu"
    [ -s "$folder/log" ] || { echo "resources.sh: $file: nothing is kept of its compilation" >&2; status=1; continue; }
    join -t $'\t' <(resources "$folder/log") <(accesses "$folder"/*.ptx) | c++filt |
      sed 's/tutti::(anonymous namespace):://g; s/tutti:://g; s/(\([A-Z][A-Za-z]*\))\([0-9]\)/\1 \2/g; s/, /,/g' |
      awk -F '\t' -v file="$file" -v expectations="$here/accesses.txt" '
        function complain(what) { print "resources.sh: " file ": " name " (sm_" architecture ") " what >"/dev/stderr"; bad = 1 }
        BEGIN {
          while ((getline line <expectations) > 0) {
            if (line ~ /^#|^ *$/) continue
            split(line, part, / +/)
            if (file !~ "^(" part[1] ")$") continue
            pattern[++rows] = part[2]
            for (i = 0; i < 5; ++i) wanted[rows, i] = part[3 + i]
          }
        }
        {
          match($1, / [0-9]+$/); architecture = substr($1, RSTART + 1); name = substr($1, 1, RSTART - 1)
          sub(/\(.*/, "", name); sub(/^void /, "", name); gsub(/ /, "", name)
          printf "%-4s %4d %7d %6d  %5d/%-4d  %4d/%-4d %6d  %s\n", architecture, $2, $3, $4, $5, $6, $7, $8, $10, name
          if ($4 > 0) complain("spills " $4 " bytes")
          if (file ~ /^(attention|norm|softmax|optimizer)/ && $10 > 0) complain("has local memory")
          if (file !~ /^(attention|normalization|softmax|optimizer)/) next
          for (row = 1; row <= rows && name !~ "^(" pattern[row] ")$"; ++row) continue
          if (row > rows) { complain("has no line in accesses.txt"); next }
          used[row] = 1
          split("128-bit loads;narrower loads;128-bit stores;narrower stores;narrower accesses beside 128-bit ones", what, ";")
          for (i = 0; i < 5; ++i) {
            limit = wanted[row, i]
            if (limit == "-") continue
            least = i == 0 || i == 2
            if (least ? $(5 + i) < limit : $(5 + i) > limit)
              complain("has " $(5 + i) " " what[i + 1] ", " (least ? "at least " : "at most ") limit " expected")
          }
        }
        END {
          if (NR == 0) { print "resources.sh: " file ": no kernel" >"/dev/stderr"; bad = 1 }
          for (row = 1; row <= rows; ++row)
            if (!(row in used)) { print "resources.sh: " file ": no kernel is " pattern[row] ", which accesses.txt has" >"/dev/stderr"; bad = 1 }
          exit bad
        }' || status=1
  done
  [ $status = 0 ] || echo "resources.sh: see above" >&2
  return $status
}

case ${1:-} in
  compile | report) "$@"; exit ;;
  *) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
