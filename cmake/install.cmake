# `cmake --install`: the libraries with their headers, and what find_package(Grove) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Grove)

get_property(libraries GLOBAL PROPERTY GROVE_LIBRARIES)
install(TARGETS ${libraries} EXPORT GroveTargets)
install(EXPORT GroveTargets NAMESPACE Grove:: DESTINATION ${package_folder})
install(DIRECTORY src/grove ${CMAKE_BINARY_DIR}/generated/grove
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "test_*" EXCLUDE PATTERN "naive_*" EXCLUDE)

configure_package_config_file(cmake/GroveConfig.cmake.in ${CMAKE_BINARY_DIR}/GroveConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/GroveConfig.cmake ${CMAKE_BINARY_DIR}/GroveConfigVersion.cmake
              cmake/dependencies.cmake
        DESTINATION ${package_folder})
