# lnbwd/Operations/Operations.h.inc, made while CMake configures of the tables that the Python
# package has: the runtime is built without LLVM, whose TableGen reads the declaration.
set(operations_generator ${PROJECT_SOURCE_DIR}/scripts/generate-tables.py)
set(operations_header ${PROJECT_BINARY_DIR}/include/lnbwd/Operations/Operations.h.inc)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${operations_generator} ${PROJECT_SOURCE_DIR}/python/lnbwd/core/base/operations.py)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -B ${operations_generator} --operations ${operations_header}.new
  RESULT_VARIABLE operations_result)
if(NOT operations_result EQUAL 0)
  message(FATAL_ERROR "${operations_generator} failed")
endif()
# What has not changed keeps its date, and what includes it is not built again.
configure_file(${operations_header}.new ${operations_header} COPYONLY)
