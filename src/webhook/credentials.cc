#include "webhook/credentials.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/value.h"
#include "webhook/kubeconfig.h"

namespace portcullis::webhook {
namespace {

// `<name>-data` in base64, or the content of the file `<name>`.
base::Result<std::string> DataOrFile(json::Value user, std::string_view name,
                                     const std::string& directory) {
  if (const json::Value data = user[base::StrCat(name, "-data")]; data.is_string()) {
    auto bytes = base::Base64Decode(data.AsString());
    if (!bytes) return base::ConfigError(base::StrCat(name, "-data: illegal base64 data"));
    return std::move(*bytes);
  }
  std::string path(user[name].AsString());
  if (path.empty()) return std::string();
  if (path.front() != '/') path = base::StrCat(directory, "/", path);
  auto text = base::ReadFile(path);
  if (text.ok()) return text;
  return base::ConfigError(
      base::StrCat("unable to read ", name, " ", path, " due to ", text.status().message()));
}

net::Headers Impersonation(json::Value user) {
  net::Headers headers;
  if (const auto name = user["as"].AsString(); !name.empty()) {
    headers.Add("Impersonate-User", name);
  }
  if (const auto uid = user["as-uid"].AsString(); !uid.empty()) {
    headers.Add("Impersonate-Uid", uid);
  }
  for (const json::Value group : user["as-groups"].elements()) {
    headers.Add("Impersonate-Group", group.AsString());
  }
  for (const json::Member& extra : user["as-user-extra"].members()) {
    for (const json::Value value : extra.value.elements()) {
      headers.Add(base::StrCat("Impersonate-Extra-", extra.name()), value.AsString());
    }
  }
  return headers;
}

base::Result<ExecPlugin> ParseExec(json::Value exec, const std::string& directory) {
  ExecPlugin plugin;
  plugin.command = exec["command"].AsString();
  // A path is meant from where the kubeconfig is; a bare name is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos && plugin.command.front() != '/') {
    plugin.command = base::StrCat(directory, "/", plugin.command);
  }
  plugin.command = std::filesystem::path(plugin.command).lexically_normal().string();
  plugin.api_version = exec["apiVersion"].AsString();
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return base::ConfigError(
        base::StrCat("exec plugin: invalid apiVersion ", base::GoQuote(plugin.api_version)));
  }
  plugin.install_hint = exec["installHint"].AsString();
  plugin.provides_cluster_info = exec["provideClusterInfo"].AsBool();
  plugin.interactive_mode = exec["interactiveMode"].AsString();
  // v1 has no default.
  if (plugin.interactive_mode.empty() && plugin.api_version.ends_with("/v1beta1")) {
    plugin.interactive_mode = "IfAvailable";
  }
  for (const json::Value argument : exec["args"].elements()) {
    plugin.arguments.emplace_back(argument.AsString());
  }
  for (const json::Value variable : exec["env"].elements()) {
    plugin.environment.emplace_back(variable["name"].AsString(), variable["value"].AsString());
  }
  return plugin;
}

// Static credentials win over `exec`, as in client-go.
bool HasStaticCredentials(const UserEntry& user) {
  return !user.token.empty() || !user.token_file.empty() || !user.username.empty() ||
         (!user.certificate_pem.empty() && !user.key_pem.empty());
}

UserEntry ParseUser(json::Value user, const std::string& directory) {
  UserEntry entry;
  entry.token = user["token"].AsString();
  entry.token_file = user["tokenFile"].AsString();
  if (!entry.token_file.empty() && entry.token_file.front() != '/') {
    entry.token_file = base::StrCat(directory, "/", entry.token_file);
  }
  entry.username = user["username"].AsString();
  entry.password = user["password"].AsString();
  entry.impersonation = Impersonation(user);

  auto certificate = DataOrFile(user, "client-certificate", directory);
  auto key = DataOrFile(user, "client-key", directory);
  if (certificate.ok()) entry.certificate_pem = std::move(certificate).value();
  if (key.ok()) entry.key_pem = std::move(key).value();
  if (!certificate.ok()) {
    entry.error = certificate.status();
  } else if (!key.ok()) {
    entry.error = key.status();
  } else if (user.Has("auth-provider")) {
    entry.error = base::ConfigError("auth provider not supported");
  } else if (user["exec"].is_object()) {
    auto plugin = ParseExec(user["exec"], directory);
    if (!plugin.ok()) {
      entry.error = plugin.status();
    } else if (!HasStaticCredentials(entry)) {
      entry.exec = std::make_shared<ExecProgram>(std::move(*plugin), base::SystemClock());
    }
  } else if (!entry.username.empty() && !(entry.token.empty() && entry.token_file.empty())) {
    entry.error = base::ConfigError("username/password or bearer token may be set, but not both");
  }
  return entry;
}

}  // namespace

