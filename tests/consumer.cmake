# An installed Grove works for a project that does find_package(Grove). Not with instrumented
# libraries, which need their sanitizer in every program that links them.
if(NOT GROVE_SANITIZE AND NOT GROVE_COVERAGE)
  add_test(NAME consumer
           COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
                   -DCOMPILER=${CMAKE_CXX_COMPILER}
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.cmake)
endif()
