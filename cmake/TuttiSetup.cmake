# The build type, warnings, and the dependencies. A missing one is reported with the name of its Debian package.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")  # -O3 doubles the size and gains nothing
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  find_program(TUTTI_CCACHE ccache)
  mark_as_advanced(TUTTI_CCACHE)
  if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${TUTTI_CCACHE})
  endif()
endif()
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

add_library(tutti_warnings INTERFACE)  # for our own targets only; never exported
target_compile_options(tutti_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<BOOL:${TUTTI_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  target_compile_options(tutti_warnings INTERFACE -Wno-maybe-uninitialized)  # false alarms with sanitizers, says its manual
endif()

macro(tutti_require package debian)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Tutti needs ${package}, which was not found. On Debian: apt-get install ${debian}")
  endif()
endmacro()
tutti_require(dnnl libdnnl-dev)
tutti_require(xsimd libxsimd-dev)
tutti_require(ZLIB zlib1g-dev)
tutti_require(Threads libc6-dev)
