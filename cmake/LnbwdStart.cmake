# What comes before project(), of the whole and of the simulator alone.
get_filename_component(LNBWD_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
# The version has one place, the Python package's, which exists without CMake too.
set(version_file ${LNBWD_ROOT}/python/lnbwd/core/base/version.py)
file(STRINGS ${version_file} version_line REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" lnbwd_version "${version_line}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_file})

# clang compiles these sources three times as fast as gcc. CC, CXX and CMake's own
# variables choose another compiler.
if(NOT DEFINED CMAKE_C_COMPILER AND NOT DEFINED CMAKE_CXX_COMPILER AND
   NOT DEFINED ENV{CC} AND NOT DEFINED ENV{CXX})
  find_program(lnbwd_clang clang-22 NO_CACHE)
  find_program(lnbwd_clangxx clang++-22 NO_CACHE)
  if(lnbwd_clang AND lnbwd_clangxx)
    set(CMAKE_C_COMPILER ${lnbwd_clang})
    set(CMAKE_CXX_COMPILER ${lnbwd_clangxx})
  endif()
endif()

# Several sources make one translation unit: MLIR's templates are instantiated once for all of
# them, which halves what a build takes. -DCMAKE_UNITY_BUILD=OFF compiles each source alone.
if(NOT DEFINED CMAKE_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()
