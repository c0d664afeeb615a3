// Signed distance shapes in MJCF: <custom><text name="almond_sdf:GEOM" data='{"kind": ...}'/></custom> stands for the
// shape of the geom of that name.

#ifdef ALMOND_HAVE_MUJOCO

#include <mujoco/mujoco.h>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mjcf_reader.hpp"
#include "almond/load/sdf_json.hpp"

namespace almond {
namespace {

constexpr const char* kPrefix = "almond_sdf:";

int find_geom(const mjModel& m, const std::string& name, const std::string& place) {
  std::vector<std::string> names;
  for (int g = 0; g < m.ngeom; ++g) {
    names.emplace_back(m.names + m.name_geomadr[g]);
    if (!name.empty() && names.back() == name) return g;
  }
  const std::string near = nearest_name(name, names);
  throw Error(place + ": there is no geom " + quote(name) +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

/// A text that looks as if it was meant for us: its name before the colon is nearly ours.
void say_if_misspelt(const std::string& name, FileNotes& notes) {
  const std::string ours = kPrefix, before = name.substr(0, name.find(':'));
  if (nearest_name(before, {ours.substr(0, ours.size() - 1)}).empty()) return;
  const std::string geom = name.size() > before.size() ? name.substr(before.size() + 1) : "GEOM";
  notes.said.push_back("text " + quote(name) + ": without effect; did you mean " + quote(ours + geom) + "?");
}

}  // namespace

std::map<int, SdfShape> read_sdf_texts(MjcfReader& r) {
  const mjModel& m = r.m;
  std::map<int, SdfShape> shapes;
  SdfTotals totals;
  for (int t = 0; t < m.ntext; ++t) {
    const std::string name = m.names + m.name_textadr[t];
    if (name.rfind(kPrefix, 0) != 0) {
      say_if_misspelt(name, r.notes);
      continue;
    }
    const std::string place = "text " + quote(name), of = name.substr(std::string(kPrefix).size());
    const int geom = find_geom(m, of, place);
    GridProgress progress;
    if (r.options.grid_progress) progress = [&](double share) { r.options.grid_progress(of, share); };
    const SdfDescription read = parse_sdf(m.text_data + m.text_adr[t], place, r.folder, r.notes, progress, &totals);
    try {
      shapes[geom] = make_sdf_shape(read.sdf, read.surface.max_edge, read.surface.chord_error);
    } catch (const Error& error) {
      throw Error(place + ": " + error.what());
    }
    r.notes.said.push_back("geom " + quote(of) + ": collides as a signed distance shape (" + read.sdf->name() + ")");
  }
  return shapes;
}

}  // namespace almond

#endif
