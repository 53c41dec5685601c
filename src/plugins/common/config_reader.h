// Reading a plugin's configuration strictly: every mistake is gathered with its path, so that an
// operator sees all of them at once.
//
//   ConfigDocument document = TRY(DecodeConfig(*context.config, kVersions));
//   ConfigReader reader(document.root);
//   std::int64_t burst = reader.Int("burst");
//   TRY(reader.Finish());
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admission/plugin.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::plugins::common {

// A kind of configuration that a plugin understands.
struct ConfigKind {
  std::string_view api_version;
  std::string_view kind;
};

// The document of `config` if it parses, has no duplicate members and is of one of `kinds`. Errors
// have Kubernetes' texts: `Object 'Kind' is missing in '…'`, `no kind "X" is registered for version
// "Y" in scheme`.
base::Result<json::Value> DecodeConfig(const admission::PluginConfig& config,
                                       std::span<const ConfigKind> kinds);

// Confined to one thread. Children share the list of mistakes.
class ConfigReader {
 public:
  explicit ConfigReader(json::Value object);

  // The member's value; the fallback if absent or null. A value of another type is a mistake.
  std::string_view String(std::string_view name, std::string_view fallback = {});
  std::int64_t Int(std::string_view name, std::int64_t fallback = 0);
  bool Bool(std::string_view name, bool fallback = false);
  std::vector<std::string> Strings(std::string_view name);
  ConfigReader Child(std::string_view name);
  std::vector<ConfigReader> Children(std::string_view name);
  // Any value; it is only marked as known.
  json::Value Any(std::string_view name);

  json::Value value() const { return object_; }
  // Members not asked for are mistakes. Call on each reader once everything has been read.
  void RefuseOthers();
  // OK, or `strict decoding error: unknown field "limits[0].foo", …`.
  base::Status Finish();

 private:
  ConfigReader(json::Value object, std::string path,
               std::shared_ptr<std::vector<std::string>> mistakes);
  json::Value Take(std::string_view name);
  void WrongType(std::string_view name, std::string_view wanted);
  std::string PathOf(std::string_view name) const;

  json::Value object_;
  std::string path_;
  std::vector<std::string> known_ = {"apiVersion", "kind"};
  std::shared_ptr<std::vector<std::string>> mistakes_;
};

}  // namespace portcullis::plugins::common
