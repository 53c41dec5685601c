// SPDX-License-Identifier: Apache-2.0

// Kubeconfig files: clusters, users and the contexts that pair them. The one reader of the program,
// with the behaviour of client-go (k8s.io/client-go/tools/clientcmd, LoadFromFile, ResolveLocalPaths).
//
// Unknown members are ignored. Paths inside of a file start at its folder. Value types.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portcullis::kubeconfig {

struct Cluster {
  std::string server;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string certificate_authority;       // path
  std::string certificate_authority_data;  // PEM
  std::string proxy_url;
  bool disable_compression = false;
  // JSON: the extension client.authentication.k8s.io/exec, for programs that print credentials.
  std::string exec_config = "null";
  bool operator==(const Cluster&) const = default;
};

// `exec` of a user: a program that prints credentials.
struct ExecConfig {
  std::string command;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // besides the process' own
  std::string api_version;
  std::string install_hint;
  std::string interactive_mode;  // "Never", "IfAvailable", "Always"; v1 has no default
  bool provides_cluster_info = false;
  bool operator==(const ExecConfig&) const = default;
};

struct User {
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string client_certificate;       // path
  std::string client_certificate_data;  // PEM
  std::string client_key;               // path
  std::string client_key_data;          // PEM
  std::string as;                       // impersonation
  std::string as_uid;
  std::vector<std::string> as_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> as_user_extra;
  std::optional<std::string> auth_provider;  // its name; none is supported
  std::optional<ExecConfig> exec;
  bool operator==(const User&) const = default;
};

struct Context {
  std::string cluster;
  std::string user;
  std::string namespace_name;
  bool operator==(const Context&) const = default;
};

struct Config {
  std::map<std::string, Cluster, std::less<>> clusters;
  std::map<std::string, User, std::less<>> users;
  std::map<std::string, Context, std::less<>> contexts;
  std::string current_context;
  bool operator==(const Config&) const = default;
};

// YAML or JSON; an empty text is an empty Config. Relative paths start at `folder`. Errors are
// client-go's, with the place in front where they have none: `line 3, column 9: json: cannot
// unmarshal string into Go struct field Config.users of type []v1.NamedAuthInfo`. They never
// contain the text of the file.
base::Result<Config> Parse(std::string_view text, const std::string& folder);

// The same of a file: `stat <path>: no such file or directory`, `error loading config file
// "<path>": yaml: line 2: …`.
base::Result<Config> Load(const std::string& path);

}  // namespace portcullis::kubeconfig
