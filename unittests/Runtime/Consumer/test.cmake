# Installs the runtime into an empty folder, builds the consumer against it and
# runs it. Run by ctest: cmake -DBUILD=... -DSOURCE=... -DWORK=... -DKERNEL=...
# -P test.cmake. Without KERNEL the consumer is only started; with it, it is run
# on the simulator, which is a component of its own.
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
  unset(ENV{LNBWD_SIM_LIBRARY})
  execute_process(COMMAND ${WORK}/build/consumer ${KERNEL} sim RESULT_VARIABLE result ERROR_VARIABLE message)
  if(result EQUAL 0 OR NOT message MATCHES "--component simulator")
    message(FATAL_ERROR "expected an error that says how to install the simulator, got (${result}):\n${message}")
  endif()
  run(${CMAKE_COMMAND} --install ${BUILD} --component simulator --prefix ${WORK}/prefix)
  run(${WORK}/build/consumer ${KERNEL} sim)
endif()
file(REMOVE_RECURSE ${WORK})
