# tutti_add_kernels(target a.cpp b.cu ...): compiles each .cpp once per instruction set, with TUTTI_TARGET naming it, into
# `target`. Always -O2, in debug and sanitizer builds too: at -O0 hundreds of inline functions become shared symbols, of
# which the linker keeps one copy for all instruction sets. -ffp-contract=off: a*b+c is fused only where a kernel says
# fma(), so that the instruction sets mean the same thing.
function(tutti_add_kernels target)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  if(sources)
    foreach(isa IN LISTS TUTTI_ISAS)
      set(objects ${target}_${isa})
      add_library(${objects} OBJECT ${sources})
      target_compile_features(${objects} PRIVATE cxx_std_20)
      target_compile_definitions(${objects} PRIVATE TUTTI_TARGET=${isa})
      target_compile_options(${objects} PRIVATE ${TUTTI_FLAGS_${isa}} -O2 -ffp-contract=off -fno-math-errno)
      if(isa STREQUAL "avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${objects} PRIVATE -Wno-maybe-uninitialized -Wno-uninitialized)  # GCC PR105593: false alarms in its own headers
      endif()
      target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
      target_link_libraries(${objects} PRIVATE xsimd $<TARGET_NAME_IF_EXISTS:tutti_warnings>)
      if(NOT target STREQUAL "tutti")
        target_link_libraries(${objects} PRIVATE tutti::tutti)
      endif()
      set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
  endif()
endfunction()
