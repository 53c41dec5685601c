// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/volume_path_warnings.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>

#include "base/gotext.h"
#include "base/strings.h"
#include "registry/pods/pod_warnings.h"

namespace portcullis::registry {
namespace {

// No file system takes longer paths. Those are not compared, so that a path costs what its length is.
constexpr std::size_t kLongestPath = 4096;

struct File {
  std::string path;
  std::string source;  // `Secret "a"`; empty where the volume has one source only

  std::string ToString() const {
    const std::string quoted = base::GoQuote(path);
    return source.empty() ? quoted : base::StrCat(quoted, " (", source, ")");
  }
};

// The files of one volume so far, by their paths with a slash behind.
class Files {
 public:
  // Warns of each earlier file that is the same, lies in this one or has this one in it.
  void Add(File file, const std::string& volume, std::vector<std::string>& warnings) {
    if (warnings.size() >= kMostWarnings || file.path.size() > kLongestPath) return;
    while (file.path.ends_with('/')) file.path.pop_back();
    for (const std::size_t index : Overlapping(file.path)) {
      if (warnings.size() >= kMostWarnings) return;
      warnings.push_back(base::StrCat(volume, ": overlapping paths: ", file.ToString(), " with ",
                                      files_[index].ToString()));
    }
    if (!file.path.empty()) by_path_[file.path + "/"].push_back(files_.size());
    files_.push_back(std::move(file));
  }

 private:
  std::vector<std::size_t> Overlapping(const std::string& path) const {
    std::vector<std::size_t> found;
    if (path.empty()) return found;
    const std::string folder = path + "/";
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

void AddItems(json::Value items, const std::string& source, const std::string& volume, Files& files,
              std::vector<std::string>& warnings) {
  for (const json::Value& item : items.elements()) {
    files.Add({std::string(item["path"].AsString()), source}, volume, warnings);
  }
}

std::string Named(std::string_view what, json::Value name) {
  return base::StrCat(what, " ", base::GoQuote(name.AsString()));
}

// One of the sources of a projected volume; only the first of several counts.
void AddSource(json::Value source, const std::string& volume, Files& files,
               std::vector<std::string>& warnings) {
  const auto add = [&](json::Value path, std::string what) {
    if (!path.AsString().empty()) {
      files.Add({std::string(path.AsString()), std::move(what)}, volume, warnings);
    }
  };
  if (const json::Value items = source["configMap"]["items"]; !items.is_null()) {
    AddItems(items, Named("ConfigMap", source["configMap"]["name"]), volume, files, warnings);
  } else if (const json::Value keys = source["secret"]["items"]; !keys.is_null()) {
    AddItems(keys, Named("Secret", source["secret"]["name"]), volume, files, warnings);
  } else if (const json::Value fields = source["downwardAPI"]["items"]; !fields.is_null()) {
    AddItems(fields, "DownwardAPI", volume, files, warnings);
  } else if (const json::Value token = source["serviceAccountToken"]; !token.is_null()) {
    add(token["path"], "ServiceAccountToken");
  } else if (const json::Value bundle = source["clusterTrustBundle"]; !bundle.is_null()) {
    const json::Value name = bundle["name"];
    add(bundle["path"], Named("ClusterTrustBundle", name.is_null() ? bundle["signerName"] : name));
  } else if (const json::Value certificate = source["podCertificate"]; !certificate.is_null()) {
    add(certificate["certificateChainPath"], "PodCertificate chain");
    add(certificate["keyPath"], "PodCertificate key");
    add(certificate["credentialBundlePath"], "PodCertificate credential bundle");
  }
}

}  // namespace

void VolumePathWarnings(json::Value volumes, std::vector<std::string>& warnings) {
  for (const json::Value& volume : volumes.elements()) {
    const auto named = [&](std::string_view what) {
      return base::StrCat("volume ", base::GoQuote(volume["name"].AsString()), " (", what, ")");
    };
    const auto of_one = [&](json::Value source, std::string_view kind, std::string_view name) {
      const json::Value items = source["items"];
      if (items.empty()) return;
      Files files;
      AddItems(items, "", named(name.empty() ? std::string(kind) : Named(kind, source[name])),
               files, warnings);
    };
    of_one(volume["configMap"], "ConfigMap", "name");
    of_one(volume["secret"], "Secret", "secretName");
    of_one(volume["downwardAPI"], "DownwardAPI", "");
    const json::Value sources = volume["projected"]["sources"];
    if (sources.empty()) continue;
    const std::string projected = named("Projected");
    Files files;
    for (const json::Value& source : sources.elements()) {
      if (source.empty()) {
        warnings.push_back(base::StrCat(projected, " has no sources provided"));
      } else {
        AddSource(source, projected, files, warnings);
      }
    }
  }
}

}  // namespace portcullis::registry
