#include "almond/load/mujoco_model.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include <cstring>
#include <mutex>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mujoco_api.hpp"
#include "almond/load/mujoco_messages.hpp"

namespace almond {
namespace {

/// One compilation. MuJoCo asks for files from several threads; nothing may be thrown through its code.
struct Session {
  const MjcfFiles& files;
  std::mutex mutex;
  std::string denied, failed;  // the first that was asked for and may not be read; the first that could not be
};

/// A file that MuJoCo has opened.
struct OpenFile {
  const std::string* text = nullptr;  // one that was looked through
  const MjcfFiles::Asset* asset = nullptr;
  std::string bytes;  // of an asset
};

Session& session_of(const mjResource* resource) { return *static_cast<Session*>(resource->provider->data); }

int open_file(mjResource* resource) {
  Session& session = session_of(resource);
  const MjcfFiles& files = session.files;
  const std::string path = mujoco_path("/", "", resource->name);
  const auto text = files.texts.find(path);
  const auto asset = files.assets.find(path);
  if (text != files.texts.end()) {
    resource->data = new OpenFile{&text->second, nullptr, {}};
    return 1;
  }
  if (asset != files.assets.end()) {
    asset->second.stamp.copy(resource->timestamp, sizeof resource->timestamp - 1);
    resource->data = new OpenFile{nullptr, &asset->second, {}};
    return 1;
  }
  const std::lock_guard lock(session.mutex);
  const auto outside = files.outside.find(path);
  if (outside != files.outside.end() && session.denied.empty()) session.denied = outside->second;
  return 0;
}

int read_open_file(mjResource* resource, const void** bytes) {
  Session& session = session_of(resource);
  auto& file = *static_cast<OpenFile*>(resource->data);
  try {
    if (file.asset != nullptr && file.bytes.empty()) file.bytes = read_known_file(file.asset->path, file.asset->bytes);
    const std::string& all = file.text != nullptr ? *file.text : file.bytes;
    require(all.size() <= INT32_MAX, with_plain_paths(resource->name) + ": has more than 2 GB, expected less");
    *bytes = all.data();
    return static_cast<int>(all.size());
  } catch (const std::exception& error) {
    const std::lock_guard lock(session.mutex);
    if (session.failed.empty()) session.failed = error.what();
    *bytes = nullptr;
    return -1;
  }
}

void close_file(mjResource* resource) {
  delete static_cast<OpenFile*>(resource->data);
  resource->data = nullptr;
}

/// MuJoCo keeps what it made of a mesh by its name and stamp.
int was_changed(const mjResource* resource, const char* stamp) {
  return resource->timestamp[0] == '\0' || std::strcmp(resource->timestamp, stamp) != 0 ? 1 : 0;
}

int accept(mjResource* /*mount*/) { return 1; }

/// The files, under all their roots and what lies above them.
class Mount {
 public:
  Mount(const MujocoApi& mj, Session& session) : mj_(mj) {
    mj_.default_provider(&provider_);
    provider_.open = open_file;
    provider_.read = read_open_file;
    provider_.close = close_file;
    provider_.mount = accept;
    provider_.unmount = accept;
    provider_.modified = was_changed;
    provider_.data = &session;
    mj_.default_vfs(&files_);
    for (const std::string& root : session.files.roots) mj_.mount_vfs(&files_, root.c_str(), &provider_);
    mj_.mount_vfs(&files_, "/..", &provider_);
  }
  ~Mount() { mj_.delete_vfs(&files_); }
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  [[nodiscard]] const mjVFS* files() const { return &files_; }

 private:
  const MujocoApi& mj_;
  mjpResourceProvider provider_{};
  mjVFS files_{};
};

/// One line of MuJoCo's text.
std::string plain_line(const char* message) {
  std::string text = with_plain_paths(message);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

}  // namespace

MujocoModel compile_mjcf(const MjcfFiles& files, const std::string& place, FileNotes& notes) {
  const MujocoApi& mj = mujoco_api(place);
  Session session{files, {}, {}, {}};
  char error[2000] = "";
  MujocoModel m(nullptr, mj.delete_model);
  std::vector<std::string> warnings;
  {
    const MujocoMessages messages(warnings);
    const Mount mount(mj, session);
    m.reset(mj.load_xml(files.main.c_str(), mount.files(), error, sizeof error));
  }
  for (const std::string& warning : warnings) notes.said.push_back(with_plain_paths(warning));
  const std::string text = plain_line(error);
  const bool missing = text.find("Error opening file") != std::string::npos;
  require(m != nullptr || session.failed.empty(), place + ": " + session.failed);
  require(m != nullptr || !missing || session.denied.empty(), session.denied);
  const std::string folder = path_behind(files.main).parent_path().string();
  require(m != nullptr,
          place + ": " + (text.empty() ? "MuJoCo cannot load it" : text) +
              (missing ? "; it was looked for from " + quote(folder) + ", by the file's meshdir and assetdir" : ""));
  if (!text.empty()) add_mujoco_line(text, notes.said);
  return m;
}

}  // namespace almond

#endif
