#!/usr/bin/env bash
# As a part of another project (add_subdirectory, FetchContent) the library is quiet: no tests, examples, install rules,
# warnings as errors, flags or messages of its own. Only configures.
#   subproject.sh <source> <scratch> [cmake options...]
set -euo pipefail
source=$1 scratch=$2
shift 2
rm -rf "$scratch"
mkdir -p "$scratch"
cat >"$scratch/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
add_subdirectory($source tutti)
foreach(name tutti_tests custom_op train_digits resume char_gpt)
  if(TARGET \${name})
    message(FATAL_ERROR "the library made the target \${name}")
  endif()
endforeach()
foreach(property INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_DEFINITIONS INTERFACE_LINK_OPTIONS)
  get_target_property(value tutti::tutti \${property})
  if(value)
    message(FATAL_ERROR "the library exports \${property} \${value}")
  endif()
endforeach()
get_target_property(warnings tutti_warnings INTERFACE_COMPILE_OPTIONS)
if("\${warnings}" MATCHES "BOOL:ON|BOOL:TRUE|BOOL:1")
  message(FATAL_ERROR "warnings are errors: \${warnings}")
endif()
file(WRITE \${CMAKE_BINARY_DIR}/main.cpp "int main() {}")
add_executable(user \${CMAKE_BINARY_DIR}/main.cpp)
target_link_libraries(user PRIVATE tutti::tutti)
CMAKE
cmake -S "$scratch" -B "$scratch/build" "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
if grep -vE '^-- (The CXX compiler identification|Detecting CXX|Check for working CXX|Configuring done|Generating done|Build files)' \
  "$scratch/log"; then
  echo "configuring is not quiet" >&2
  exit 1
fi

# A project that chose no build type does not get slow arithmetic for that; its own choice stands.
for type in "" Debug; do
  cmake -S "$scratch" -B "$scratch/untyped" "$@" "-DCMAKE_BUILD_TYPE=$type" -DCMAKE_CXX_FLAGS= -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
  command=$(grep -oE '"command": .*/core/tensor\.cpp"' "$scratch/untyped/compile_commands.json")
  [[ "$command" == *" -O2 "* ]] && optimised=yes || optimised=no
  [ $optimised = "$([ "$type" ] && echo no || echo yes)" ] || { echo "build type '$type': $command" >&2; exit 1; }
done

# A missing dependency is reported with the name of its Debian package.
for missing in dnnl:libdnnl-dev xsimd:libxsimd-dev ZLIB:zlib1g-dev; do
  if cmake -S "$scratch" -B "$scratch/missing" "$@" "-DCMAKE_DISABLE_FIND_PACKAGE_${missing%:*}=ON" >"$scratch/log" 2>&1 ||
    ! tr -s ' \n' ' ' <"$scratch/log" |
    grep "Tutti needs ${missing%:*}, which was not found. On Debian: apt-get install ${missing#*:}" >/dev/null; then
    cat "$scratch/log" >&2
    echo "without ${missing%:*} there is no word of the Debian package ${missing#*:}" >&2
    exit 1
  fi
  rm -rf "$scratch/missing"
done
