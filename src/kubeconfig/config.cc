// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/config.h"

#include <cstddef>
#include <filesystem>
#include <span>

#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "base/file.h"
#include "base/strings.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "json/yaml_place.h"

namespace portcullis::kubeconfig {
namespace {

using json::Value;

constexpr std::string_view kScheme = "k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50";
constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";
constexpr std::size_t kMaxKubeconfig = std::size_t{16} << 20;

constexpr std::string_view kTypes = R"(
v1.Config: kind string, apiVersion string, preferences v1.Preferences, clusters []v1.NamedCluster, users []v1.NamedAuthInfo, contexts []v1.NamedContext, current-context string, extensions []v1.NamedExtension
v1.Preferences: colors bool, extensions []v1.NamedExtension
v1.NamedExtension: name string, extension any
v1.NamedCluster: name string, cluster v1.Cluster
v1.Cluster: server string, tls-server-name string, insecure-skip-tls-verify bool, certificate-authority string, certificate-authority-data []uint8, proxy-url string, disable-compression bool, extensions []v1.NamedExtension
v1.NamedContext: name string, context v1.Context
v1.Context: cluster string, user string, namespace string, extensions []v1.NamedExtension
v1.NamedAuthInfo: name string, user v1.AuthInfo
v1.AuthInfo: client-certificate string, client-certificate-data []uint8, client-key string, client-key-data []uint8, token string, tokenFile string, as string, as-uid string, as-groups []string, as-user-extra map[string][]string, username string, password string, auth-provider v1.AuthProviderConfig, exec v1.ExecConfig, extensions []v1.NamedExtension
v1.AuthProviderConfig: name string, config map[string]string
v1.ExecConfig: command string, args []string, env []v1.ExecEnvVar, apiVersion string, installHint string, provideClusterInfo bool, interactiveMode v1.ExecInteractiveMode=string
v1.ExecEnvVar: name string, value string)";

base::Status CheckKind(Value config) {
  TRY(api::schema::CheckTypeMeta(config));
  const std::string_view kind = config["kind"].AsString();
  const std::string_view version = config["apiVersion"].AsString();
  if ((kind.empty() || kind == "Config") && (version.empty() || version == "v1")) {
    return base::OkStatus();
  }
  return base::ConfigError(api::schema::NotRegistered(kind.empty() ? "Config" : kind,
                                                      version.empty() ? "v1" : version, kScheme));
}

using Path = std::vector<std::string>;

// Follows `fields` through objects and, without a step, through the elements of arrays to the first
// value of the JSON type `type`.
bool FindMistake(Value value, std::span<const std::string_view> fields, std::string_view type,
                 Path& path) {
  if (fields.empty() && json::GoTypeName(value) == type) return true;
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.elements().size(); ++i) {
      path.push_back(std::to_string(i));
      if (FindMistake(value.elements()[i], fields, type, path)) return true;
      path.pop_back();
    }
    return false;
  }
  if (fields.empty() || !value.Has(fields.front())) return false;
  path.emplace_back(fields.front());
  if (FindMistake(value[fields.front()], fields.subspan(1), type, path)) return true;
  path.pop_back();
  return false;
}

bool FindBadBase64(Value value, Path& path) {
  for (const json::Member& member : value.members()) {
    path.emplace_back(member.name());
    if (member.name().ends_with("-data") && member.value.is_string() &&
        !base::Base64Decode(member.value.AsString())) {
      return true;
    }
    if (FindBadBase64(member.value, path)) return true;
    path.pop_back();
  }
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    path.push_back(std::to_string(i));
    if (FindBadBase64(value.elements()[i], path)) return true;
    path.pop_back();
  }
  return false;
}

// Where the value is that Go's message is about: it names the members on the way to it, but no
// indexes.
Path PathOfMistake(Value config, std::string_view message) {
  Path path;
  const auto type = base::Cut(message, "cannot unmarshal ");
  if (!type) {
    FindBadBase64(config, path);
    return path;
  }
  const auto field = base::Cut(type->second, " into Go struct field ");
  if (!field) return path;
  const std::string_view name = field->second.substr(0, field->second.find(' '));
  std::vector<std::string_view> fields = base::Split(name, '.');
  fields.erase(fields.begin());
  FindMistake(config, fields, field->first, path);
  return path;
}

base::Status AtPlace(std::string_view text, const Path& path, std::string_view message) {
  const auto place = json::FindInYaml(text, path);
  if (path.empty() || !place) return base::ConfigError(std::string(message));
  return base::ConfigError(base::StrCat("line ", std::to_string(place->line), ", column ",
                                        std::to_string(place->column), ": ", message));
}

// A `-data` member, which Decode has found sound.
std::string Data(Value value) {
  return base::Base64Decode(value.AsString()).value_or(std::string());
}

Cluster ReadCluster(Value value, const std::string& folder) {
  Cluster cluster;
  cluster.server = value["server"].AsString();
  cluster.tls_server_name = value["tls-server-name"].AsString();
  cluster.insecure_skip_tls_verify = value["insecure-skip-tls-verify"].AsBool();
  cluster.certificate_authority =
      base::ResolvePath(folder, std::string(value["certificate-authority"].AsString()));
  cluster.certificate_authority_data = Data(value["certificate-authority-data"]);
  cluster.proxy_url = value["proxy-url"].AsString();
  cluster.disable_compression = value["disable-compression"].AsBool();
  for (const Value extension : value["extensions"].elements()) {
    if (extension["name"].AsString() != kExecExtension) continue;
    cluster.exec_config = json::ToString(extension["extension"], {.sort_keys = true});
  }
  return cluster;
}

