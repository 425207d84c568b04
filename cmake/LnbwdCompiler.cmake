# The compiler: the dialect, the passes, code emission and their tools. All link
# against the shared libMLIR and libLLVM, which keeps builds short.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
# Without this, generated documentation is written to the file system's root.
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

# Distributions that carry several LLVMs keep MLIR and lld beside the LLVM they
# belong to, where CMake does not look by itself.
set(beside_llvm ${LLVM_DIR}/.. ${LLVM_LIBRARY_DIR}/cmake)
list(TRANSFORM beside_llvm APPEND /mlir OUTPUT_VARIABLE mlir_hints)
list(TRANSFORM beside_llvm APPEND /lld OUTPUT_VARIABLE lld_hints)
find_package(MLIR REQUIRED CONFIG HINTS ${mlir_hints})
find_package(LLD REQUIRED CONFIG HINTS ${lld_hints})
message(STATUS "MLIR: ${MLIR_DIR}")
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(BEFORE ${PROJECT_BINARY_DIR}/include)

# One static library a folder; MLIR and LLVM come from the shared libraries.
function(lnbwd_add_compiler_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} ${arg_DEPENDS} LNBwdIRIncGen LNBwdLaneIRIncGen LNBwdInterfacesIncGen
    LNBwdPassIncGen LNBwdLanePassIncGen LNBwdConversionPassIncGen)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE lnbwd_options)
  mlir_target_link_libraries(${name} PUBLIC MLIRIR)
  # Assertions change the layout of MLIR's classes (a pass's statistics): a
  # Debug build does without them too where the installed MLIR does.
  if(NOT LLVM_ENABLE_ASSERTIONS)
    target_compile_definitions(${name} PUBLIC NDEBUG)
  endif()
endfunction()

add_subdirectory(include/lnbwd)
add_subdirectory(lib/Dialect/LNBwd/IR)
add_subdirectory(lib/Dialect/Lane/IR)
add_subdirectory(lib/Interfaces)
add_subdirectory(lib/Target)
add_subdirectory(lib/Transforms/Lane)
add_subdirectory(lib/Transforms)
add_subdirectory(lib/Conversion)
add_subdirectory(lib/Pipelines)
add_subdirectory(lib/Report)
add_subdirectory(lib/Compiler)
add_subdirectory(tools/lnbwd-opt)
add_subdirectory(tools/lnbwd-lsp-server)
