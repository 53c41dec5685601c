// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/volume_path_warnings.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "registry/pods/pod_warnings.h"

namespace portcullis::registry {
namespace {

// No file system takes longer paths. Those are not compared, so that a path costs what its length is.
constexpr std::size_t kLongestPath = 4096;

// Where files come from: `Secret "a"`, `DownwardAPI`. Text is made only of what a warning is about.
struct Source {
  std::string_view kind;
  std::optional<std::string_view> name = {};

  std::string ToString() const {
    return name ? base::StrCat(kind, " ", base::GoQuote(*name)) : std::string(kind);
  }
};

struct Volume {
  std::string_view name;
  Source source;

  std::string ToString() const {
    return base::StrCat("volume ", base::GoQuote(name), " (", source.ToString(), ")");
  }
};

struct File {
  std::string_view path;
  std::optional<Source> source;  // none where the volume has one only

  std::string ToString() const {
    const std::string quoted = base::GoQuote(path);
    return source ? base::StrCat(quoted, " (", source->ToString(), ")") : quoted;
  }
};

// The files of one volume so far, by their paths with a slash behind.
class Files {
 public:
  // Warns of each earlier file that is the same, lies in this one or has this one in it.
  void Add(File file, const Volume& volume, std::vector<std::string>& warnings) {
    if (warnings.size() >= kMostWarnings || file.path.size() > kLongestPath) return;
    while (file.path.ends_with('/')) file.path.remove_suffix(1);
    std::string folder = base::StrCat(file.path, "/");
    if (!file.path.empty()) {
      for (const std::size_t index : Overlapping(folder)) {
        if (warnings.size() >= kMostWarnings) return;
        warnings.push_back(base::StrCat(volume.ToString(), ": overlapping paths: ", file.ToString(),
                                        " with ", files_[index].ToString()));
      }
      by_path_[std::move(folder)].push_back(files_.size());
    }
    files_.push_back(file);
  }

 private:
  std::vector<std::size_t> Overlapping(const std::string& folder) const {
    std::vector<std::size_t> found;
    // The file itself and what lies in it, …
    for (auto at = by_path_.lower_bound(folder);
         at != by_path_.end() && at->first.starts_with(folder) && found.size() < kMostWarnings;
         ++at) {
      found.insert(found.end(), at->second.begin(), at->second.end());
    }
    // … then the folders it lies in.
    for (std::size_t slash = folder.find('/'); slash + 1 < folder.size();
         slash = folder.find('/', slash + 1)) {
      const auto at = by_path_.find(std::string_view(folder).substr(0, slash + 1));
      if (at != by_path_.end()) found.insert(found.end(), at->second.begin(), at->second.end());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::vector<File> files_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_path_;
};

void AddItems(json::Value items, std::optional<Source> source, const Volume& volume, Files& files,
              std::vector<std::string>& warnings) {
  for (const json::Value& item : items.elements()) {
    files.Add({item["path"].AsString(), source}, volume, warnings);
  }
}

Source Named(std::string_view kind, json::Value name) { return {kind, name.AsString()}; }

// One of the sources of a projected volume; only the first of several counts.
void AddSource(json::Value source, const Volume& volume, Files& files,
               std::vector<std::string>& warnings) {
  const auto add = [&](json::Value path, const Source& of) {
    if (!path.AsString().empty()) files.Add({path.AsString(), of}, volume, warnings);
  };
  if (const json::Value items = source["configMap"]["items"]; !items.is_null()) {
    AddItems(items, Named("ConfigMap", source["configMap"]["name"]), volume, files, warnings);
  } else if (const json::Value keys = source["secret"]["items"]; !keys.is_null()) {
    AddItems(keys, Named("Secret", source["secret"]["name"]), volume, files, warnings);
  } else if (const json::Value fields = source["downwardAPI"]["items"]; !fields.is_null()) {
    AddItems(fields, Source{"DownwardAPI"}, volume, files, warnings);
  } else if (const json::Value token = source["serviceAccountToken"]; !token.is_null()) {
    add(token["path"], {"ServiceAccountToken"});
  } else if (const json::Value bundle = source["clusterTrustBundle"]; !bundle.is_null()) {
    const json::Value name = bundle["name"];
    add(bundle["path"], Named("ClusterTrustBundle", name.is_null() ? bundle["signerName"] : name));
  } else if (const json::Value certificate = source["podCertificate"]; !certificate.is_null()) {
    add(certificate["certificateChainPath"], {"PodCertificate chain"});
    add(certificate["keyPath"], {"PodCertificate key"});
    add(certificate["credentialBundlePath"], {"PodCertificate credential bundle"});
  }
}

}  // namespace

void VolumePathWarnings(json::Value volumes, std::vector<std::string>& warnings) {
  for (const json::Value& volume : volumes.elements()) {
    const std::string_view volume_name = volume["name"].AsString();
    const auto of_one = [&](json::Value source, std::string_view kind, std::string_view name) {
      const json::Value items = source["items"];
      if (items.empty()) return;
      Files files;
      AddItems(items, {}, {volume_name, name.empty() ? Source{kind} : Named(kind, source[name])},
               files, warnings);
    };
    of_one(volume["configMap"], "ConfigMap", "name");
    of_one(volume["secret"], "Secret", "secretName");
    of_one(volume["downwardAPI"], "DownwardAPI", "");
    const json::Value sources = volume["projected"]["sources"];
    if (sources.empty()) continue;
    const Volume projected{volume_name, {"Projected"}};
    Files files;
    for (const json::Value& source : sources.elements()) {
      if (source.empty()) {
        warnings.push_back(base::StrCat(projected.ToString(), " has no sources provided"));
      } else {
        AddSource(source, projected, files, warnings);
      }
    }
  }
}

}  // namespace portcullis::registry
