// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/client_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/url.h"
#include "kubeconfig/rest.h"
#include "net/url.h"

namespace portcullis::kubeconfig {
namespace {

constexpr std::string_view kNoConfig =
    "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";

// Gathers what is wrong and prints it as Go's aggregated errors do.
class Problems {
 public:
  template <typename... Pieces>
  void Add(const Pieces&... pieces) {
    std::string text = base::StrCat(pieces...);
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) {
      texts_.push_back(std::move(text));
    }
  }
  bool empty() const { return texts_.empty(); }
  std::string ToString() const {
    return texts_.size() == 1 ? texts_[0] : base::StrCat("[", base::Join(texts_, ", "), "]");
  }

 private:
  std::vector<std::string> texts_;
};

void CheckReadable(std::string_view what, const std::string& path, std::string_view name,
                   Problems& problems) {
  if (path.empty()) return;
  const auto text = base::ReadFile(path);
  if (text.ok()) return;
  problems.Add("unable to read ", what, " ", path, " for ", name, " due to ",
               text.status().message());
}

void CheckExec(const ExecConfig& exec, std::string_view name, Problems& problems) {
  const auto required = [&](std::string_view member) {
    problems.Add(member, " must be specified for ", name, " to use exec authentication plugin");
  };
  if (exec.command.empty()) required("command");
  if (exec.api_version.empty()) required("apiVersion");
  for (const auto& [variable, value] : exec.environment) {
    if (variable.empty()) required("env variable name");
  }
  const std::string& mode = exec.interactive_mode;
  if (mode.empty()) {
    required("interactiveMode");
  } else if (mode != "Never" && mode != "IfAvailable" && mode != "Always") {
    problems.Add("invalid interactiveMode for ", name, ": ", base::GoQuote(mode));
  }
}

void CheckCertificate(const User& user, std::string_view name, Problems& problems) {
  if (user.client_certificate.empty() && user.client_certificate_data.empty()) return;
  if (!user.client_certificate.empty() && !user.client_certificate_data.empty()) {
    problems.Add("client-cert-data and client-cert are both specified for ", name,
                 ". client-cert-data will override.");
  }
  if (!user.client_key.empty() && !user.client_key_data.empty()) {
    problems.Add("client-key-data and client-key are both specified for ", name,
                 "; client-key-data will override");
  }
  if (user.client_key.empty() && user.client_key_data.empty()) {
    problems.Add("client-key-data or client-key must be specified for ", name,
                 " to use the clientCert authentication method.");
  }
  CheckReadable("client-cert", user.client_certificate, name, problems);
  CheckReadable("client-key", user.client_key, name, problems);
}

void CheckUser(const User& user, std::string_view name, Problems& problems) {
  CheckCertificate(user, name, problems);
  if (user.exec && user.auth_provider) {
    problems.Add("authProvider cannot be provided in combination with an exec plugin for ", name);
  }
  if (user.exec) CheckExec(*user.exec, name, problems);
  if (!user.token.empty() && !(user.username.empty() && user.password.empty())) {
    problems.Add("more than one authentication method found for ", name,
                 "; found [token basicAuth], only one is allowed");
  }
  if (user.as.empty() &&
      !(user.as_uid.empty() && user.as_groups.empty() && user.as_user_extra.empty())) {
    problems.Add("requesting uid, groups or user-extra for ", name,
                 " without impersonating a user");
  }
}

base::Result<net::Url> ParseProxyUrl(const std::string& text) {
  const auto url = golang::ParseUrl(text);
  if (!url.ok()) return base::ConfigError(base::StrCat("could not parse: ", text));
  if (url->scheme == "http" || url->scheme == "https" || url->scheme == "socks5") {
    return net::ParseUrl(text);
  }
  return base::ConfigError(base::StrCat("unsupported scheme ", base::GoQuote(url->scheme),
                                        ", must be http, https, or socks5"));
}

void CheckCluster(const Cluster& cluster, const std::string& name, Problems& problems) {
  if (cluster.server.empty() && name.empty()) {
    problems.Add("default cluster has no server defined");
  } else if (cluster.server.empty()) {
    problems.Add("no server found for cluster ", base::GoQuote(name));
  }
  if (!cluster.proxy_url.empty()) {
    if (const auto proxy = ParseProxyUrl(cluster.proxy_url); !proxy.ok()) {
      problems.Add("invalid 'proxy-url' ", base::GoQuote(cluster.proxy_url), " for cluster ",
                   base::GoQuote(name), ": ", proxy.status().message());
    }
  }
  if (!cluster.certificate_authority.empty() && !cluster.certificate_authority_data.empty()) {
    problems.Add("certificate-authority-data and certificate-authority are both specified for ",
                 name, ". certificate-authority-data will override.");
  }
  CheckReadable("certificate-authority", cluster.certificate_authority, name, problems);
}

// What a context names, as far as it is there.
struct Parts {
  const Context* context = nullptr;
  const User* user = nullptr;
  const Cluster* cluster = nullptr;
};

template <typename Item>
const Item* FindIn(const std::map<std::string, Item, std::less<>>& items, std::string_view name) {
  const auto found = items.find(name);
  return found == items.end() ? nullptr : &found->second;
}

Parts PartsOf(const Config& config, std::string_view context) {
  Parts parts;
  parts.context = FindIn(config.contexts, context);
  if (parts.context == nullptr) return parts;
  parts.user = FindIn(config.users, parts.context->user);
  parts.cluster = FindIn(config.clusters, parts.context->cluster);
  return parts;
}

base::Status CheckUsable(const Parts& parts, std::string_view context) {
  Problems problems;
  const bool is_missing = parts.context == nullptr && !context.empty();
  if (is_missing) problems.Add("context was not found for specified context: ", context);
  const Context names = parts.context == nullptr ? Context() : *parts.context;
  if (parts.user != nullptr) CheckUser(*parts.user, names.user, problems);
  if (parts.cluster != nullptr) {
    CheckCluster(*parts.cluster, names.cluster, problems);
  } else {
    problems.Add(problems.empty() ? kNoConfig : "cluster has no server defined");
  }
  if (problems.empty()) return base::OkStatus();
  return base::ConfigError(base::StrCat("invalid configuration: ", problems.ToString()));
}

// A host alone is called by http.
base::Result<golang::Url> ParseServer(const std::string& server) {
  auto url = golang::ParseUrl(server);
  if (url.ok() && !url->scheme.empty() && !url->host.empty()) return url;
  url = golang::ParseUrl(base::StrCat("http://", server));
  if (!url.ok()) return base::ConfigError(url.status().message());
  if (url->path.empty() || url->path == "/") return url;
  return base::ConfigError(
      base::StrCat("host must be a URL or a host:port pair: ", base::GoQuote(server)));
}

base::Result<std::string> ReadAuthority(const Cluster& cluster) {
  if (!cluster.certificate_authority_data.empty() || cluster.certificate_authority.empty()) {
    return cluster.certificate_authority_data;
  }
  std::string pem = TRY(base::ReadFile(cluster.certificate_authority));
  // An empty bundle must not become the system's roots.
  if (pem.empty()) {
    return base::ConfigError(
        "unable to load root certificates: unable to parse bytes as PEM block");
  }
  return pem;
}

// `installHint` is printed: control characters would reach the terminal.
std::string WithoutEscapeCodes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_space = byte >= 0x09 && byte <= 0x0d;
    if ((byte >= 0x20 && byte != 0x7f) || is_space) {
      out.push_back(c);
    } else {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      out.append("U+00").append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

ExecCluster ExecClusterOf(const Cluster& cluster, const net::ClientTlsOptions& tls) {
  ExecCluster told;
  told.server = cluster.server;
  told.tls_server_name = tls.server_name;
  told.insecure_skip_tls_verify = tls.insecure_skip_verify;
  told.certificate_authority_pem = tls.ca_pem;
  told.proxy_url = cluster.proxy_url;
  told.disable_compression = cluster.disable_compression;
  told.config = cluster.exec_config;
  return told;
}

// The part of the user that goes to a server without TLS.
User ImpersonationOf(const User& user) {
  User out;
  out.as = user.as;
  out.as_uid = user.as_uid;
  out.as_groups = user.as_groups;
  out.as_user_extra = user.as_user_extra;
  return out;
}

}  // namespace

base::Result<ClientConfig> Resolve(const Config& config, std::string_view context) {
  if (!context.empty() && FindIn(config.contexts, context) == nullptr) {
    return base::ConfigError(base::StrCat("context ", base::GoQuote(context), " does not exist"));
  }
  const std::string_view name = context.empty() ? config.current_context : context;
  const Parts parts = PartsOf(config, name);
  TRY(CheckUsable(parts, name));
  const Cluster& cluster = *parts.cluster;

  ClientConfig out;
  const golang::Url server = TRY(ParseServer(cluster.server));
  out.url = base::StrCat(server.scheme, "://", server.host);
  if (const std::string path = RequestPath(server.EscapedPath()); path != "/") out.url += path;
  out.disable_compression = cluster.disable_compression;
  if (!parts.context->namespace_name.empty()) out.namespace_name = parts.context->namespace_name;
  if (parts.user != nullptr) out.user = *parts.user;
  if (!cluster.proxy_url.empty()) {
    if (server.scheme != "https") {
      return base::ConfigError("proxy-url: only an https server can be called through a proxy");
    }
    out.proxies = net::ProxyRules::Always(TRY(ParseProxyUrl(cluster.proxy_url)));
  }
  if (server.scheme != "https") {
    out.user = ImpersonationOf(out.user);
    return out;
  }
  if (out.user.auth_provider) {
    return base::ConfigError(
        base::StrCat("no Auth Provider found for name ", base::GoQuote(*out.user.auth_provider)));
  }
  if (out.user.exec) {
    out.user.exec->install_hint = WithoutEscapeCodes(out.user.exec->install_hint);
  }
  out.tls.insecure_skip_verify = cluster.insecure_skip_tls_verify;
  out.tls.server_name = cluster.tls_server_name;
  out.tls.ca_pem = TRY(ReadAuthority(cluster));
  out.tls.protocols = net::ClientProtocols::kHttp2OrHttp1;
  out.exec_cluster = ExecClusterOf(cluster, out.tls);
  return out;
}

}  // namespace portcullis::kubeconfig
