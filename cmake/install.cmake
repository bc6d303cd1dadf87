# `cmake --install`: the libraries with their headers, and what find_package(Grove) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Grove)

get_property(libraries GLOBAL PROPERTY GROVE_LIBRARIES)
install(TARGETS ${libraries} EXPORT GroveTargets)
install(EXPORT GroveTargets NAMESPACE Grove:: DESTINATION ${package_folder})

# The doors: data in memory or in files to a record, objectives and methods of one's own, records as
# tables and models. With what they include, about fifty headers.
include(cmake/public_headers.cmake)
set(doors grove/train/problem.h grove/problem/smooth_objective.h grove/record/model.h
          grove/record/comparison.h grove/record/summary.h)
if(TARGET grove_mpi)
  list(APPEND doors grove/runtime/mpi/cluster.h)
endif()
grove_public_headers(public_headers ${doors})
list(LENGTH public_headers public_header_count)
if(public_header_count GREATER 50)
  message(FATAL_ERROR "${public_header_count} headers would be installed; expected at most 50: a "
                      "public header includes too much")
endif()
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()

list(TRANSFORM public_headers PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE doxygen_input)
list(JOIN doxygen_input " " doxygen_input)
configure_file(cmake/Doxyfile.in ${CMAKE_BINARY_DIR}/Doxyfile @ONLY)

configure_package_config_file(cmake/GroveConfig.cmake.in ${CMAKE_BINARY_DIR}/GroveConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/GroveConfig.cmake ${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
              cmake/dependencies.cmake
        DESTINATION ${package_folder})
