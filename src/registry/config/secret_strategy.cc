// SPDX-License-Identifier: Apache-2.0

// Secrets (pkg/apis/core/validation).

#include "base/strings.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "pki/certificates.h"
#include "registry/config/data_checks.h"
#include "registry/kind_table.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

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

void ValidateSecret(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value data = object["data"];
  std::size_t total = 0;
  for (const json::Member* entry : json::MembersByName(data)) {
    AddInvalid(FieldPath("data").Key(entry->name()), entry->name(), IsConfigMapKey(entry->name()),
               errors);
    total += DecodedSize(entry->value.AsString());
  }
  if (total > kMostDataBytes) errors.push_back(api::TooLong(FieldPath("data"), kMostDataBytes));
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

void CheckSecretChange(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  CheckImmutable(object["type"], old["type"], FieldPath("type"), errors);
  CheckImmutableData(WithSentEmpty(ctx.arena, object, ctx.sent, "data"), old, {"data"}, errors);
}

void WarnOfSecret(const Context&, json::Value object, json::Value,
                  std::vector<std::string>& warnings) {
  if (object["type"].AsString() != "kubernetes.io/tls") return;
  const json::Value data = object["data"];
  const auto certificate = base::Base64Decode(data["tls.crt"].AsString());
  const auto key = base::Base64Decode(data["tls.key"].AsString());
  if (!certificate || !key) return;
  const auto status = pki::CheckKeyPair(*certificate, *key);
  if (!status.ok()) warnings.emplace_back(status.message());
}

}  // namespace

void AddSecretStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "secrets",
             .validate = &ValidateSecret,
             .validate_between = &CheckSecretChange,
             .validate_update = &AsNew<&ValidateSecret>,
             .warn = &WarnOfSecret,
             .metadata = {.update = "UF"}});
}

}  // namespace portcullis::registry
