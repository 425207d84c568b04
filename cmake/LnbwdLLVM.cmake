# What the components link to have LLVM, MLIR and lld:
#
#   lnbwd-llvm   LLVM
#   lnbwd-mlir   MLIR, LLVM and lld, where the compiler is built
#
# Usually the shared libLLVM and libMLIR, which keeps links short, but for
# lnbwd-opt and the simulator. With LNBWD_STATIC_LLVM their static libraries and
# the C++ library, so that what is linked runs where none of them is installed
# (scripts/wheel.sh). Of LLVM's code generators only AMDGPU and NVPTX are taken.
set(lnbwd_backends AMDGPU NVPTX)

add_library(lnbwd-llvm INTERFACE)
add_library(lnbwd-mlir INTERFACE)
set(static_mlir lnbwd-mlir)

if(NOT LNBWD_STATIC_LLVM)
  # What has the property LNBWD_SIMULATOR_LLVM has the little inside that the
  # simulator takes of LLVM, where its static libraries are at hand: a process
  # with libLLVM takes 11 ms longer to start, and tests start one thousands of times.
  set(simulator_llvm LLVM)
  if(TARGET LLVMAMDGPUDisassembler)
    llvm_map_components_to_libnames(simulator_llvm
      AMDGPUDesc AMDGPUDisassembler AMDGPUInfo DebugInfoDWARF MC MCDisassembler Object Support)
  endif()
  target_link_libraries(lnbwd-llvm INTERFACE
    "$<IF:$<BOOL:$<TARGET_PROPERTY:LNBWD_SIMULATOR_LLVM>>,${simulator_llvm},LLVM>")
  if(LNBWD_ENABLE_COMPILER)
    # What has the property LNBWD_STATIC_MLIR has all of them inside: to bind the
    # symbols of the shared ones is a fifth of most compilations.
    set(static_mlir lnbwd-mlir-static)
    target_link_libraries(lnbwd-mlir INTERFACE
      "$<IF:$<BOOL:$<TARGET_PROPERTY:LNBWD_STATIC_MLIR>>,${static_mlir},MLIR;lldELF;lldCommon>")
  endif()
  if(NOT LNBWD_ENABLE_COMPILER OR NOT TARGET MLIROptLib OR NOT TARGET LLVMNVPTXCodeGen)
    return()
  endif()
  add_library(${static_mlir} INTERFACE)
endif()

# The exported targets of MLIR and lld name the shared libLLVM as what they need
# (their packages were built so); the files are taken from the targets and what
# they need from here. One group, since they refer to each other in circles: a
# linker script, which CMake handles as one library.
set(llvm_targets)
set(all_backends)
foreach(target ${LLVM_AVAILABLE_LIBS})
  if(target MATCHES "^LLVM(.+)Info$")
    set(backend ${CMAKE_MATCH_1})
    if(TARGET LLVM${backend}Desc)
      list(APPEND all_backends ${backend})
    endif()
  endif()
endforeach()
foreach(backend ${lnbwd_backends})
  if(NOT backend IN_LIST all_backends)
    message(FATAL_ERROR "LNBWD_STATIC_LLVM: ${LLVM_DIR} has no static library of the back end "
      "${backend} (Debian: llvm-22-dev)")
  endif()
endforeach()
set(other_backends ${all_backends})
list(REMOVE_ITEM other_backends ${lnbwd_backends})
list(JOIN other_backends "|" others)
foreach(target ${LLVM_AVAILABLE_LIBS})
  if(NOT TARGET ${target} OR
     target MATCHES "^LLVM(${others})(CodeGen|Desc|Info|AsmParser|Disassembler|Utils|TargetMCA)$" OR
     target MATCHES "^(LLVMExtensions|LTO|Remarks|LLVM|LLVM-C|Polly.*)$")
    continue()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    list(APPEND llvm_targets ${target})
  endif()
endforeach()

# LLVM's "all targets" functions call every back end; and its optimiser asks a
# plugin, which is linked into the packages, for passes. Those left out do nothing.
set(stubs "/* Made by cmake/LnbwdLLVM.cmake. */\n")
foreach(backend ${other_backends})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND stubs "void LLVMInitialize${backend}${part}(void) {}\n")
  endforeach()
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/lnbwd-llvm-stubs.c CONTENT "${stubs}")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/lnbwd-llvm-plugins.cpp CONTENT
  "// Made by cmake/LnbwdLLVM.cmake.
#include \"llvm/Plugins/PassPlugin.h\"
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::PassPluginLibraryInfo none{};
  none.APIVersion = LLVM_PLUGIN_API_VERSION;
  none.RegisterPassBuilderCallbacks = [](llvm::PassBuilder &) {};
  return none;
}\n")
set_source_files_properties(${PROJECT_BINARY_DIR}/lnbwd-llvm-stubs.c
  ${PROJECT_BINARY_DIR}/lnbwd-llvm-plugins.cpp PROPERTIES GENERATED ON)
add_library(lnbwd-llvm-stubs STATIC
  ${PROJECT_BINARY_DIR}/lnbwd-llvm-stubs.c ${PROJECT_BINARY_DIR}/lnbwd-llvm-plugins.cpp)
lnbwd_use_llvm(lnbwd-llvm-stubs)
set_target_properties(lnbwd-llvm-stubs PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden)
target_compile_options(lnbwd-llvm-stubs PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)

# What LLVM's libraries need of the system; static where that is possible, since
# few systems promise libzstd.
find_library(LNBWD_ZSTD_STATIC libzstd.a)
find_library(LNBWD_Z_STATIC libz.a)
set(system_libraries)
foreach(name ZSTD Z)
  string(TOLOWER ${name} library)
  if(LNBWD_${name}_STATIC)
    list(APPEND system_libraries ${LNBWD_${name}_STATIC})
  else()
    list(APPEND system_libraries ${library})
  endif()
endforeach()

function(lnbwd_add_static_group name)
  set(files $<TARGET_FILE:lnbwd-llvm-stubs>)
  foreach(target ${ARGN})
    list(APPEND files $<TARGET_FILE:${target}>)
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/lib${name}.a CONTENT
    "/* Made by cmake/LnbwdLLVM.cmake. */\nGROUP (\n$<JOIN:${files},\n>\n)\n")
  add_dependencies(${name} lnbwd-llvm-stubs)
  target_link_libraries(${name} INTERFACE ${PROJECT_BINARY_DIR}/lib${name}.a
    ${system_libraries} ${CMAKE_DL_LIBS} pthread m)
  target_link_options(${name} INTERFACE LINKER:--gc-sections LINKER:--exclude-libs,ALL)
endfunction()

if(LNBWD_STATIC_LLVM)
  lnbwd_add_static_group(lnbwd-llvm ${llvm_targets})
endif()
if(LNBWD_ENABLE_COMPILER)
  get_property(mlir_targets GLOBAL PROPERTY MLIR_ALL_LIBS)
  list(APPEND mlir_targets MLIROptLib MLIRLspServerLib)
  list(REMOVE_DUPLICATES mlir_targets)
  list(FILTER mlir_targets EXCLUDE REGEX "Test|CAPI|Runner|ExecutionEngine$|ExecutionEngineShared|JitRunner")
  set(present)
  foreach(target ${mlir_targets})
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND present ${target})
      endif()
    endif()
  endforeach()
  lnbwd_add_static_group(${static_mlir} ${present} ${llvm_targets} lldELF lldCommon)
endif()
