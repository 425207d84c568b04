# Flags that every target of the project is built with. LLVM's own packages are
# built without exceptions; the runtime is built with them, inside its C ABI.
add_library(lnbwd_options INTERFACE)
target_compile_options(lnbwd_options INTERFACE -Wall -Wextra -Wno-unused-parameter)
if(LNBWD_ENABLE_WERROR)
  target_compile_options(lnbwd_options INTERFACE -Werror)
endif()
# ccache, where it is. Paths below the sources count as relative to the build folder, so that build
# folders side by side share objects (LnbwdCompiler.cmake: those with compiled headers too). The
# sloppiness is what it asks for with such headers; and Python sets LC_CTYPE for pip's build alone.
find_program(LNBWD_CCACHE ccache DOC "ccache; empty: compile without")
foreach(language C CXX)
  if(LNBWD_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER env CCACHE_BASEDIR=${LNBWD_ROOT}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime,locale
      ${LNBWD_CCACHE})
  endif()
endforeach()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(lnbwd_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>"
    # What libstdc++ 12 deprecates it uses itself, in std::stable_sort; LLVM's own
    # deprecations do not depend on the macro.
    $<$<COMPILE_LANGUAGE:CXX>:-U__DEPRECATED>)
endif()
if(LNBWD_SANITIZERS)
  add_compile_options(-fsanitize=${LNBWD_SANITIZERS} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  # Drivers are called through declarations of our own, whose types agree with
  # the drivers' only in what the machine sees.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  add_link_options(-fsanitize=${LNBWD_SANITIZERS})
endif()

# LLVM's headers come in as system headers, so that their warnings are not ours.
function(lnbwd_use_llvm target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  separate_arguments(defs NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(${target} PRIVATE ${defs})
endfunction()

# A libFuzzer target, which scripts/fuzz.sh builds with clang.
function(lnbwd_add_fuzzer name)
  add_executable(${name} ${ARGN})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE lnbwd_options)
endfunction()
