# `cmake --install`: the libraries with their headers, and what find_package(Grove) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Grove)

get_property(libraries GLOBAL PROPERTY GROVE_LIBRARIES)
install(TARGETS ${libraries} EXPORT GroveTargets)
install(EXPORT GroveTargets NAMESPACE Grove:: DESTINATION ${package_folder})

# The doors: data in memory or in files to a record, objectives and methods of one's own, records as
# tables and models. The same as in src/grove/grove.h, mpi.h and peer.h.
include(cmake/public_headers.cmake)
set(doors grove/problem/smooth_objective.h grove/record/comparison.h grove/record/model.h
          grove/record/summary.h grove/train/problem.h)
if(TARGET grove_mpi)
  list(APPEND doors grove/runtime/mpi/cluster.h)
endif()
if(TARGET grove_peer)
  list(APPEND doors grove/peer/peer.h)
  # An export of its own: only programs that ask for the component peer need gRPC.
  install(TARGETS grove_peer grove_peer_wire EXPORT GrovePeerTargets)
  install(EXPORT GrovePeerTargets NAMESPACE Grove:: DESTINATION ${package_folder})
endif()
grove_public_headers(${doors})
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/grove DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

get_property(doxygen_input GLOBAL PROPERTY GROVE_PUBLIC_HEADERS)
list(TRANSFORM doxygen_input PREPEND ${PROJECT_SOURCE_DIR}/src/)
list(JOIN doxygen_input " " doxygen_input)
configure_file(cmake/Doxyfile.in ${CMAKE_BINARY_DIR}/Doxyfile @ONLY)

configure_package_config_file(cmake/GroveConfig.cmake.in ${CMAKE_BINARY_DIR}/GroveConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/GroveConfig.cmake ${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
              cmake/dependencies.cmake
        DESTINATION ${package_folder})
