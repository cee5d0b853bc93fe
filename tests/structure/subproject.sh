#!/usr/bin/env bash
# As a part of another project (add_subdirectory, FetchContent) the library is quiet: no tests, examples, install rules,
# warnings as errors, or flags of its own. Only configures.
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
foreach(name tutti_tests custom_op train_digits)
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
if grep -iE 'warning|tutti' "$scratch/log" | grep -v 'Build files have been written'; then
  echo "configuring is not quiet" >&2
  exit 1
fi
