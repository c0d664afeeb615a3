/* Standard output and error for the HDF5 that is linked into the Python module (cmake/AlmondHdf5.cmake). */
#include <stdio.h>

FILE* almond_hdf5_stdout;
FILE* almond_hdf5_stderr;

__attribute__((constructor)) static void open_streams(void) {
  almond_hdf5_stdout = stdout;
  almond_hdf5_stderr = stderr;
}
