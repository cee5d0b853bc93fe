# cmake --install: the library, its headers, tutti_add_kernels(); the package that find_package(tutti) finds, and the one that
# pkg-config does.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)

install(TARGETS tutti EXPORT tutti-targets)
install(DIRECTORY core autograd ops nn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti
        FILES_MATCHING PATTERN "*.h" PATTERN detail EXCLUDE)
set(backends backends/contract backends/cpu)
set(modules cmake/TuttiAddKernels.cmake cmake/Finddnnl.cmake)
if(NOT TUTTI_CUDA STREQUAL "OFF")
  list(APPEND backends backends/cuda)
  list(APPEND modules cmake/TuttiAddCuda.cmake)
endif()
if(TUTTI_CUDA STREQUAL "EMULATED")  # for tests of operations outside the library
  install(TARGETS cuda_emulator_${TUTTI_CUDA_FLAVOUR} EXPORT tutti-targets)
  install(DIRECTORY tests/cuda/emulator/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti/emulator FILES_MATCHING PATTERN "*.h")
endif()
install(DIRECTORY ${backends} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti/backends
        FILES_MATCHING PATTERN "*.h" PATTERN kernels EXCLUDE)
install(FILES ${TUTTI_INCLUDE_DIR}/tutti/config.h ${TUTTI_INCLUDE_DIR}/tutti/tutti.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tutti)

# A shared library has linked what it needs; a static one leaves that to its user.
get_target_property(TUTTI_TYPE tutti TYPE)
configure_package_config_file(cmake/tutti-config.cmake.in ${PROJECT_BINARY_DIR}/tutti-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tutti-config-version.cmake COMPATIBILITY SameMinorVersion)
set(TUTTI_PC_LIBS "")
if(TUTTI_TYPE STREQUAL "STATIC_LIBRARY")
  set(TUTTI_PC_LIBS " -ldnnl -lz -pthread")
  if(TUTTI_OPENMP)
    string(APPEND TUTTI_PC_LIBS " -fopenmp")
  endif()
  if(TUTTI_CUDA STREQUAL "ON")
    string(APPEND TUTTI_PC_LIBS " ${TUTTI_CUDART} -ldl -lrt")
  elseif(TUTTI_CUDA STREQUAL "EMULATED")
    string(APPEND TUTTI_PC_LIBS " -lcuda_emulator_${TUTTI_CUDA_FLAVOUR} -ldl")
    if(TUTTI_CUDA_FLAVOUR STREQUAL "sanitized")
      string(APPEND TUTTI_PC_LIBS " -fsanitize=address,undefined")
    endif()
  endif()
endif()
file(RELATIVE_PATH TUTTI_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # the copy may be moved
string(REGEX REPLACE "/$" "" TUTTI_PC_PREFIX "${TUTTI_PC_PREFIX}")
configure_file(cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT tutti-targets NAMESPACE tutti:: DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/tutti-config.cmake ${PROJECT_BINARY_DIR}/tutti-config-version.cmake
              ${modules} DESTINATION ${package})
