# CUDA sources for GPUs and for the emulator. A .cu file (rules: backends/cuda/compat.h) is compiled
#   tutti_add_nvcc_cuda(target a.cu ...)              by nvcc, for sm_80 and sm_90 and, as PTX, what comes after;
#   tutti_add_emulated_cuda(target flavour a.cu ...)  by the C++ compiler, against tests/cuda/emulator, which runs a fiber per
#                                                     CUDA thread. It needs the toolkit's headers and nothing else of it.
# Flavours: plain, sanitized (address and undefined behaviour), recorded (every load and store of a kernel).
#
# nvcc is called by custom commands: enable_language(CUDA) would want a working one where only the emulator is used, and would
# take .cu files from the C++ compiler.
set(TUTTI_CUDA OFF CACHE STRING "CUDA backend: OFF, ON (by nvcc) or EMULATED (on the CPU, for tests)")
set_property(CACHE TUTTI_CUDA PROPERTY STRINGS OFF ON EMULATED)
set(TUTTI_CUDA_FLAVOUR plain CACHE STRING "Of the emulated kernels: plain, sanitized or recorded")
mark_as_advanced(TUTTI_CUDA_FLAVOUR)
if(TUTTI_CUDA MATCHES "^(ON|1|YES|TRUE)$")  # from here on it is one of three words
  set(TUTTI_CUDA ON)
elseif(TUTTI_CUDA MATCHES "^(OFF|0|NO|FALSE|)$")
  set(TUTTI_CUDA OFF)
elseif(NOT TUTTI_CUDA STREQUAL "EMULATED")
  message(FATAL_ERROR "TUTTI_CUDA=${TUTTI_CUDA}: it is OFF, ON or EMULATED")
endif()

find_path(TUTTI_CUDA_INCLUDE cuda_runtime_api.h PATHS /usr/local/cuda/include ENV CUDA_PATH PATH_SUFFIXES include
          DOC "The CUDA toolkit's headers")
find_program(TUTTI_NVCC nvcc PATHS /usr/local/cuda/bin ENV CUDA_PATH PATH_SUFFIXES bin DOC "The CUDA toolkit's compiler")
find_library(TUTTI_CUDART cudart_static PATHS /usr/local/cuda/lib64 ENV CUDA_PATH PATH_SUFFIXES lib64 lib/x64
             DOC "The CUDA toolkit's runtime")
mark_as_advanced(TUTTI_CUDA_INCLUDE TUTTI_NVCC TUTTI_CUDART)
if(NOT TUTTI_CUDA STREQUAL "OFF" AND NOT TUTTI_CUDA_INCLUDE)
  message(FATAL_ERROR "TUTTI_CUDA=${TUTTI_CUDA} needs the CUDA toolkit's headers (cuda_runtime_api.h): set CUDA_PATH or TUTTI_CUDA_INCLUDE")
elseif(TUTTI_CUDA STREQUAL "ON" AND NOT (TUTTI_NVCC AND TUTTI_CUDART))
  message(FATAL_ERROR "TUTTI_CUDA=ON needs nvcc and libcudart_static.a of the CUDA toolkit (12 or 13): set CUDA_PATH, or TUTTI_NVCC and TUTTI_CUDART")
endif()

set(TUTTI_NVCC_FLAGS -std=c++20 -O3 --fmad=false --expt-relaxed-constexpr -Werror all-warnings
    -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90])
set(tutti_emulator_folder ${CMAKE_CURRENT_LIST_DIR}/../tests/cuda/emulator)

function(tutti_flavour_flags out flavour)
  set(flags -O2)
  if(flavour STREQUAL "sanitized")
    set(flags -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  elseif(NOT flavour MATCHES "^(plain|recorded)$")
    message(FATAL_ERROR "CUDA emulator: there is no flavour '${flavour}' (plain, sanitized, recorded)")
  endif()
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# The emulator's own code: compiled twice, as plain and recorded differ in one file.
function(tutti_cuda_emulator flavour)
  if(TARGET cuda_emulator_${flavour})
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${tutti_emulator_folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/(no_)?recorder\\.cpp$")
  if(flavour STREQUAL "sanitized")
    set(common cuda_emulator_sanitized_objects)
  else()
    set(common cuda_emulator_objects)
  endif()
  if(NOT TARGET ${common})
    add_library(${common} OBJECT ${sources})
    target_compile_features(${common} PUBLIC cxx_std_20)
    target_include_directories(${common} PUBLIC ${tutti_emulator_folder})
    target_include_directories(${common} SYSTEM PUBLIC ${TUTTI_CUDA_INCLUDE})
    tutti_flavour_flags(flags ${flavour})
    target_compile_options(${common} PRIVATE ${flags} -g1)
    target_link_libraries(${common} PRIVATE $<BUILD_INTERFACE:tutti_warnings>)
  endif()
  if(flavour STREQUAL "recorded")
    set(recorder ${tutti_emulator_folder}/recorder.cpp)
  else()
    set(recorder ${tutti_emulator_folder}/no_recorder.cpp)
  endif()
  add_library(cuda_emulator_${flavour} STATIC ${recorder} $<TARGET_OBJECTS:${common}>)
  target_compile_features(cuda_emulator_${flavour} PUBLIC cxx_std_20)
  target_compile_options(cuda_emulator_${flavour} PRIVATE -O2 -g1)
  target_include_directories(cuda_emulator_${flavour} PUBLIC ${tutti_emulator_folder})
  target_include_directories(cuda_emulator_${flavour} SYSTEM PUBLIC ${TUTTI_CUDA_INCLUDE})
  target_link_libraries(cuda_emulator_${flavour} PUBLIC Threads::Threads ${CMAKE_DL_LIBS} PRIVATE $<BUILD_INTERFACE:tutti_warnings>)
  if(flavour STREQUAL "sanitized")
    target_link_options(cuda_emulator_${flavour} PUBLIC -fsanitize=address,undefined)
  endif()
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
  tutti_cuda_emulator(${flavour})
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
  target_link_libraries(${objects} PRIVATE cuda_emulator_${flavour} $<BUILD_INTERFACE:tutti_warnings>)
  set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:cuda_emulator_${flavour}>)
endfunction()

# The objects are compiled with the include directories of `target`, and become part of it unless it is an INTERFACE library.
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
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    add_dependencies(${target} ${target}_nvcc)
    target_sources(${target} PRIVATE ${objects})
  endif()
endfunction()

# The backend, in the library: host code, and kernels.
function(tutti_add_cuda_backend target)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/cuda/*.cpp)
  file(GLOB kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/backends/cuda/kernels/*.cu)
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE ${TUTTI_CUDA_INCLUDE})
  if(TUTTI_CUDA STREQUAL "ON")
    tutti_add_nvcc_cuda(${target} ${kernels})
    target_link_libraries(${target} PRIVATE ${TUTTI_CUDART} ${CMAKE_DL_LIBS} rt)
  else()
    set_source_files_properties(${sources} PROPERTIES COMPILE_DEFINITIONS TUTTI_CUDA_EMULATED)
    tutti_add_emulated_cuda(${target} ${TUTTI_CUDA_FLAVOUR} ${kernels})
  endif()
endfunction()