ExecConfig ReadExec(Value value, const std::string& folder) {
  ExecConfig exec;
  exec.command = value["command"].AsString();
  // A bare name is looked up in PATH.
  if (exec.command.find('/') != std::string::npos) {
    exec.command = base::ResolvePath(folder, exec.command);
  }
  for (const Value argument : value["args"].elements()) {
    exec.arguments.emplace_back(argument.AsString());
  }
  for (const Value variable : value["env"].elements()) {
    exec.environment.emplace_back(variable["name"].AsString(), variable["value"].AsString());
  }
  exec.api_version = value["apiVersion"].AsString();
  exec.install_hint = value["installHint"].AsString();
  exec.interactive_mode = value["interactiveMode"].AsString();
  if (exec.interactive_mode.empty() &&
      (exec.api_version.ends_with("client.authentication.k8s.io/v1beta1") ||
       exec.api_version.ends_with("client.authentication.k8s.io/v1alpha1"))) {
    exec.interactive_mode = "IfAvailable";
  }
  exec.provides_cluster_info = value["provideClusterInfo"].AsBool();
  return exec;
}

User ReadUser(Value value, const std::string& folder) {
  const auto text = [&](std::string_view name) { return std::string(value[name].AsString()); };
  User user;
  user.token = text("token");
  user.token_file = base::ResolvePath(folder, text("tokenFile"));
  user.username = text("username");
  user.password = text("password");
  user.client_certificate = base::ResolvePath(folder, text("client-certificate"));
  user.client_certificate_data = Data(value["client-certificate-data"]);
  user.client_key = base::ResolvePath(folder, text("client-key"));
  user.client_key_data = Data(value["client-key-data"]);
  user.as = text("as");
  user.as_uid = text("as-uid");
  for (const Value group : value["as-groups"].elements()) {
    user.as_groups.emplace_back(group.AsString());
  }
  for (const json::Member& extra : value["as-user-extra"].members()) {
    auto& values = user.as_user_extra.emplace_back(extra.name(), std::vector<std::string>()).second;
    for (const Value one : extra.value.elements()) values.emplace_back(one.AsString());
  }
  if (value["auth-provider"].is_object()) {
    user.auth_provider = value["auth-provider"]["name"].AsString();
  }
  if (value["exec"].is_object()) user.exec = ReadExec(value["exec"], folder);
  return user;
}

Context ReadContext(Value value, const std::string& /*folder*/) {
  return {std::string(value["cluster"].AsString()), std::string(value["user"].AsString()),
          std::string(value["namespace"].AsString())};
}

struct ListOfNamed {
  std::string_view name;
  std::string_view member;    // of an element, beside its name
  std::string_view go_types;  // that Kubernetes converts
};

// Kubernetes puts the whole list behind the message of a repeated name;
// that would write tokens and keys into the log.
template <typename Item>
base::Status ReadList(std::string_view text, Value config, const ListOfNamed& list,
                      Item (*read)(Value, const std::string&), const std::string& folder,
                      std::map<std::string, Item, std::less<>>& out) {
  const auto elements = config[list.name].elements();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string name(elements[i]["name"].AsString());
    if (out.try_emplace(name, read(elements[i][list.member], folder)).second) continue;
    return AtPlace(text, {std::string(list.name), std::to_string(i)},
                   base::StrCat("error converting ", list.go_types, ": duplicate name \"", name,
                                "\" in list"));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<Config> Parse(std::string_view text, const std::string& folder) {
  json::Arena arena;
  Config config;
  const Value document = TRY(json::ParseYaml(arena, text));
  if (document.is_null()) return config;
  TRY(CheckKind(document));
  // Go meets the members in the order of their names.
  const Value sorted = TRY(json::Parse(arena, json::ToString(document, {.sort_keys = true})));
  const auto schema = api::schema::SchemaOfGoTypes(kTypes);
  const auto decoded = api::schema::Decode(arena, *schema, sorted, {});
  if (!decoded.ok()) {
    const std::string& message = decoded.status().message();
    return AtPlace(text, PathOfMistake(sorted, message), message);
  }
  TRY(ReadList(text, document,
               {"clusters", "cluster", "*[]NamedCluster into *map[string]*api.Cluster"},
               &ReadCluster, folder, config.clusters));
  TRY(ReadList(text, document, {"users", "user", "*[]NamedAuthInfo into *map[string]*api.AuthInfo"},
               &ReadUser, folder, config.users));
  TRY(ReadList(text, document,
               {"contexts", "context", "*[]NamedContext into *map[string]*api.Context"},
               &ReadContext, folder, config.contexts));
  config.current_context = document["current-context"].AsString();
  return config;
}

base::Result<Config> Load(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && error.value() == 0) {
    return base::ConfigError(base::StrCat("stat ", path, ": no such file or directory"));
  }
  auto text = base::ReadFile(path, kMaxKubeconfig);
  auto config = text.ok() ? Parse(*text, base::FolderOf(path)) : text.status();
  if (config.ok()) return config;
  return config.status().Annotate(base::StrCat("error loading config file \"", path, "\""));
}

}  // namespace portcullis::kubeconfig
