// SPDX-License-Identifier: Apache-2.0

#include "offline/inputs.h"

#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "api/names.h"
#include "base/file.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/yaml.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

namespace fs = std::filesystem;

// A document that is larger is not parsed: kube-apiserver takes no request of more than 3 MiB, and a
// List of many objects is better written as many documents.
constexpr std::size_t kMaxDocument = std::size_t{64} << 20;

constexpr std::size_t kMaxListDepth = 8;

constexpr std::string_view kStandardInput = "<stdin>";

// Groups whose files look like Kubernetes objects but are read by programs, not by the API server.
constexpr std::string_view kForeignGroups[] = {
    "apiserver.config.k8s.io",
    "apiserver.k8s.io",
    "audit.k8s.io",
    "chainsaw.kyverno.io",
    "cli.kyverno.io",
    "client.authentication.k8s.io",
    "kind.x-k8s.io",
    "kube-scheduler.config.k8s.io",
    "kubeadm.k8s.io",
    "kubelet.config.k8s.io",
    "kubeproxy.config.k8s.io",
    "kustomize.config.k8s.io",
    "test.gatekeeper.sh",
};

bool IsForeign(std::string_view group, std::string_view version, std::string_view kind) {
  if (group.empty() && version == "v1" && kind == "Config") return true;  // a kubeconfig
  return std::find(std::begin(kForeignGroups), std::end(kForeignGroups), group) !=
         std::end(kForeignGroups);
}

std::size_t CountLines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The number in `yaml: line 7: …`; 0 if there is none.
std::size_t LineIn(std::string_view message) {
  const std::size_t at = message.find("line ");
  if (at == std::string_view::npos) return 0;
  std::size_t line = 0;
  for (char digit : message.substr(at + 5)) {
    if (digit < '0' || digit > '9' || line > 100'000'000) break;
    line = line * 10 + static_cast<std::size_t>(digit - '0');
  }
  return line;
}

