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
