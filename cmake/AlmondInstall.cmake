# Three components: `solver`, the solver library alone (Eigen only, target almond::solver); `simulator`, everything below
# src/almond but the file readers (target almond::almond); `load`, robot, scene and problem files (targets almond::load
# and almond::scenes), with the libraries they need. The first two go by find_package(almond), all three by
# find_package(almond COMPONENTS load). Besides `app`, the program. Without --component all of these are installed; the
# Python module only by its name, since pip has the rest of that package.
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

# What is not built would end an installation halfway: it is looked for before anything is copied.
set(check "")
foreach(part "solver almond_base almond_solver" "simulator almond_model almond_dynamics almond_collision almond_sim almond_task"
             "load almond_load almond_scenes" "app almond")
  string(REPLACE " " ";" targets ${part})
  list(POP_FRONT targets component)
  foreach(target IN LISTS targets)
    if(TARGET ${target})
      string(APPEND check "if((NOT CMAKE_INSTALL_COMPONENT OR CMAKE_INSTALL_COMPONENT STREQUAL \"${component}\") "
             "AND NOT EXISTS \"$<TARGET_FILE:${target}>\")\n  string(APPEND missing \" ${target}\")\nendif()\n")
    endif()
  endforeach()
endforeach()
string(APPEND check "if(missing)
  message(FATAL_ERROR \"Not built:\${missing}. Nothing is installed. Build first: \"
                      \"cmake --build ${PROJECT_BINARY_DIR} --target\${missing}\")
endif()
")
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/almond_install_check.cmake CONTENT "${check}")
