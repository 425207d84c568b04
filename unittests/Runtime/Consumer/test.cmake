# Installs the runtime into an empty folder, builds the consumer against it and
# runs it. Run by ctest: cmake -DBUILD=... -DSOURCE=... -DWORK=... -DKERNEL=...
# -DSIMULATOR=... -P test.cmake. Without KERNEL the consumer is only started.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGV}\nfailed (${result}):\n${output}")
  endif()
  message(STATUS "${output}")
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component runtime --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_C_COMPILER=${COMPILER} -DCMAKE_C_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
# The installed runner finds the installed library.
file(GLOB_RECURSE runner ${WORK}/prefix/lnbwd-run)
run(${runner} --version)
if(KERNEL)
  set(ENV{LNBWD_SIM_LIBRARY} ${SIMULATOR})
  run(${WORK}/build/consumer ${KERNEL} sim)
endif()
file(REMOVE_RECURSE ${WORK})
