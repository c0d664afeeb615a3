# almond_link_mujoco(TARGET): MuJoCo's library and headers as they lie in its Python wheel. Looked for in ALMOND_MUJOCO_DIR,
# in .venv, and in the environment's virtual environment; without them MJCF files are refused with a word on how to get it.
option(ALMOND_MUJOCO "Read MJCF files by MuJoCo's library where it is found" ON)

function(almond_link_mujoco target)
  # Found anew each time: the file's name has the version in it, and pip may have brought another one since.
  unset(ALMOND_MUJOCO_LIBRARY CACHE)
  if(NOT ALMOND_MUJOCO)
    return()
  endif()
  file(GLOB folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/mujoco
       $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/mujoco)
  set(hints ${ALMOND_MUJOCO_DIR} ${folders})
  find_path(ALMOND_MUJOCO_INCLUDE mujoco/mujoco.h HINTS ${hints} PATH_SUFFIXES include)
  foreach(folder IN LISTS hints)
    file(GLOB libraries ${folder}/libmujoco.so.*)
    if(libraries AND NOT ALMOND_MUJOCO_LIBRARY)
      list(GET libraries 0 ALMOND_MUJOCO_LIBRARY)
    endif()
  endforeach()
  if(NOT ALMOND_MUJOCO_INCLUDE OR NOT ALMOND_MUJOCO_LIBRARY)
    message(STATUS "MuJoCo not found: MJCF files cannot be read (pip install mujoco-core into .venv)")
    return()
  endif()
  message(STATUS "MJCF by ${ALMOND_MUJOCO_LIBRARY}")
  # By a name, which the installed package fills in anew: the wheel may lie elsewhere on the machine that uses it.
  add_library(almond::mujoco SHARED IMPORTED GLOBAL)
  set_target_properties(almond::mujoco PROPERTIES IMPORTED_LOCATION ${ALMOND_MUJOCO_LIBRARY})
  target_include_directories(${target} SYSTEM PRIVATE ${ALMOND_MUJOCO_INCLUDE})
  target_link_libraries(${target} PRIVATE almond::mujoco)
  target_compile_definitions(${target} PRIVATE ALMOND_HAVE_MUJOCO)
  set(ALMOND_MUJOCO_LIBRARY ${ALMOND_MUJOCO_LIBRARY} CACHE INTERNAL "MuJoCo's library in use, for the installed package")
endfunction()