// The objects of a text that holds JSON objects one after the other. What follows the last one that
// is complete is part of it, so that its error is found.
std::vector<std::string_view> SplitJson(std::string_view text) {
  std::vector<std::string_view> objects;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0 && json::HasJsonPrefix(text.substr(i + 1))) {
      objects.push_back(text.substr(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  objects.push_back(text.substr(begin));
  return objects;
}

void Describe(Manifest& manifest, json::Value object) {
  manifest.object = object;
  manifest.api_version = object["apiVersion"].AsString();
  manifest.kind = object["kind"].AsString();
  manifest.ns = object["metadata"]["namespace"].AsString();
  manifest.name = object["metadata"]["name"].AsString();
}

// Reads the documents of one file.
class FileReader {
 public:
  FileReader(std::string path, std::string text, bool named, Inputs& inputs)
      : path_(std::move(path)),
        file_(std::make_shared<const std::string>(std::move(text))),
        named_(named),
        inputs_(inputs) {}

  void Run() {
    if (IsGoTest(path_)) return ReadGoTest();
    ++inputs_.files;
    if (file_->find('\0') != std::string::npos) {
      return Fail(0, 0, "a binary file, not YAML or JSON");
    }
    const std::size_t before = inputs_.manifests.size() + inputs_.problems.size();
    std::size_t line = 1;
    const char* position = file_->data();
    for (const std::string_view document : Documents()) {
      line += CountLines({position, static_cast<std::size_t>(document.data() - position)});
      position = document.data();
      ReadDocument(document, line);
    }
    const std::size_t after = inputs_.manifests.size() + inputs_.problems.size();
    if (named_ && after == before && !knows_) {
      Fail(0, 0, "holds no Kubernetes object: none of its documents has an apiVersion and a kind");
    }
  }

 private:
  std::vector<std::string_view> Documents() const {
    std::vector<std::string_view> documents = json::SplitYaml(*file_);
    if (documents.size() == 1 && json::HasJsonPrefix(*file_)) return SplitJson(*file_);
    return documents;
  }

  void Fail(std::size_t line, std::size_t column, std::string message) {
    inputs_.problems.push_back({{path_, line, column}, std::move(message)});
  }

  void ReadGoTest() {
    Manifest manifest;
    manifest.source = std::make_shared<const SourceText>(path_, file_, *file_, 1);
    manifest.arena = std::make_shared<json::Arena>();
    manifest.object = json::String(*manifest.arena, *file_);
    if (FormatOf(manifest) != nullptr) {
      ++inputs_.files;
      inputs_.tests.push_back(std::move(manifest));
    } else if (named_) {
      Fail(0, 0, "a Go test that is not one of vap-library's");
    }
  }

  void ReadDocument(std::string_view text, std::size_t line) {
    if (text.size() > kMaxDocument) {
      return Fail(line, 1,
                  base::StrCat("a document of ", std::to_string(text.size() >> 20),
                               " MiB; at most 64 MiB are read"));
    }
    auto arena = std::make_shared<json::Arena>();
    auto value = json::ParseYaml(*arena, text);
    // Not all JSON is YAML: `\/` is an escape of JSON alone.
    if (!value.ok() && json::HasJsonPrefix(text)) {
      if (auto plain = json::Parse(*arena, text); plain.ok()) value = std::move(plain);
    }
    if (!value.ok()) {
      const std::string& message = value.status().message();
      std::size_t own = std::max<std::size_t>(LineIn(message), 1);
      // Go's library counts the lines of these errors from 0, of all others from 1.
      if (LineIn(message) != 0 && message.find("did not find expected") != std::string::npos) ++own;
      return Fail(line + own - 1, 0, base::StrCat(WithoutLine(message), HintFor(text, message)));
    }
    if (value->is_null()) return;
    const auto source = std::make_shared<const SourceText>(path_, file_, text, line);
    AddObject(source, {}, arena, *value);
  }

  static std::string_view HintFor(std::string_view text, std::string_view message) {
    if (text.find("{{") != std::string_view::npos) {
      return " (a template? render it first: helm template . | portcullis test -)";
    }
    if (message.ends_with("found character that cannot start any token") &&
        text.find('\t') != std::string_view::npos) {
      return " (a tab? YAML is indented with spaces)";
    }
    if (message.ends_with("mapping values are not allowed in this context")) {
      return " (an expression with \": \" in it? Quote it, or write it on the next line behind >-)";
    }
    return "";
  }

  // The line is given as the place, counted from the beginning of the file.
  static std::string WithoutLine(std::string_view message) {
    if (!message.starts_with("yaml: line ")) return std::string(message);
    const auto cut = base::Cut(message.substr(6), ": ");
    return cut ? base::StrCat("yaml: ", cut->second) : std::string(message);
  }

  void AddObject(const std::shared_ptr<const SourceText>& source, std::vector<std::string> steps,
                 const std::shared_ptr<json::Arena>& arena, json::Value object) {
    Manifest manifest;
    manifest.source = source;
    manifest.steps = std::move(steps);
    manifest.arena = arena;
    Describe(manifest, object);
    if (manifest.steps.empty() && FormatOf(manifest) != nullptr) {
      knows_ = true;
      return inputs_.tests.push_back(std::move(manifest));
    }
    if (manifest.api_version.empty() || manifest.kind.empty()) {
      ++inputs_.ignored;
      return;
    }
    const json::Value items = object["items"];
    if (manifest.kind.ends_with("List") && items.is_array()) {
      knows_ = true;
      if (manifest.steps.size() >= 2 * kMaxListDepth) {
        return Fail(source->line(), 1, "Lists in Lists in Lists: at most 8 levels are read");
      }
      for (std::size_t i = 0; i < items.size(); ++i) {
        std::vector<std::string> own = manifest.steps;
        own.insert(own.end(), {"items", std::to_string(i)});
        AddObject(source, std::move(own), arena, items[i]);
      }
      return;
    }
    const auto version = api::ParseGroupVersion(manifest.api_version);
    if (version.ok() && IsForeign(version->group, version->version, manifest.kind)) {
      knows_ = true;
      ++inputs_.ignored;
      if (manifest.kind == "AdmissionConfiguration") {
        inputs_.admission_configurations.push_back(path_);
      }
      return;
    }
    inputs_.manifests.push_back(std::move(manifest));
  }

  const std::string path_;
  const std::shared_ptr<const std::string> file_;
  const bool named_;
  bool knows_ = false;  // a document is of a kind that is known, though no object of the API
  Inputs& inputs_;
};

bool IsManifestName(const fs::path& path) {
  const std::string extension = base::ToLower(path.extension().string());
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

class Walker {
 public:
  explicit Walker(Inputs& inputs) : inputs_(inputs) {}

  // What a user has named.
  void Named(const std::string& path, bool recursive) {
    // As the Go tool and gator write it: a folder with all that is below it.
    if (path.ends_with("/...")) return Named(path.substr(0, path.size() - 4), true);
    // CI systems take paths for those of a repository only without "./".
    if (path.size() > 2 && path.starts_with("./") && path != "./-") {
      return Named(path.substr(path.find_first_not_of('/', 2) == 2 ? 2 : 1), recursive);
    }
    if (path == "-") {
      auto text = base::ReadStandardInput();
      if (!text.ok()) return Fail(std::string(kStandardInput), text.status().message());
      return ReadText(std::string(kStandardInput), *std::move(text), true, inputs_);
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
      return Fail(path, base::StrCat(base::ErrnoText(errno)));
    }
    if (S_ISDIR(info.st_mode)) return Folder(path, recursive);
    File(path, true);
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  void Fail(std::string path, std::string message) {
    inputs_.problems.push_back({{std::move(path), 0, 0}, std::move(message)});
  }

  // A file that is met twice, by two paths or links, is read once.
  bool IsNew(const struct stat& info) { return seen_.insert({info.st_dev, info.st_ino}).second; }

  void File(const std::string& path, bool named) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return Fail(path, base::ErrnoText(errno));
    if (S_ISREG(info.st_mode) && !IsNew(info)) return;
    auto text = base::ReadFile(path);
    if (!text.ok()) {
      const std::string prefix = base::StrCat("open ", path, ": ");
      const std::string& message = text.status().message();
      return Fail(path, message.starts_with(prefix) ? message.substr(prefix.size()) : message);
    }
    ReadText(path, *std::move(text), named, inputs_);
  }

  void Folder(const std::string& path, bool recursive) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return Fail(path, base::ErrnoText(errno));
    const Identity identity{info.st_dev, info.st_ino};
    if (std::find(open_.begin(), open_.end(), identity) != open_.end()) {
      return Fail(path, "a link to a directory that it is in");
    }
    if (!IsNew(info)) return;
    open_.push_back(identity);
    for (const fs::path& entry : EntriesOf(path)) Entry(entry, recursive);
    open_.pop_back();
  }

  std::vector<fs::path> EntriesOf(const std::string& path) {
    std::vector<fs::path> entries;
    std::error_code error;
    const fs::directory_iterator end;
    fs::directory_iterator at(path, error);
    while (!error && at != end) {
      entries.push_back(path == "." ? at->path().filename() : at->path());
      at.increment(error);
    }
    if (error) Fail(path, base::ErrnoText(error.value()));
    std::sort(entries.begin(), entries.end());
    return entries;
  }

  void Entry(const fs::path& entry, bool recursive) {
    const std::string name = entry.filename().string();
    // Hidden, but for the folders in which Kyverno's policies keep their tests.
    if (name.starts_with('.') && name != ".kyverno-test" && name != ".chainsaw-test") return;
    struct stat info {};
    if (::stat(entry.c_str(), &info) != 0) {
      // A broken link is no manifest, whatever kind of file it leads to.
      if (IsManifestName(entry)) Fail(entry.string(), base::ErrnoText(errno));
      return;
    }
    if (S_ISDIR(info.st_mode)) {
      if (recursive) Folder(entry.string(), true);
    } else if (S_ISREG(info.st_mode) && (IsManifestName(entry) || IsGoTest(name))) {
      File(entry.string(), false);
    }
  }

  Inputs& inputs_;
  std::vector<Identity> open_;  // the folders on the way to where the walk is
  std::set<Identity> seen_;
};

}  // namespace

std::string Location::ToString() const {
  std::string text = file;
  if (line != 0) text += base::StrCat(":", std::to_string(line));
  if (line != 0 && column != 0) text += base::StrCat(":", std::to_string(column));
  return text;
}

Location SourceText::Find(std::span<const std::string> path, std::size_t* steps) const {
  if (!places_) places_.emplace(text_);
  auto place = path.empty() ? std::nullopt : places_->Find(path);
  if (!place) place = places_->Root();
  if (steps != nullptr) *steps = place ? place->steps : 0;
  if (!place) return {path_, line_, 1};
  return {path_, line_ + place->line - 1, place->column};
}

Location Manifest::Find(std::span<const std::string> path, std::size_t* found) const {
  std::vector<std::string> all = steps;
  all.insert(all.end(), path.begin(), path.end());
  std::size_t count = 0;
  Location place = source->Find(all, &count);
  if (found != nullptr) *found = count > steps.size() ? count - steps.size() : 0;
  return place;
}

std::string_view Manifest::group() const {
  const auto cut = base::Cut(api_version, "/");
  return cut ? cut->first : std::string_view();
}

void ReadText(const std::string& path, std::string text, bool named, Inputs& inputs) {
  FileReader(path, std::move(text), named, inputs).Run();
}

Manifest MakeManifest(const Manifest& origin, std::shared_ptr<json::Arena> arena,
                      json::Value object) {
  Manifest manifest;
  manifest.source = origin.source;
  manifest.steps = origin.steps;
  // Parts of the object may be the origin's.
  if (arena != origin.arena) arena->Retain(origin.arena);
  manifest.arena = std::move(arena);
  Describe(manifest, object);
  return manifest;
}

Inputs ReadInputs(const InputOptions& options) {
  Inputs inputs;
  for (const std::string& path : options.old) {
    Inputs old;
    Walker(old).Named(path, true);
    inputs.given.insert(inputs.given.end(), old.manifests.begin(), old.manifests.end());
    inputs.problems.insert(inputs.problems.end(), old.problems.begin(), old.problems.end());
    inputs.files += old.files;
  }
  Walker walker(inputs);
  for (const std::string& path : options.paths) walker.Named(path, true);
  inputs.own = inputs.manifests.size();
  for (const std::string& path : options.filenames) walker.Named(path, options.recursive);
  return inputs;
}

std::vector<const Manifest*> InOrderOfCreation(const Inputs& inputs) {
  std::vector<const Manifest*> manifests;
  for (const Manifest& manifest : inputs.manifests) manifests.push_back(&manifest);
  const auto rank = [](const Manifest* manifest) {
    if (manifest->kind == "CustomResourceDefinition") return 0;
    return manifest->kind == "Namespace" ? 1 : 2;
  };
  std::stable_sort(manifests.begin(), manifests.end(),
                   [&](const Manifest* a, const Manifest* b) { return rank(a) < rank(b); });
  return manifests;
}

}  // namespace portcullis::offline
