// ConfigMaps and Secrets.

#include "base/strings.h"
#include "json/reader.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::size_t kMaxSize = 1024 * 1024;
constexpr std::string_view kImmutableSet = "field is immutable when `immutable` is set";

// Size of what base64 text stands for.
std::size_t DecodedSize(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return text.size() / 4 * 3 - padding;
}

void CheckImmutableData(json::Value object, json::Value old,
                        std::initializer_list<std::string_view> fields, FieldErrors& errors) {
  if (!old["immutable"].AsBool()) return;
  if (!object["immutable"].AsBool()) {
    errors.push_back(api::Forbidden(FieldPath("immutable"), kImmutableSet));
  }
  for (const std::string_view field : fields) {
    if (!(object[field] == old[field])) {
      errors.push_back(api::Forbidden(FieldPath(field), kImmutableSet));
    }
  }
}

bool RequireKey(json::Value data, std::string_view key, FieldErrors& errors) {
  if (data.Has(key)) return true;
  errors.push_back(api::Required(FieldPath("data").Key(key), ""));
  return false;
}

void CheckDockerConfig(const Context& ctx, json::Value data, std::string_view key,
                       FieldErrors& errors) {
  if (!RequireKey(data, key, errors)) return;
  const auto text = base::Base64Decode(data[key].AsString());
  const auto parsed = json::Parse(ctx.arena, text ? std::string_view(*text) : std::string_view());
  if (!parsed.ok()) {
    errors.push_back(api::Invalid(FieldPath("data").Key(key), "<secret contents redacted>",
                                  parsed.status().message()));
  }
}

void ValidateConfigMap(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value data = object["data"];
  const json::Value binary = object["binaryData"];
  std::size_t total = 0;
  for (const json::Member* entry : SortedMembers(data)) {
    const FieldPath path = FieldPath("data").Key(entry->name());
    AddInvalid(path, entry->name(), IsConfigMapKey(entry->name()), errors);
    if (binary.Has(entry->name())) {
      errors.push_back(api::Invalid(path, entry->name(), "duplicate of key present in binaryData"));
    }
    total += entry->value.AsString().size();
  }
  for (const json::Member* entry : SortedMembers(binary)) {
    AddInvalid(FieldPath("binaryData").Key(entry->name()), entry->name(),
               IsConfigMapKey(entry->name()), errors);
    total += DecodedSize(entry->value.AsString());
  }
  if (total > kMaxSize) errors.push_back(api::TooLong(FieldPath("[]"), kMaxSize));
}

void ValidateConfigMapUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  CheckImmutableData(object, old, {"data", "binaryData"}, errors);
  ValidateConfigMap(ctx, object, errors);
}

void ValidateSecret(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value data = object["data"];
  std::size_t total = 0;
  for (const json::Member* entry : SortedMembers(data)) {
    AddInvalid(FieldPath("data").Key(entry->name()), entry->name(), IsConfigMapKey(entry->name()),
               errors);
    total += DecodedSize(entry->value.AsString());
  }
  if (total > kMaxSize) errors.push_back(api::TooLong(FieldPath("data"), kMaxSize));
  const std::string_view type = object["type"].AsString();
  if (type == "kubernetes.io/service-account-token") {
    constexpr std::string_view kName = "kubernetes.io/service-account.name";
    if (object["metadata"]["annotations"][kName].AsString().empty()) {
      errors.push_back(api::Required(FieldPath("metadata", "annotations").Key(kName), ""));
    }
  } else if (type == "kubernetes.io/dockercfg") {
    CheckDockerConfig(ctx, data, ".dockercfg", errors);
  } else if (type == "kubernetes.io/dockerconfigjson") {
    CheckDockerConfig(ctx, data, ".dockerconfigjson", errors);
  } else if (type == "kubernetes.io/basic-auth") {
    if (!data.Has("username") && !data.Has("password")) {
      RequireKey(data, "username", errors);
      RequireKey(data, "password", errors);
    }
  } else if (type == "kubernetes.io/ssh-auth") {
    if (data["ssh-privatekey"].AsString().empty()) {
      errors.push_back(api::Required(FieldPath("data").Key("ssh-privatekey"), ""));
    }
  } else if (type == "kubernetes.io/tls") {
    RequireKey(data, "tls.crt", errors);
    RequireKey(data, "tls.key", errors);
  }
}

void ValidateSecretUpdate(const Context& ctx, json::Value object, json::Value old,
                          FieldErrors& errors) {
  CheckImmutable(object["type"], old["type"], FieldPath("type"), errors);
  CheckImmutableData(object, old, {"data"}, errors);
  ValidateSecret(ctx, object, errors);
}

void WarnOfSecret(const Context&, json::Value object, json::Value,
                  std::vector<std::string>& warnings) {
  if (object["type"].AsString() != "kubernetes.io/tls") return;
  const auto holds_pem = [&](std::string_view key) {
    const auto text = base::Base64Decode(object["data"][key].AsString());
    return text && text->find("-----BEGIN ") != std::string::npos;
  };
  if (!holds_pem("tls.crt")) {
    warnings.emplace_back("tls: failed to find any PEM data in certificate input");
  } else if (!holds_pem("tls.key")) {
    warnings.emplace_back("tls: failed to find any PEM data in key input");
  }
}

}  // namespace

void AddConfig(KindTable& table) {
  table.Add({.group = "",
             .resource = "configmaps",
             .validate = &ValidateConfigMap,
             .validate_update = &ValidateConfigMapUpdate});
  table.Add({.group = "",
             .resource = "secrets",
             .validate = &ValidateSecret,
             .validate_update = &ValidateSecretUpdate,
             .warn = &WarnOfSecret});
}

}  // namespace portcullis::registry
