# Installs the solver library alone: headers of base/ and solver/, two archives, and the package files for
# find_package(almond) with the target almond::solver.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/almond)
install(TARGETS almond_base almond_solver EXPORT almond_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT solver)
foreach(folder base solver)
  install(
    DIRECTORY src/almond/${folder}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/almond
    COMPONENT solver
    FILES_MATCHING
    PATTERN "*.hpp")
endforeach()
install(
  EXPORT almond_targets
  NAMESPACE almond::
  DESTINATION ${package_dir}
  COMPONENT solver)

configure_package_config_file(cmake/almond-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${CMAKE_CURRENT_BINARY_DIR}/almond-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/almond-config-version.cmake
  DESTINATION ${package_dir}
  COMPONENT solver)
