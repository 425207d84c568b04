# The compiler: the dialect, the passes, code emission and their tools.

# Assertions change the layout of MLIR's classes (a pass's statistics): a Debug
# build does without them too where the installed MLIR does.
set(lnbwd_assertions)
if(NOT LLVM_ENABLE_ASSERTIONS)
  set(lnbwd_assertions NDEBUG)
endif()

# LnbwdHeaders.h, compiled once, by its path in the sources. CMake's own precompiled headers would
# not do: the compiler records the path of a header that CMake writes into the build folder. This
# one is the same in all build folders of these sources, so that ccache shares it, and what is
# compiled with it, and needs none of them later. Hence no CCACHE_BASEDIR either, by which the path
# would lead through the build folder.
add_library(lnbwd-mlir-headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/LnbwdHeaders.h)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/LnbwdHeaders.h PROPERTIES LANGUAGE CXX)
string(REPLACE "CCACHE_BASEDIR=${LNBWD_ROOT}" "CCACHE_BASEDIR=" launcher "${CMAKE_CXX_COMPILER_LAUNCHER}")
set_target_properties(lnbwd-mlir-headers PROPERTIES
  CXX_COMPILER_LAUNCHER "${launcher}" INCLUDE_DIRECTORIES "" UNITY_BUILD OFF)
target_include_directories(lnbwd-mlir-headers SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(lnbwd-mlir-headers PRIVATE lnbwd-mlir lnbwd_options)
target_compile_definitions(lnbwd-mlir-headers PRIVATE ${lnbwd_assertions})
target_compile_options(lnbwd-mlir-headers PRIVATE
  -x c++-header $<$<CXX_COMPILER_ID:Clang>:-fpch-instantiate-templates>)
# By its name compilers and ccache know that it is what they take in the header's place.
set(lnbwd_headers ${PROJECT_BINARY_DIR}/LnbwdHeaders.h)
file(CREATE_LINK ${CMAKE_CURRENT_LIST_DIR}/LnbwdHeaders.h ${lnbwd_headers} SYMBOLIC)
add_custom_command(OUTPUT ${lnbwd_headers}.gch VERBATIM
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_OBJECTS:lnbwd-mlir-headers> ${lnbwd_headers}.gch
  DEPENDS $<TARGET_OBJECTS:lnbwd-mlir-headers>)
add_custom_target(lnbwd-compiled-headers DEPENDS ${lnbwd_headers}.gch)
add_dependencies(lnbwd-compiled-headers lnbwd-mlir-headers)

# One static library a folder; MLIR and LLVM come from lnbwd-mlir (LnbwdLLVM).
function(lnbwd_add_compiler_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} ${arg_DEPENDS} LNBwdIRIncGen LNBwdLaneIRIncGen
    LNBwdLaunchPlanPassIncGen LNBwdPassIncGen LNBwdLanePassIncGen LNBwdConversionPassIncGen)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE lnbwd_options)
  target_link_libraries(${name} PUBLIC lnbwd-mlir)
  add_dependencies(${name} lnbwd-compiled-headers)
  target_compile_options(${name} PRIVATE "SHELL:-include ${lnbwd_headers}")
  target_compile_definitions(${name} PUBLIC ${lnbwd_assertions})
endfunction()

add_subdirectory(include/lnbwd)
add_subdirectory(lib/Dialect/LNBwd/IR)
add_subdirectory(lib/Dialect/Lane/IR)
add_subdirectory(lib/GradientAlgebra)
add_subdirectory(lib/Target)
add_subdirectory(lib/Analysis)
add_subdirectory(lib/LaunchPlan)
add_subdirectory(lib/Transforms/Lane)
add_subdirectory(lib/Transforms)
add_subdirectory(lib/Conversion)
add_subdirectory(lib/Pipelines)
add_subdirectory(lib/Report)
add_subdirectory(lib/Compiler)
add_subdirectory(tools/lnbwd-opt)
add_subdirectory(tools/lnbwd-lsp-server)
