#include "plugins/common/config_reader.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::plugins::common {

base::Result<json::Value> DecodeConfig(const admission::PluginConfig& config,
                                       std::span<const ConfigKind> kinds) {
  if (!config.error.ok()) return config.error;
  const json::Value root = config.document.root();
  for (std::string_view member : {"kind", "apiVersion"}) {
    if (root[member].AsString().empty()) {
      return base::ConfigError(base::StrCat("Object '", member == "kind" ? "Kind" : member,
                                            "' is missing in '", config.text, "'"));
    }
  }
  std::string_view kind = root["kind"].AsString();
  std::string_view version = root["apiVersion"].AsString();
  const bool known = std::any_of(kinds.begin(), kinds.end(), [&](const ConfigKind& k) {
    return k.kind == kind && k.api_version == version;
  });
  if (!known) {
    return base::ConfigError(base::StrCat("no kind ", base::GoQuote(kind),
                                          " is registered for version ", base::GoQuote(version),
                                          " in scheme"));
  }
  if (!config.duplicate_yaml_keys.empty()) {
    return base::ConfigError("strict decoding error: " + config.duplicate_yaml_keys);
  }
  if (!config.duplicate_fields.empty()) {
    std::vector<std::string> mistakes;
    for (const std::string& field : config.duplicate_fields) {
      mistakes.push_back(base::StrCat("duplicate field ", base::GoQuote(field)));
    }
    return base::ConfigError("strict decoding error: " + base::Join(mistakes, ", "));
  }
  return root;
}

ConfigReader::ConfigReader(json::Value object)
    : ConfigReader(object, "", std::make_shared<std::vector<std::string>>()) {}

ConfigReader::ConfigReader(json::Value object, std::string path,
                           std::shared_ptr<std::vector<std::string>> mistakes)
    : object_(object), path_(std::move(path)), mistakes_(std::move(mistakes)) {
  if (!object_.is_object() && !object_.is_null()) {
    mistakes_->push_back(base::StrCat("field ", base::GoQuote(path_), " must be an object"));
  }
}

std::string ConfigReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : base::StrCat(path_, ".", name);
}

json::Value ConfigReader::Take(std::string_view name) {
  known_.emplace_back(name);
  return object_[name];
}

void ConfigReader::WrongType(std::string_view name, std::string_view wanted) {
  mistakes_->push_back(base::StrCat("field ", base::GoQuote(PathOf(name)), " must be ", wanted));
}

std::string_view ConfigReader::String(std::string_view name, std::string_view fallback) {
  const json::Value value = Take(name);
  if (!value.is_null() && !value.is_string()) WrongType(name, "a string");
  return value.AsString(fallback);
}

std::int64_t ConfigReader::Int(std::string_view name, std::int64_t fallback) {
  const json::Value value = Take(name);
  if (!value.is_null() && !value.is_int()) WrongType(name, "an integer");
  return value.AsInt(fallback);
}

bool ConfigReader::Bool(std::string_view name, bool fallback) {
  const json::Value value = Take(name);
  if (!value.is_null() && !value.is_bool()) WrongType(name, "a boolean");
  return value.AsBool(fallback);
}

std::vector<std::string> ConfigReader::Strings(std::string_view name) {
  const json::Value value = Take(name);
  std::vector<std::string> out;
  bool good = value.is_null() || value.is_array();
  for (const json::Value& element : value.elements()) {
    good = good && element.is_string();
    out.emplace_back(element.AsString());
  }
  if (!good) WrongType(name, "a list of strings");
  return out;
}

ConfigReader ConfigReader::Child(std::string_view name) {
  return ConfigReader(Take(name), PathOf(name), mistakes_);
}

std::vector<ConfigReader> ConfigReader::Children(std::string_view name) {
  const json::Value value = Take(name);
  if (!value.is_null() && !value.is_array()) WrongType(name, "a list");
  std::vector<ConfigReader> out;
  for (const json::Value& element : value.elements()) {
    out.push_back(ConfigReader(
        element, base::StrCat(PathOf(name), "[", std::to_string(out.size()), "]"), mistakes_));
  }
  return out;
}

json::Value ConfigReader::Any(std::string_view name) { return Take(name); }

void ConfigReader::RefuseOthers() {
  for (const json::Member& member : object_.members()) {
    if (std::find(known_.begin(), known_.end(), member.name()) == known_.end()) {
      mistakes_->push_back(base::StrCat("unknown field ", base::GoQuote(PathOf(member.name()))));
    }
  }
}

base::Status ConfigReader::Finish() {
  if (mistakes_->empty()) return base::OkStatus();
  return base::ConfigError("strict decoding error: " + base::Join(*mistakes_, ", "));
}

}  // namespace portcullis::plugins::common