base::Result<std::shared_ptr<const Credentials>> Credentials::Load(const std::string& path) {
  json::Arena arena;
  const std::size_t slash = path.rfind('/');
  return Read(TRY(LoadKubeconfig(arena, path)),
              slash == std::string::npos ? "." : path.substr(0, slash));
}

base::Result<std::shared_ptr<const Credentials>> Credentials::Parse(std::string_view text,
                                                                    const std::string& directory) {
  json::Arena arena;
  return Read(TRY(ParseKubeconfig(arena, text)), directory);
}

std::shared_ptr<const Credentials> Credentials::Read(json::Value config,
                                                     const std::string& directory) {
  auto credentials = std::make_shared<Credentials>();
  for (const json::Value item : config["users"].elements()) {
    credentials->users_.try_emplace(std::string(item["name"].AsString()),
                                    ParseUser(item["user"], directory));
  }
  const std::string_view current = config["current-context"].AsString();
  for (const json::Value item : config["contexts"].elements()) {
    if (item["name"].AsString() != current || current.empty()) continue;
    credentials->current_user_ = item["context"]["user"].AsString();
  }
  return credentials;
}

const UserEntry* Credentials::FindName(std::string_view name) const {
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : &found->second;
}

// The target itself, then its parent domains with a star, the longest first.
const UserEntry* Credentials::FindHost(std::string_view target) const {
  if (const UserEntry* user = FindName(target)) return user;
  for (auto dot = target.find('.'); dot != std::string_view::npos;
       dot = target.find('.', dot + 1)) {
    if (const UserEntry* user = FindName(base::StrCat("*", target.substr(dot)))) return user;
  }
  return nullptr;
}

const UserEntry* Credentials::Find(std::string_view host, int port) const {
  if (const UserEntry* user = FindHost(base::StrCat(host, ":", std::to_string(port)))) return user;
  if (port == 443) {
    if (const UserEntry* user = FindHost(host)) return user;
  }
  if (const UserEntry* user = FindName("*")) return user;
  return current_user_.empty() ? nullptr : FindName(current_user_);
}

base::Result<net::Headers> AuthorizationHeaders(const UserEntry& user, ExecCredentials* exec) {
  if (!user.error.ok()) return user.error;
  net::Headers headers = user.impersonation;
  std::string token = user.token;
  if (!user.token_file.empty()) {
    auto text = base::ReadFile(user.token_file);
    if (text.ok()) {
      token = base::Trim(text.value());
    } else if (token.empty()) {
      return base::ConfigError(base::StrCat("failed to read token file ", user.token_file, ": ",
                                            text.status().message()));
    }
  }
  if (exec != nullptr) {
    auto credential = exec->Get();
    if (!credential.ok()) {
      return base::Status(base::Reason::kServiceUnavailable,
                          base::StrCat("getting credentials: ", credential.status().message()));
    }
    token = credential->token;
  }
  if (!token.empty()) {
    headers.Add("Authorization", base::StrCat("Bearer ", token));
  } else if (!user.username.empty()) {
    headers.Add("Authorization", base::StrCat("Basic ", base::Base64Encode(base::StrCat(
                                                            user.username, ":", user.password))));
  }
  return headers;
}

base::Status Identify(const UserEntry& user, ExecCredentials* exec,
                      const net::ClientTlsOptions& tls, net::ClientTlsCache& cache,
                      net::ClientRequest& request) {
  for (const net::Header& header : TRY(AuthorizationHeaders(user, exec))) {
    request.headers.Add(header.name, header.value);
  }
  if (exec == nullptr) return base::OkStatus();
  const ExecCredential credential = TRY(exec->Get());
  if (credential.certificate_pem.empty()) return base::OkStatus();
  net::ClientTlsOptions options = tls;
  options.certificate_pem = credential.certificate_pem;
  options.key_pem = credential.key_pem;
  request.tls = TRY(cache.Get(options));
  return base::OkStatus();
}

}  // namespace portcullis::webhook
