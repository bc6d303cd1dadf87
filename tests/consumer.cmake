# An installed Grove works for a project that does find_package(Grove). Not with instrumented
# libraries, which need their sanitizer in every program that links them.
if(NOT GROVE_SANITIZE AND NOT GROVE_COVERAGE)
  set(programs own_method own_objective train_in_memory)
  if(TARGET grove_mpi)
    list(APPEND programs cluster)
  endif()
  if(TARGET grove_peer)
    list(APPEND programs peer)
  endif()
  add_test(NAME consumer
           COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
                   -DCOMPILER=${CMAKE_CXX_COMPILER} -DEXAMPLES=${PROJECT_SOURCE_DIR}/examples
                   "-DPROGRAMS=${programs}" -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.cmake)
endif()
