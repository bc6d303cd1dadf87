# Compiler settings every Grove target shares, and two helpers that keep the folder lists short.
add_library(grove_settings INTERFACE)
target_compile_options(grove_settings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                                 -Wno-sign-conversion
                                                 -Wno-missing-field-initializers)
# GCC collects its own garbage after every third of growth. Without that the program compiles a sixth
# faster (86 instead of 105 s on two cores), and the largest file takes 1.7 instead of 1.2 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(grove_settings INTERFACE "SHELL:--param ggc-min-expand=1000"
                                                   "SHELL:--param ggc-min-heapsize=4000000")
endif()
if(GROVE_SANITIZE)
  target_compile_options(grove_settings INTERFACE -fsanitize=${GROVE_SANITIZE}
                                                   -fno-omit-frame-pointer)
  target_link_options(grove_settings INTERFACE -fsanitize=${GROVE_SANITIZE})
endif()
if(GROVE_COVERAGE)
  target_compile_options(grove_settings INTERFACE --coverage)
  target_link_options(grove_settings INTERFACE --coverage)
endif()

# Code outside the inner loops compiles twice as fast with fewer optimizations.
function(grove_compile_quickly target)
  if(NOT CMAKE_CXX_CLANG_TIDY)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# grove_library(NAME [PLUGIN] [QUICK] [SOURCES ...] [DEPENDS public...] [PRIVATE private...]): target
# grove_NAME, alias Grove::NAME. PLUGIN: it is part of a plug-in of the program, not of the program.
# QUICK: it has no inner loops.
function(grove_library name)
  cmake_parse_arguments(ARG "PLUGIN;QUICK" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  if(ARG_SOURCES)
    add_library(grove_${name} STATIC ${ARG_SOURCES})
    target_include_directories(grove_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                    $<INSTALL_INTERFACE:include>)
    target_link_libraries(grove_${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE}
                                               $<BUILD_INTERFACE:grove_settings>)
    target_compile_features(grove_${name} PUBLIC cxx_std_20)
    # The Python module is made of the same objects as the program. Without interposition calls
    # inside a library are as direct as they are without position-independent code.
    set_target_properties(grove_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(grove_${name} PRIVATE -fno-semantic-interposition)
    if(ARG_QUICK)
      grove_compile_quickly(grove_${name})
    endif()
    if(NOT ARG_PLUGIN)
      set_property(GLOBAL APPEND PROPERTY GROVE_CORE_LIBRARIES grove_${name})
    endif()
  else()
    add_library(grove_${name} INTERFACE)
    target_include_directories(grove_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                                       $<INSTALL_INTERFACE:include>)
    target_link_libraries(grove_${name} INTERFACE ${ARG_DEPENDS})
    target_compile_features(grove_${name} INTERFACE cxx_std_20)
  endif()
  add_library(Grove::${name} ALIAS grove_${name})
  set_target_properties(grove_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY GROVE_LIBRARIES grove_${name})
endfunction()

# grove_test(NAME SOURCES ... DEPENDS ...): one GoogleTest program, registered with CTest as NAME.
function(grove_test name)
  if(NOT GROVE_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main rapidcheck
                                        rapidcheck_gtest grove_settings)
  target_compile_options(${name} PRIVATE -O1)  # tests spend their time compiling, not running
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                           UNITY_BUILD OFF)  # helpers of tests share names
  add_test(NAME ${name} COMMAND ${name})
endfunction()
