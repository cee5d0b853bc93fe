# tutti_add_kernels(target a.cpp b.cu ...): compiles each .cpp once per instruction set of the library, with TUTTI_TARGET
# naming it, and each .cu for the CUDA backend if the library has it, into `target`. In this build, as a subproject and
# from the installed package.
#
# Always -O2, in debug and sanitizer builds too: at -O0 hundreds of inline functions become shared symbols, of which the
# linker keeps one copy for all instruction sets. -ffp-contract=off: a*b+c is fused only where a kernel says so, and the
# instruction sets mean the same thing. A kernel's flags are complete: they come after CMAKE_CXX_FLAGS and take back what
# that may say (-march=native, -mavx512f, -ffast-math), since registers of another width read what nobody wrote.
function(tutti_add_kernels target)
  set(x86 -march=x86-64 -mno-sse3)  # without SSE3 there is none of its successors
  set(flags_sse2 ${x86} -msse2)
  set(flags_avx2 ${x86} -mavx2 -mfma)
  set(flags_avx512 ${x86} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd -mavx2 -mfma)
  set(flags_neon64 -march=armv8-a)

  if(NOT target STREQUAL "tutti")
    get_target_property(cuda tutti::tutti TUTTI_CUDA)
    get_target_property(flavour tutti::tutti TUTTI_CUDA_FLAVOUR)
    if(cuda STREQUAL "ON")
      tutti_add_nvcc_cuda(${target} ${ARGN})
    elseif(cuda)
      tutti_add_emulated_cuda(${target} ${flavour} ${ARGN})
    endif()
  endif()
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  if(NOT sources)
    return()
  endif()
  if(NOT TARGET xsimd)
    find_package(xsimd QUIET)
    if(NOT xsimd_FOUND)
      message(FATAL_ERROR "tutti_add_kernels needs xsimd, which was not found. On Debian: apt-get install libxsimd-dev")
    endif()
  endif()
  get_target_property(isas tutti::tutti TUTTI_ISAS)
  foreach(isa IN LISTS isas)
    set(objects ${target}_${isa})
    add_library(${objects} OBJECT ${sources})
    target_compile_features(${objects} PRIVATE cxx_std_20)
    # xsimd's namespace gets the instruction set into its name: some of its inline functions do not have it (8.1's
    # range reduction for sin and cos), and would be shared.
    target_compile_definitions(${objects} PRIVATE TUTTI_TARGET=${isa} xsimd=xsimd_${isa})
    target_compile_options(${objects} PRIVATE ${flags_${isa}} -O2 -fno-fast-math -fno-finite-math-only
                           -ffp-contract=off -fno-math-errno)
    target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
    target_link_libraries(${objects} PRIVATE xsimd)
    if(NOT target STREQUAL "tutti")
      target_link_libraries(${objects} PRIVATE tutti::tutti)
    endif()
    if(PROJECT_NAME STREQUAL "tutti")
      target_link_libraries(${objects} PRIVATE tutti_warnings)
    endif()
    if(isa STREQUAL "avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC PR105593: false alarms in its own headers
      target_compile_options(${objects} PRIVATE -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
    # Checks of scope keep every xsimd batch out of the registers: six times the time to compile.
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=[a-z,]*address")
      target_compile_options(${objects} PRIVATE -fno-sanitize-address-use-after-scope)
    endif()
    set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                          POSITION_INDEPENDENT_CODE ON)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()
