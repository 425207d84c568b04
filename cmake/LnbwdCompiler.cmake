# The compiler: the dialect, the passes, code emission and their tools.

# Assertions change the layout of MLIR's classes (a pass's statistics): a Debug
# build does without them too where the installed MLIR does.
set(lnbwd_assertions)
if(NOT LLVM_ENABLE_ASSERTIONS)
  set(lnbwd_assertions NDEBUG)
endif()

# What most sources include of MLIR and LLVM, compiled once. Sources include what they use all the
# same. Names in angle brackets, without a folder of this machine: ccache then finds what another
# build folder has compiled.
add_library(lnbwd-mlir-headers STATIC ${CMAKE_CURRENT_LIST_DIR}/LnbwdHeaders.cpp)
target_precompile_headers(lnbwd-mlir-headers PRIVATE
  <llvm/ADT/STLExtras.h>
  <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/MathExtras.h>
  <llvm/Support/raw_ostream.h>
  <mlir/Conversion/Passes.h>
  <mlir/Dialect/AMDGPU/IR/AMDGPUDialect.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/LLVMIR/NVVMDialect.h>
  <mlir/Dialect/LLVMIR/ROCDLDialect.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/NVGPU/IR/NVGPUDialect.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/ImplicitLocOpBuilder.h>
  <mlir/IR/Matchers.h>
  <mlir/IR/PatternMatch.h>
  <mlir/IR/TypeUtilities.h>
  <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Pass/Pass.h>
  <mlir/Transforms/DialectConversion.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <mlir/Transforms/Passes.h>
)
target_link_libraries(lnbwd-mlir-headers PRIVATE lnbwd-mlir lnbwd_options)
target_compile_definitions(lnbwd-mlir-headers PRIVATE ${lnbwd_assertions})

# One static library a folder; MLIR and LLVM come from lnbwd-mlir (LnbwdLLVM).
function(lnbwd_add_compiler_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  add_dependencies(${name} ${arg_DEPENDS} LNBwdIRIncGen LNBwdLaneIRIncGen LNBwdInterfacesIncGen
    LNBwdLaunchPlanPassIncGen LNBwdPassIncGen LNBwdLanePassIncGen LNBwdConversionPassIncGen)
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE lnbwd_options)
  target_link_libraries(${name} PUBLIC lnbwd-mlir)
  target_precompile_headers(${name} REUSE_FROM lnbwd-mlir-headers)
  target_compile_definitions(${name} PUBLIC ${lnbwd_assertions})
endfunction()

add_subdirectory(include/lnbwd)
add_subdirectory(lib/Dialect/LNBwd/IR)
add_subdirectory(lib/Dialect/Lane/IR)
add_subdirectory(lib/Interfaces)
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
