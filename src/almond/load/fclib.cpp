#include "almond/load/fclib.hpp"
#include "almond/base/check.hpp"
namespace almond {
ContactProblem read_fclib(const std::string& path, LoadReport&) { throw Error(path + ": built without HDF5"); }
void write_fclib(const ContactProblem&, const std::string& path, FclibForm) { throw Error(path + ": built without HDF5"); }
}
