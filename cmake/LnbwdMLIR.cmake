# Finds MLIR and lld, and sets up what CMake needs to build with them.
# Without this, generated documentation is written to the file system's root.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

# Distributions that carry several LLVMs keep MLIR and lld beside the LLVM they
# belong to, where CMake does not look by itself.
set(beside_llvm ${LLVM_DIR}/.. ${LLVM_LIBRARY_DIR}/cmake)
list(TRANSFORM beside_llvm APPEND /mlir OUTPUT_VARIABLE mlir_hints)
list(TRANSFORM beside_llvm APPEND /lld OUTPUT_VARIABLE lld_hints)
set(leave_out ", or leave the compiler out: -DLNBWD_ENABLE_COMPILER=OFF")
lnbwd_find(MLIR "the compiler" "libmlir-22-dev and mlir-22-tools"
  ", set MLIR_DIR to its folder lib/cmake/mlir${leave_out}" CONFIG HINTS ${mlir_hints})
lnbwd_find(LLD "the compiler" "liblld-22-dev"
  ", set LLD_DIR to its folder lib/cmake/lld${leave_out}" CONFIG HINTS ${lld_hints})
message(STATUS "MLIR: ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(BEFORE ${PROJECT_BINARY_DIR}/include)
# LLVM's functions that add programs link nothing; lnbwd-mlir is linked (LnbwdLLVM).
set(LLVM_LINK_LLVM_DYLIB OFF)
set(LLVM_LINK_COMPONENTS)
