# Headers of others that nearly all files include, read once per kind of target instead of once per file: with -DALMOND_PCH=ON
# builds take about half the time. Off by default, since a file that forgets an include of these compiles all the same; the
# presets work and coverage, `make tidy` and wheels compile without.

option(ALMOND_PCH "Precompile the headers of Eigen and the standard library (quicker builds of everything)" OFF)

set(almond_precompiled
    <Eigen/Cholesky> <Eigen/Core> <Eigen/Eigenvalues> <Eigen/Geometry> <Eigen/LU> <algorithm> <array> <atomic> <chrono> <cmath>
    <cstdint> <cstdio> <cstdlib> <cstring> <filesystem> <functional> <limits> <map> <memory> <numbers> <numeric> <optional>
    <random> <set> <string> <thread> <variant> <vector>)

# almond_make_precompiled(KIND [headers...]): the headers for KIND, which stands for one set of compiler flags, since those
# have to be the same where the result is read.
function(almond_make_precompiled kind)
  if(NOT ALMOND_PCH)
    return()
  endif()
  set(empty ${PROJECT_BINARY_DIR}/precompiled_${kind}.cpp)
  if(kind STREQUAL "library")
    file(WRITE ${empty}.new "")
    add_library(almond_precompiled_${kind} OBJECT ${empty})
  else()
    file(WRITE ${empty}.new "int main() {}\n")
    add_executable(almond_precompiled_${kind} ${empty})
  endif()
  file(COPY_FILE ${empty}.new ${empty} ONLY_IF_DIFFERENT)
  target_compile_definitions(almond_precompiled_${kind} PRIVATE EIGEN_MAX_ALIGN_BYTES=64)
  target_link_libraries(almond_precompiled_${kind} PRIVATE almond_flags Eigen3::Eigen)
  target_compile_features(almond_precompiled_${kind} PRIVATE cxx_std_20)
  target_precompile_headers(almond_precompiled_${kind} PRIVATE ${almond_precompiled} ${ARGN})
endfunction()

# almond_precompile(TARGET KIND): TARGET reads them.
function(almond_precompile target kind)
  if(TARGET almond_precompiled_${kind})
    target_precompile_headers(${target} REUSE_FROM almond_precompiled_${kind})
  endif()
endfunction()
