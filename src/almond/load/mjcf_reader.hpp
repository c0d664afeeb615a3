#pragma once
// What the files of the MJCF reader share.

#include <map>
#include <string>
#include <vector>

#include "almond/load/mjcf.hpp"
#include "almond/load/mjcf_files.hpp"

struct mjModel_;

namespace almond {

struct MjcfReader {
  const mjModel_& m;
  ModelBuilder& builder;
  const FileOptions& options;
  FileNotes& notes;
  const std::string& folder;  // of the file
  MjcfFile& file;

  [[nodiscard]] std::string name_of(const int* addresses, int id, const std::string& otherwise) const;
  void ignore(const std::string& kind, int count = 1) {
    if (count > 0) notes.ignored[kind] += count;
  }
  [[nodiscard]] bool disabled(int flag) const;
};

std::map<int, SdfShape> read_sdf_texts(MjcfReader& r);          // mjcf_sdf.cpp: by geom of the file
void read_geoms(MjcfReader& r);                                 // mjcf_geoms.cpp
void read_filters(MjcfReader& r);                               // excludes and pairs
void read_tendons(MjcfReader& r, std::vector<int>& tendon_of);  // mjcf_forces.cpp
void read_equality(MjcfReader& r, const std::vector<int>& tendon_of);
void read_actuators(MjcfReader& r, const std::vector<int>& tendon_of);

/// Refuses what MuJoCo must not be given: names of files that `folder` does not allow (file_trust.hpp), here and in
/// what is included or attached, what would fill the memory, and XML that is not read here as MuJoCo might. Throws
/// Error with place and line; returns what MuJoCo may read.
[[nodiscard]] MjcfFiles check_mjcf(const std::string& text, const std::string& place, const std::string& folder,
                                   const FileOptions& options);

}  // namespace almond
