# What `pip install .` takes: the shared libraries that the Python package has in
# its folder lib. LLVM's own are not copied; they are found where they were at
# the build.
set(libraries lnbwd-runtime)
if(TARGET lnbwd-hip-sim)
  list(APPEND libraries lnbwd-hip-sim)
endif()
if(TARGET lnbwd-compiler)
  list(APPEND libraries lnbwd-compiler)
endif()
if(TARGET lnbwd-torch)
  list(APPEND libraries lnbwd-torch)
endif()
# Wheels have no symbolic links: one file, without a version in its name.
foreach(library ${libraries})
  set_property(TARGET ${library} PROPERTY VERSION)
  set_property(TARGET ${library} PROPERTY SOVERSION)
  set_property(TARGET ${library} PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS ${library} LIBRARY DESTINATION lnbwd/lib COMPONENT python)
endforeach()
if(LLVM_LIBRARY_DIR)
  set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN;${LLVM_LIBRARY_DIR}")
endif()
