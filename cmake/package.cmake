# `cpack --config build/release/CPackConfig.cmake`: the Debian packages grove, libgrove-dev and
# python3-grove, of what is built. Their components are program, development and python.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME grove)
set(CPACK_PACKAGE_CONTACT "The Grove authors <grove@localhost.localdomain>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "model of data at several sites, without a server")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
                                                GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENTS_ALL program development)
set(same_version "(= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME grove)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "openmpi-bin, python3-grove")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Sites train or fit one model together. Their rows stay
where they are; neighbours exchange iterates or sums. With peers of a network,
a simulator, MPI, a systemd unit and completions of shells.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libgrove-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(development_needs libeigen3-dev libtbb-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
    libarchive-dev zlib1g-dev libssl-dev)
if(TARGET CURL::libcurl)
  list(APPEND development_needs "libcurl4-openssl-dev | libcurl4-dev")
endif()
if(READSTAT_LIBRARY)
  list(APPEND development_needs libreadstat-dev)
endif()
list(JOIN development_needs ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
if(TARGET grove_mpi)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS libopenmpi-dev)
endif()
if(TARGET grove_peer)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS
      "libgrpc++-dev, protobuf-compiler-grpc, libprotobuf-dev, libspdlog-dev, prometheus-cpp-dev")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Static libraries, headers and what find_package(Grove)
of CMake needs: objectives, methods and runs in programs of one's own. The
component peer needs what this package suggests.")

if(TARGET grove_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-grove)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
  get_property(minor GLOBAL PROPERTY GROVE_PYTHON_MINOR)
  math(EXPR next_minor "${minor} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${minor}~), python3 (<< 3.${next_minor}), python3-numpy, \
python3-scipy, python3-sklearn")
  # Compiled files of Python come and go with the package.
  set(scripts ${PROJECT_SOURCE_DIR}/cmake/debian/python3-grove)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "grove ${same_version}, python3-pandas")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-matplotlib)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Estimators as those of scikit-learn, generalized linear
models of pandas frames of several sites, and networks of peers, which are
started with the program of the package grove.")
endif()

# Each package has a copyright and a changelog.
configure_file(cmake/debian/changelog.in ${CMAKE_BINARY_DIR}/share/changelog @ONLY)
find_program(GROVE_GZIP gzip)
if(GROVE_GZIP)
  execute_process(COMMAND ${GROVE_GZIP} -9nf ${CMAKE_BINARY_DIR}/share/changelog)
endif()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES cmake/debian/copyright DESTINATION ${folder} COMPONENT ${component})
  install(FILES ${CMAKE_BINARY_DIR}/share/changelog.gz DESTINATION ${folder} COMPONENT ${component}
          OPTIONAL)
endforeach()
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/grove COMPONENT program)
include(CPack)
