# almond_link_mujoco(TARGET): headers of MuJoCo as they lie in its Python wheel, whose library is opened when an MJCF file is
# read. Looked for in ALMOND_MUJOCO_DIR, in .venv, in the environment's virtual environment, and in the one that pip builds a
# wheel in; without them MJCF files are refused with a word on how to get it.
option(ALMOND_MUJOCO "Read MJCF files by MuJoCo's library where it is found" ON)

function(almond_link_mujoco target)
  # Found anew each time: the file's name has the version in it, and pip may have brought another one since.
  unset(ALMOND_MUJOCO_LIBRARY CACHE)
  if(NOT ALMOND_MUJOCO)
    return()
  endif()
  if(Python_SITELIB)
    list(APPEND ALMOND_MUJOCO_DIR ${Python_SITELIB}/mujoco)
  endif()
  file(GLOB folders ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/mujoco
       $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/mujoco)
  if(SKBUILD)
    foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
      list(APPEND folders ${prefix}/mujoco)
    endforeach()
  endif()
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
  # Opened at run time (load/mujoco_api): headers only, and where the library lies now.
  target_include_directories(${target} SYSTEM PRIVATE ${ALMOND_MUJOCO_INCLUDE})
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
  get_filename_component(name ${ALMOND_MUJOCO_LIBRARY} NAME)
  if(SKBUILD)
    # A wheel goes to other machines: where the library was on this one means nothing there.
    set(ALMOND_MUJOCO_LIBRARY "")
  endif()
  set_source_files_properties(mujoco_api.cpp PROPERTIES COMPILE_DEFINITIONS
                              "ALMOND_MUJOCO_LIBRARY=\"${ALMOND_MUJOCO_LIBRARY}\";ALMOND_MUJOCO_NAME=\"${name}\"")
  target_compile_definitions(${target} PRIVATE ALMOND_HAVE_MUJOCO)
  set(ALMOND_MUJOCO_LIBRARY ${ALMOND_MUJOCO_LIBRARY} CACHE INTERNAL "MuJoCo's library in use")
endfunction()
