#include "almond/load/mujoco_model.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/mujoco_messages.hpp"

namespace almond {
namespace {

MujocoModel compile(const std::string& path, const mjVFS* files, const std::string& place, FileNotes& notes) {
  require(mj_version() == mjVERSION_HEADER, place + ": MuJoCo's library is version " + std::to_string(mj_version()) +
                                                ", expected " + std::to_string(mjVERSION_HEADER) +
                                                ", with which this program was built; build it again");
  char error[2000] = "";
  MujocoModel m(nullptr, mj_deleteModel);
  {
    const MujocoMessages messages(notes.said);
    m.reset(mj_loadXML(path.c_str(), files, error, sizeof error));
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
  mjVFS files;
  mj_defaultVFS(&files);
  const std::string name = (folder.empty() ? "" : folder + "/") + "text.xml";
  MujocoModel m(nullptr, mj_deleteModel);
  try {
    require(mj_addBufferVFS(&files, name.c_str(), text.data(), static_cast<int>(text.size())) == 0,
            name + ": MuJoCo cannot take the text");
    m = compile(name, &files, place, notes);
  } catch (...) {
    mj_deleteVFS(&files);
    throw;
  }
  mj_deleteVFS(&files);
  return m;
}

}  // namespace almond

#endif
