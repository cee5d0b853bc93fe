# cmake --install, and the package that find_package(tutti) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
