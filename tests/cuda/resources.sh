#!/usr/bin/env bash
# What nvcc makes of the kernels: registers, shared memory and spills of each, how wide its accesses to global memory are, and
# whether its PTX uses local memory.
#   resources.sh <nvcc> <include folder> [-a <architecture>] file.cu...
# Fails if a kernel spills, or if one of attention, normalization, softmax or the optimizer has local memory in its PTX.
set -euo pipefail
nvcc=$1 include=$2
shift 2
architecture=90
if [ "${1:-}" = -a ]; then architecture=$2; shift 2; fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# One compilation gives both: ptxas speaks of registers, and the PTX is kept. ("compute_.." names the file.)
compile() { # compile <file.cu>
  local folder
  folder=$scratch/$(basename "$1")
  mkdir -p "$folder"
  "$nvcc" -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -I"$include" -gencode "arch=compute_$architecture,code=sm_$architecture" \
    -Xptxas -v -cubin --keep --keep-dir "$folder" -o "$folder/out.cubin" "$1" 2>"$folder/log" || { cat "$folder/log" >&2; return 1; }
}

# kernel <tab> registers <tab> shared bytes <tab> spilled bytes
resources() {
  awk '/Compiling entry function/ { split($0, part, "'\''"); kernel = part[2] }
       /spill stores/ { match($0, /[0-9]+ bytes spill stores/); spill = substr($0, RSTART) + 0 }
       /: Used [0-9]+ registers/ {
         match($0, /Used [0-9]+/); registers = substr($0, RSTART + 5, RLENGTH - 5); shared = 0
         if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART) + 0
         print kernel "\t" registers "\t" shared "\t" spill
       }' "$1"
}

# kernel <tab> loads of 128 bits <tab> narrower <tab> stores of 128 bits <tab> narrower <tab> local accesses
accesses() {
  awk 'function wide(op,   lanes, bits) {
         lanes = match(op, /\.v[24]\./) ? substr(op, RSTART + 2, 1) : 1
         bits = match(op, /\.[bufs](8|16|32|64)$/) ? substr(op, RSTART + 2) : 0
         return lanes * bits >= 128
       }
       /^\.visible \.entry|^\.entry/ { match($0, /\.entry [A-Za-z0-9_]+/); kernel = substr($0, RSTART + 7, RLENGTH - 7)
                                       lw = ln = sw = sn = local = 0 }
       $1 ~ /^@/ { op = $2 } $1 !~ /^@/ { op = $1 }
       op ~ /^ld\.global/ { if (wide(op)) ++lw; else ++ln }
       op ~ /^st\.global/ { if (wide(op)) ++sw; else ++sn }
       op ~ /^cp\.async\.c[ag]\.shared\.global/ { if ($0 ~ /, 16/) ++lw; else ++ln }
       op ~ /^(ld|st)\.local/ { ++local }
       /^}/ && kernel != "" { print kernel "\t" lw "\t" ln "\t" sw "\t" sn "\t" local; kernel = "" }' "$1"
}

status=0
printf '%5s %7s %6s  %9s %9s %6s  %s\n' regs shared spill 'ld128/rest' 'st128/rest' local kernel
for file; do
  compile "$file"
  folder=$scratch/$(basename "$file")
  strict=0
  case $(basename "$file") in attention* | normalization* | softmax* | optimizer*) strict=1 ;; esac
  resources "$folder/log" | sort >"$folder/resources"
  accesses "$folder"/*.ptx | sort >"$folder/accesses"
  echo "$(basename "$file")"
  join -t $'\t' "$folder/resources" "$folder/accesses" | c++filt | sed 's/tutti::(anonymous namespace):://g' |
    awk -F '\t' -v strict=$strict '{
        sub(/\(.*/, "", $1); sub(/^void /, "", $1)
        printf "%5d %7d %6d  %4d/%-4d  %4d/%-4d %6d  %s\n", $2, $3, $4, $5, $6, $7, $8, $9, $1
        if ($4 > 0 || (strict && $9 > 0)) bad = 1
      } END { exit bad }' || { echo "resources.sh: a kernel of $(basename "$file") spills or has local memory" >&2; status=1; }
done
exit $status
