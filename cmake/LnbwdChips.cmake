# What C++ and CMake know of the chips, made of lib/Chips/Chips.json while CMake
# configures, since the tests' kernels are compiled for each chip on the list:
#
#   lnbwd/Chips/CompilerChips.inc, SimulatorChips.inc, ChipNames.h
#   LNBWD_SIMULATED_CHIPS, LNBWD_DEFAULT_SIMULATED_CHIP and, for each chip on the
#   list, LNBWD_WAVE_SIZE_<chip> and LNBWD_TESTS_<chip>, many or few
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(lnbwd_chips ${LNBWD_ROOT}/lib/Chips/Chips.json)
set(lnbwd_chips_generator ${LNBWD_ROOT}/lib/Chips/generate_chips.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${lnbwd_chips} ${lnbwd_chips_generator})
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${lnbwd_chips_generator} ${lnbwd_chips}
    ${PROJECT_BINARY_DIR}/include/lnbwd/Chips
  RESULT_VARIABLE lnbwd_chips_result)
if(NOT lnbwd_chips_result EQUAL 0)
  message(FATAL_ERROR "${lnbwd_chips} has a mistake")
endif()
include(${PROJECT_BINARY_DIR}/include/lnbwd/Chips/chips.cmake)
