# What the whole project and the simulator alone have in common: options, the
# standard, and where what is built goes. Included after project().
option(LNBWD_ENABLE_TESTS "Build the unit tests (needs GoogleTest)" ON)
option(LNBWD_ENABLE_PYTHON "Install the Python package's files (pip install . sets it)" OFF)
option(LNBWD_ENABLE_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(LNBWD_STATIC_LLVM
  "Link LLVM, MLIR, lld and the C++ library statically, for packages that stand alone" OFF)
# On by default for the compiler of LnbwdStart alone: the warnings of others are not known. A
# default, so that scripts and `pip install .` compile with the same flags.
set(warnings_are_known OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^22\\.")
  set(warnings_are_known ON)
endif()
option(LNBWD_ENABLE_WERROR "Treat warnings as errors" ${warnings_are_known})
set(LNBWD_SANITIZERS "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Tools find the libraries beside them, in the build tree and when installed.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

include(GNUInstallDirs)
include(LnbwdFind)
include(LnbwdOptions)
include(LnbwdChips)
