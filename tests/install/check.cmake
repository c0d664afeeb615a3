# Installs into empty prefixes, moves them, and builds and runs users' projects against them: the solver library alone,
# then the whole simulator, then with the readers of robot files, then everything at once. A build that is not finished
# installs nothing.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nfailed (${status}):\n${output}")
  endif()
endfunction()

# check(NAME PROJECT PROGRAM components...)
function(check name project program)
  set(dir ${WORK_DIR}/${name})
  file(REMOVE_RECURSE ${dir})
  file(MAKE_DIRECTORY ${dir})
  foreach(component ${ARGN})
    if(component STREQUAL "everything")
      run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${dir}/first)
    else()
      run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component ${component} --prefix ${dir}/first)
    endif()
  endforeach()
  file(RENAME ${dir}/first ${dir}/prefix)
  run(${CMAKE_COMMAND} -S ${project} -B ${dir}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX} -D
      CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${dir}/prefix)
  run(${CMAKE_COMMAND} --build ${dir}/build)
  run(${dir}/build/${program})
endfunction()

check(solver ${CMAKE_CURRENT_LIST_DIR} consumer solver)
check(simulator ${CMAKE_CURRENT_LIST_DIR}/../../examples/tower tower solver simulator)
check(task ${CMAKE_CURRENT_LIST_DIR}/../../examples/pick pick solver simulator)

set(robot ${CMAKE_CURRENT_LIST_DIR}/../../examples/robot)
check(load ${robot} robot solver simulator load)
run(${WORK_DIR}/load/build/robot ${robot}/leg.urdf)
if(MUJOCO)
  run(${WORK_DIR}/load/build/robot ${robot}/leg.xml)
endif()

check(everything ${robot} robot everything)
run(${WORK_DIR}/everything/build/robot ${robot}/leg.urdf)
if(EXISTS ${WORK_DIR}/everything/prefix/almond)
  message(FATAL_ERROR "half of the Python package is installed")
endif()

# Configured and not built: every way to install is refused, and leaves nothing behind.
set(empty ${WORK_DIR}/not_built)
file(REMOVE_RECURSE ${empty})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/../.. -B ${empty}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
    -D ALMOND_TESTS=OFF -D ALMOND_BENCH=OFF)
foreach(component "" solver simulator load)
  set(option)
  if(component)
    set(option --component ${component})
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${empty}/build ${option} --prefix ${empty}/prefix RESULT_VARIABLE status
                  ERROR_VARIABLE error OUTPUT_QUIET)
  if(status EQUAL 0 OR NOT error MATCHES "Not built: almond_.*Nothing[ \n]+is[ \n]+installed" OR EXISTS ${empty}/prefix)
    message(FATAL_ERROR "--install ${option} of what is not built: status ${status}, ${error}")
  endif()
endforeach()
