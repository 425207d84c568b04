# find_package, with an error that says how to get what is missing.
#
#   lnbwd_find(NAME PURPOSE DEBIAN-PACKAGE REMEDY [arguments of find_package])
macro(lnbwd_find name purpose package remedy)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} was not found; ${purpose} needs it. "
      "Install it (Debian: ${package}; docs/install.md has other systems)${remedy}")
  endif()
endmacro()

# LLVM, of the one major version that MLIR's interfaces here are those of.
macro(lnbwd_find_llvm)
  lnbwd_find(LLVM "the compiler and the simulator" "llvm-22-dev"
    ", set LLVM_DIR to its folder lib/cmake/llvm, or build the runtime alone: \
-DLNBWD_ENABLE_COMPILER=OFF -DLNBWD_ENABLE_SIMULATOR=OFF" CONFIG)
  if(NOT LLVM_VERSION_MAJOR EQUAL 22)
    message(FATAL_ERROR "expected LLVM 22, got ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}: "
      "set LLVM_DIR to the folder lib/cmake/llvm of LLVM 22 (docs/install.md)")
  endif()
endmacro()

# HIP's headers alone: the library is opened, or simulated, where a program runs.
macro(lnbwd_find_hip)
  find_path(LNBWD_HIP_INCLUDE_DIR hip/hip_runtime_api.h
    PATHS /opt/rocm/include
    DOC "Where HIP's headers are (Debian: libamdhip64-dev)")
  if(NOT LNBWD_HIP_INCLUDE_DIR)
    message(FATAL_ERROR
      "hip/hip_runtime_api.h not found: install HIP's headers (Debian: libamdhip64-dev) "
      "or set LNBWD_HIP_INCLUDE_DIR")
  endif()
endmacro()

# lit and what its tests call.
macro(lnbwd_find_lit)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  find_program(LLVM_EXTERNAL_LIT NAMES lit llvm-lit lit.py
    HINTS ${LLVM_TOOLS_BINARY_DIR} DOC "The lit that runs the test suite")
  if(NOT LLVM_EXTERNAL_LIT)
    message(FATAL_ERROR "lit was not found in ${LLVM_TOOLS_BINARY_DIR} or PATH: install it (Debian: llvm-22-tools) "
      "or name it with -DLLVM_EXTERNAL_LIT=<file>")
  endif()
  foreach(tool FileCheck not count split-file)
    if(NOT EXISTS ${LLVM_TOOLS_BINARY_DIR}/${tool})
      message(FATAL_ERROR "${tool} was not found in ${LLVM_TOOLS_BINARY_DIR}: install it (Debian: llvm-22-tools)")
    endif()
  endforeach()
endmacro()

# A target that runs the lit suite of the folder it is called in.
function(lnbwd_add_lit_suite name)
  lnbwd_find_lit()
  configure_file(lit.site.cfg.py.in lit.site.cfg.py @ONLY)
  set(LNBWD_LIT_ARGS "-sv" CACHE STRING "Arguments of lit in check-lnbwd-lit and check-simulator-lit")
  separate_arguments(arguments NATIVE_COMMAND "${LNBWD_LIT_ARGS}")
  add_custom_target(${name}
    COMMAND ${Python3_EXECUTABLE} ${LLVM_EXTERNAL_LIT} ${arguments} ${CMAKE_CURRENT_BINARY_DIR}
    DEPENDS ${ARGN}
    COMMENT "Running the lit suite: ${name}"
    USES_TERMINAL)
endfunction()
