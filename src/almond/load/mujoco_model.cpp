#include "almond/load/mujoco_model.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mujoco_api.hpp"
#include "almond/load/mujoco_messages.hpp"

namespace almond {
namespace {

MujocoModel compile(const std::string& path, const mjVFS* files, const std::string& place, FileNotes& notes) {
  const MujocoApi& mj = mujoco_api(place);
  char error[2000] = "";
  MujocoModel m(nullptr, mj.delete_model);
  {
    const MujocoMessages messages(notes.said);
    m.reset(mj.load_xml(path.c_str(), files, error, sizeof error));
  }
  std::string text = error;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  const std::string looked = text.find("Error opening file") == std::string::npos
                                 ? ""
                                 : "; it was looked for from " +
                                       quote(std::filesystem::absolute(path).parent_path().string()) +
                                       ", by the file's meshdir and assetdir";
  require(m != nullptr, place + ": " + (text.empty() ? "MuJoCo cannot load it" : text) + looked);
  if (!text.empty()) add_mujoco_line(text, notes.said);
  return m;
}

}  // namespace

MujocoModel compile_mjcf_file(const std::string& path, FileNotes& notes) { return compile(path, nullptr, path, notes); }

MujocoModel compile_mjcf_text(const std::string& text, const std::string& folder, const std::string& place,
                              FileNotes& notes) {
  const MujocoApi& mj = mujoco_api(place);
  mjVFS files;
  mj.default_vfs(&files);
  const std::string name = (folder.empty() ? "" : folder + "/") + "text.xml";
  MujocoModel m(nullptr, mj.delete_model);
  try {
    require(mj.add_buffer_vfs(&files, name.c_str(), text.data(), static_cast<int>(text.size())) == 0,
            name + ": MuJoCo cannot take the text");
    m = compile(name, &files, place, notes);
  } catch (...) {
    mj.delete_vfs(&files);
    throw;
  }
  mj.delete_vfs(&files);
  return m;
}

}  // namespace almond

#endif
