# cmake -DBUILD=<Grove's build folder> -DGENERATOR=... -DCOMPILER=... -P check.cmake
# Installs Grove below its build folder, then builds and runs the consumer against the installation.
function(must)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(work ${BUILD}/consumer)
file(REMOVE_RECURSE ${work})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed)
must(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
     -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${work}/installed)
must(${CMAKE_COMMAND} --build ${work}/build)
must(${work}/build/consumer)
if(EXISTS ${work}/build/cluster)
  must(${work}/build/cluster)
endif()
must(${work}/installed/bin/grove --version)
