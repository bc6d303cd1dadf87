# cmake -DBUILD=<Grove's build folder> -DEXAMPLES=... -DPROGRAMS=... -DGENERATOR=... -DCOMPILER=...
#       -P check.cmake
# Installs Grove below its build folder, then builds and runs the consumer's programs, PROGRAMS of
# them, against the installation.
function(must)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed)
file(GLOB_RECURSE headers RELATIVE ${work}/installed/include ${work}/installed/include/*)
list(LENGTH headers count)
message(STATUS "${count} headers are installed: ${headers}")
if(count LESS 10 OR count GREATER 17)
  message(FATAL_ERROR "${count} headers are installed; expected about fifteen")
endif()
must(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${work}/installed -DEXAMPLES=${EXAMPLES})
must(${CMAKE_COMMAND} --build ${work}/build)
foreach(program IN LISTS PROGRAMS)
  must(${work}/build/${program})
endforeach()
must(${work}/installed/bin/grove --version)
