#pragma once
// What the files of the MJCF reader share.

#include "almond/load/mjcf.hpp"

struct mjModel_;

namespace almond {

struct MjcfReader {
  const mjModel_& m;
  ModelBuilder& builder;
  const FileOptions& options;
  FileNotes& notes;
  MjcfFile& file;

  [[nodiscard]] std::string name_of(const int* addresses, int id, const std::string& otherwise) const;
  void ignore(const std::string& kind, int count = 1) {
    if (count > 0) notes.ignored[kind] += count;
  }
  [[nodiscard]] bool disabled(int flag) const;
};

void read_geoms(MjcfReader& r);                                 // mjcf_geoms.cpp
void read_filters(MjcfReader& r);                               // excludes and pairs
void read_tendons(MjcfReader& r, std::vector<int>& tendon_of);  // mjcf_forces.cpp
void read_equality(MjcfReader& r, const std::vector<int>& tendon_of);
void read_actuators(MjcfReader& r, const std::vector<int>& tendon_of);

}  // namespace almond
