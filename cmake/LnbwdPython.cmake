# The target lnbwd-python: what a user of the first page needs, and `pip install .`
# takes. The shared libraries that the Python package has in its folder lib, and
# the programs that it has in bin. Shared libraries of LLVM are not copied; they
# are found where they were at the build, unless LNBWD_STATIC_LLVM has linked
# LLVM into ours.
set(libraries)
foreach(target lnbwd-runtime lnbwd-hip-sim lnbwd-compiler lnbwd-torch)
  if(TARGET ${target})
    list(APPEND libraries ${target})
  endif()
endforeach()
set(programs)
foreach(target lnbwd-opt lnbwd-run lnbwd-sim)
  if(TARGET ${target})
    list(APPEND programs ${target})
  endif()
endforeach()
add_custom_target(lnbwd-python DEPENDS ${libraries} ${programs})
if(NOT LNBWD_ENABLE_PYTHON)
  return()
endif()
# Wheels have no symbolic links: one file, without a version in its name.
foreach(library ${libraries})
  set_property(TARGET ${library} PROPERTY VERSION)
  set_property(TARGET ${library} PROPERTY SOVERSION)
  install(TARGETS ${library} LIBRARY DESTINATION lnbwd/lib COMPONENT python)
endforeach()
foreach(program ${programs})
  install(TARGETS ${program} RUNTIME DESTINATION lnbwd/bin COMPONENT python)
endforeach()
set(llvm_rpath)
if(LLVM_LIBRARY_DIR AND NOT LNBWD_STATIC_LLVM)
  set(llvm_rpath ";${LLVM_LIBRARY_DIR}")
endif()
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN${llvm_rpath}")
set_target_properties(${programs} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib${llvm_rpath}")
if(LNBWD_STATIC_LLVM)
  # The C++ library is taken along, so that an older one does. libgcc_s is not:
  # it is everywhere, and unwinding by a static one needs a newer glibc.
  add_library(lnbwd-old-glibc OBJECT lib/Support/OldGlibc.c)
  foreach(target ${libraries} ${programs})
    # The operators of PyTorch share the C++ library with PyTorch.
    if(NOT target STREQUAL lnbwd-torch)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:lnbwd-old-glibc>)
      target_link_options(${target} PRIVATE -static-libstdc++)
    endif()
    target_link_options(${target} PRIVATE LINKER:-s)
  endforeach()
endif()
