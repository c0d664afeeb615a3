# Installs into empty prefixes, moves them, and builds and runs users' projects against them: the solver library alone,
# then the whole simulator, then with the readers of robot files.
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
    run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component ${component} --prefix ${dir}/first)
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
