# CUDA sources for GPUs and for the emulator; in this build and from the installed package. A .cu file (rules:
# backends/cuda/compat.h) is compiled
#   tutti_add_nvcc_cuda(target a.cu ...)              by nvcc, for sm_80 and sm_90 and, as PTX, what comes after;
#   tutti_add_emulated_cuda(target flavour a.cu ...)  by the C++ compiler, against tests/cuda/emulator, which runs a fiber per
#                                                     CUDA thread. It needs the toolkit's headers and nothing else of it.
# Flavours: plain, sanitized (address and undefined behaviour), recorded (every load and store of a kernel).
#
# nvcc is called by custom commands: enable_language(CUDA) would want a working one where only the emulator is used, and would
# take .cu files from the C++ compiler.
find_path(TUTTI_CUDA_INCLUDE cuda_runtime_api.h PATHS /usr/local/cuda/include ENV CUDA_PATH PATH_SUFFIXES include
          DOC "The CUDA toolkit's headers")
find_program(TUTTI_NVCC nvcc PATHS /usr/local/cuda/bin ENV CUDA_PATH PATH_SUFFIXES bin DOC "The CUDA toolkit's compiler")
find_library(TUTTI_CUDART cudart_static PATHS /usr/local/cuda/lib64 ENV CUDA_PATH PATH_SUFFIXES lib64 lib/x64
             DOC "The CUDA toolkit's runtime")
mark_as_advanced(TUTTI_CUDA_INCLUDE TUTTI_NVCC TUTTI_CUDART)

set(TUTTI_NVCC_FLAGS -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -Werror all-warnings
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90])

function(tutti_flavour_flags out flavour)
  set(flags -O2)
  if(flavour STREQUAL "sanitized")
    set(flags -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  elseif(NOT flavour MATCHES "^(plain|recorded)$")
    message(FATAL_ERROR "CUDA emulator: there is no flavour '${flavour}' (plain, sanitized, recorded)")
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

function(tutti_cuda_sources out)
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "\\.cu$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(tutti_add_emulated_cuda target flavour)
  tutti_cuda_sources(sources ${ARGN})
  if(NOT sources)
    return()
  endif()
  set(emulator cuda_emulator_${flavour})
  if(NOT TARGET ${emulator})
    set(emulator tutti::${emulator})  # of an installed copy
  endif()
  tutti_flavour_flags(flags ${flavour})
  if(flavour STREQUAL "recorded")
    list(APPEND flags -fsanitize=thread)  # its hooks are the recorder's; nothing is linked with it
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # which has no hook for x[i] = f() if f is not inlined
      list(APPEND flags --param=max-inline-insns-auto=1000 --param=large-function-growth=10000 --param=inline-unit-growth=10000)
    endif()
  endif()
  set_source_files_properties(${sources} PROPERTIES LANGUAGE CXX)
  set(objects ${target}_cuda)
  add_library(${objects} OBJECT ${sources})
  target_compile_definitions(${objects} PRIVATE TUTTI_CUDA_EMULATED)
  # -ffp-contract=off is nvcc's --fmad=false.
  target_compile_options(${objects} PRIVATE ${flags} -g1 -ffp-contract=off -fno-math-errno -Wno-unknown-pragmas)
  target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_link_libraries(${objects} PRIVATE ${emulator} $<TARGET_NAME_IF_EXISTS:tutti_warnings>)
  set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(${target} PRIVATE ${emulator})
endfunction()

# The objects are compiled with the include directories of `target`, and become part of it unless it is an INTERFACE library;
# the target <target>_nvcc, which makes them, has their paths in its property TUTTI_OBJECTS.
function(tutti_add_nvcc_cuda target)
  tutti_cuda_sources(sources ${ARGN})
  set(include "$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>")
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    set(include "$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>")
  endif()
  set(objects "")
  foreach(source IN LISTS sources)
    string(MD5 id ${source})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}_nvcc/${name}.${id}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${TUTTI_NVCC} ${TUTTI_NVCC_FLAGS} -Xcompiler=-fPIC,-fvisibility=hidden
              "$<$<BOOL:${include}>:-I$<JOIN:${include},;-I>>" -MD -MT ${object} -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source}
      DEPFILE ${object}.d
      COMMENT "nvcc ${name}"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}_nvcc)
  add_custom_target(${target}_nvcc DEPENDS ${objects})
  set_target_properties(${target}_nvcc PROPERTIES TUTTI_OBJECTS "${objects}")
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    add_dependencies(${target} ${target}_nvcc)
    target_sources(${target} PRIVATE ${objects})
    target_link_libraries(${target} PRIVATE ${TUTTI_CUDART} ${CMAKE_DL_LIBS} rt)
  endif()
endfunction()
