# Three components: `solver`, the solver library alone (Eigen only, target almond::solver); `simulator`, everything below
# src/almond but the file readers (target almond::almond); `load`, robot, scene and problem files (targets almond::load
# and almond::scenes), with the libraries they need. The first two go by find_package(almond), all three by
# find_package(almond COMPONENTS load).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/almond)

# install_part(COMPONENT EXPORT folders...)
function(install_part component export)
  foreach(folder ${ARGN})
    install(TARGETS almond_${folder} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component})
    install(
      DIRECTORY src/almond/${folder}
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond
      COMPONENT ${component}
      FILES_MATCHING
      PATTERN "*.hpp")
  endforeach()
  install(
    EXPORT ${export}
    NAMESPACE almond::
    DESTINATION ${package_dir}
    COMPONENT ${component})
endfunction()

install_part(solver almond_targets base solver)
install_part(simulator almond_simulator_targets model dynamics collision sim task)
install(FILES src/almond/almond.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond COMPONENT simulator)

if(TARGET almond_load)
  install(TARGETS almond_load almond_scenes EXPORT almond_load_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT
                                                                                                            load)
  install(DIRECTORY src/almond/load DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond COMPONENT load FILES_MATCHING
          PATTERN "*.hpp")
  install(FILES scenes/file_scene.hpp scenes/scene.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond/scenes COMPONENT load)
  install(EXPORT almond_load_targets NAMESPACE almond:: DESTINATION ${package_dir} COMPONENT load)
endif()

configure_package_config_file(cmake/almond-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake
  DESTINATION ${package_dir}
  COMPONENT solver)
