# HDF5 out of the distribution's static library where there is one. Its shared one brings libcurl and 30 libraries more, for
# drivers that read from the network; nothing refers to those, so the linker leaves them out.
#
# The static library is compiled for programs: it takes the addresses of stdout and stderr in a way that the Python module, a
# shared library, cannot have. A copy of it gets these two under names of our own (cmake/hdf5_streams.c).
function(almond_link_hdf5 target)
  # Users of the installed library get the shared one, by path: FindHDF5 would ask them for a C compiler.
  foreach(file IN LISTS HDF5_C_LIBRARIES)
    target_link_libraries(${target} PRIVATE $<INSTALL_INTERFACE:${file}>)
  endforeach()
  find_library(ALMOND_STATIC_HDF5 NAMES libhdf5_serial.a libhdf5.a)
  find_library(ALMOND_STATIC_SZ libsz.a)
  find_library(ALMOND_STATIC_AEC libaec.a)
  mark_as_advanced(ALMOND_STATIC_HDF5 ALMOND_STATIC_SZ ALMOND_STATIC_AEC)
  if(NOT (ALMOND_STATIC_HDF5 AND ALMOND_STATIC_SZ AND ALMOND_STATIC_AEC AND CMAKE_OBJCOPY))
    message(STATUS "No static HDF5 (libhdf5_serial.a, libsz.a, libaec.a): the shared one is linked, with all that it needs")
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:hdf5::hdf5>)
    return()
  endif()
  set(archive ${CMAKE_CURRENT_BINARY_DIR}/libhdf5_inside.a)
  add_library(almond_hdf5_streams OBJECT ${PROJECT_SOURCE_DIR}/cmake/hdf5_streams.c)
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdout=almond_hdf5_stdout --redefine-sym stderr=almond_hdf5_stderr
            ${ALMOND_STATIC_HDF5} ${archive}
    COMMAND ${CMAKE_AR} rs ${archive} $<TARGET_OBJECTS:almond_hdf5_streams>
    DEPENDS ${ALMOND_STATIC_HDF5} almond_hdf5_streams $<TARGET_OBJECTS:almond_hdf5_streams>
    COMMENT "Copying HDF5"
    VERBATIM)
  add_custom_target(almond_hdf5_archive DEPENDS ${archive})
  add_dependencies(${target} almond_hdf5_archive)
  target_include_directories(${target} SYSTEM PRIVATE ${HDF5_C_INCLUDE_DIRS})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${archive}> $<BUILD_INTERFACE:${ALMOND_STATIC_SZ}>
                                          $<BUILD_INTERFACE:${ALMOND_STATIC_AEC}> $<BUILD_INTERFACE:${CMAKE_DL_LIBS}> $<BUILD_INTERFACE:m>)
endfunction()
