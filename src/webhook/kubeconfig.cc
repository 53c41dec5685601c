#include "webhook/kubeconfig.h"

#include <filesystem>

#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/go_errors.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::webhook {
namespace {

constexpr std::string_view kScheme = "k8s.io/client-go/tools/clientcmd/api/latest/latest.go:50";

constexpr std::string_view kTypes = R"(
v1.Config: kind string, apiVersion string, preferences any, clusters []v1.NamedCluster, users []v1.NamedAuthInfo, contexts []v1.NamedContext, current-context string, extensions any
v1.NamedCluster: name string, cluster v1.Cluster
v1.Cluster: server string, tls-server-name string, insecure-skip-tls-verify bool, certificate-authority string, certificate-authority-data []uint8, proxy-url string, disable-compression bool, extensions any
v1.NamedContext: name string, context v1.Context
v1.Context: cluster string, user string, namespace string, extensions any
v1.NamedAuthInfo: name string, user v1.AuthInfo
v1.AuthInfo: client-certificate string, client-certificate-data []uint8, client-key string, client-key-data []uint8, token string, tokenFile string, as string, as-uid string, as-groups []string, as-user-extra map[string][]string, username string, password string, auth-provider v1.AuthProviderConfig, exec v1.ExecConfig, extensions any
v1.AuthProviderConfig: name string, config map[string]string
v1.ExecConfig: command string, args []string, env []v1.ExecEnvVar, apiVersion string, installHint string, provideClusterInfo bool, interactiveMode v1.ExecInteractiveMode=string
v1.ExecEnvVar: name string, value string)";

base::Status CheckKind(json::Value config) {
  constexpr std::string_view kNoVersion =
      "couldn't get version/kind; json parse error: json: cannot unmarshal ";
  if (!config.is_object()) {
    return base::ConfigError(base::StrCat(
        kNoVersion, json::GoTypeName(config),
        R"( into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })"));
  }
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const json::Value value = config[name];
    if (value.is_null() || value.is_string()) continue;
    return base::ConfigError(base::StrCat(kNoVersion, json::GoTypeName(value),
                                          " into Go struct field .", name, " of type string"));
  }
  const std::string_view kind = config["kind"].AsString();
  const std::string_view version = config["apiVersion"].AsString();
  if ((kind.empty() || kind == "Config") && (version.empty() || version == "v1")) {
    return base::OkStatus();
  }
  return base::ConfigError(base::StrCat(
      "no kind ", base::GoQuote(kind.empty() ? "Config" : kind), " is registered for version ",
      base::GoQuote(version.empty() ? "v1" : version), " in scheme ", base::GoQuote(kScheme)));
}

}  // namespace

base::Result<json::Value> ParseKubeconfig(json::Arena& arena, std::string_view text) {
  const json::Value config = TRY(json::ParseYaml(arena, text));
  if (config.is_null()) return config;
  TRY(CheckKind(config));
  // Go meets the members in the order of their names.
  const json::Value sorted = TRY(json::Parse(arena, json::ToString(config, {.sort_keys = true})));
  const auto decoded =
      api::schema::Decode(arena, *api::schema::SchemaOfGoTypes(kTypes), sorted, {});
  if (!decoded.ok()) return base::ConfigError(decoded.status().message());
  return config;
}

base::Result<json::Value> LoadKubeconfig(json::Arena& arena, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return base::ConfigError(base::StrCat("stat ", path, ": no such file or directory"));
  }
  auto config = ParseKubeconfig(arena, TRY(base::ReadFile(path)));
  if (config.ok()) return config;
  return config.status().Annotate(base::StrCat("error loading config file \"", path, "\""));
}

}  // namespace portcullis::webhook
