# Two components: `solver`, the solver library alone (Eigen only, target almond::solver), and `simulator`, everything
# below src/almond but the file readers (target almond::almond). Both go by find_package(almond).
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
install_part(simulator almond_simulator_targets model dynamics collision sim)
install(FILES src/almond/almond.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond COMPONENT simulator)

configure_package_config_file(cmake/almond-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake
  DESTINATION ${package_dir}
  COMPONENT solver)
