# Flags shared by all targets, and the two functions that make a target out of a folder.

include(CheckCXXCompilerFlag)
include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/AlmondPrecompiled.cmake)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# How we compile our own code; never passed on to users of the library.
# errno and FP traps are not observed anywhere, so sqrt may be an instruction and selects may be vectorised. Value-changing
# flags (-ffast-math) stay off: residuals near rounding, infinities and NaN checks must mean what they say.
add_library(almond_flags INTERFACE)
target_compile_options(almond_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                                              -fno-math-errno -fno-trapping-math)
target_compile_definitions(almond_flags INTERFACE EIGEN_DONT_PARALLELIZE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in "a" + std::string (its bug 105651).
  target_compile_options(almond_flags INTERFACE -Wno-restrict)
endif()
if(ALMOND_NATIVE)
  check_cxx_compiler_flag(-march=native ALMOND_HAS_MARCH_NATIVE)
  if(ALMOND_HAS_MARCH_NATIVE)
    target_compile_options(almond_flags INTERFACE -march=native)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC's own AVX-512 header trips over these; the dev preset, built without it, keeps them.
      target_compile_options(almond_flags INTERFACE -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
  endif()
endif()
if(ALMOND_ARCH)
  target_compile_options(almond_flags INTERFACE -march=${ALMOND_ARCH})
endif()
if(ALMOND_WERROR)
  target_compile_options(almond_flags INTERFACE -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # These come out of the optimiser, differ from release to release, and mostly point into Eigen: shown, not fatal.
    target_compile_options(
      almond_flags INTERFACE -Wno-error=maybe-uninitialized -Wno-error=array-bounds -Wno-error=stringop-overflow
                             -Wno-error=stringop-overread -Wno-error=free-nonheap-object)
  endif()
endif()

almond_make_precompiled(library)

# almond_add_library(NAME FOLDER [RECURSE] [PUBLIC targets...] [PRIVATE targets...] [INCLUDE dir])
# A static library of FOLDER/*.cpp; header-only while the folder has no sources. INCLUDE is the include root, src/ by default.
function(almond_add_library name folder)
  cmake_parse_arguments(arg "RECURSE" "INCLUDE" "PUBLIC;PRIVATE" ${ARGN})
  if(NOT arg_INCLUDE)
    set(arg_INCLUDE ${PROJECT_SOURCE_DIR}/src)
  endif()
  if(arg_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${arg_INCLUDE}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:almond_flags> ${arg_PRIVATE})
    target_compile_features(${name} PUBLIC cxx_std_20)
    almond_precompile(${name} library)
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${arg_INCLUDE}>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} INTERFACE ${arg_PUBLIC})
  endif()
endfunction()
