// SPDX-License-Identifier: Apache-2.0

// AuthenticationConfiguration of apiserver.config.k8s.io: the file of --authentication-config, or what
// the flags --oidc-… come to, checked with Kubernetes' texts
// (https://kubernetes.io/docs/reference/access-authn-authz/authentication/
// #using-authentication-configuration).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "server/authentication/expressions.h"
#include "server/options.h"

namespace portcullis::server::authentication {

// What an attribute of the user is made from: an expression, or else a claim; neither: nothing.
struct Mapping {
  std::string claim;
  std::string prefix;
  ExpressionPtr expression;
};

struct ExtraMapping {
  std::string key;
  ExpressionPtr expression;
};

// A claim that has to have this value, or an expression that has to be true.
struct Rule {
  std::string claim;
  std::string required_value;
  ExpressionPtr expression;
  std::string message;
};

// An issuer of tokens and what becomes of them.
struct JwtSettings {
  std::string issuer;
  std::string discovery_url;  // "": the well-known place below the issuer
  std::string certificate_authority;
  std::string egress_selector;
  std::vector<std::string> audiences;  // of which a token has to have one
  Mapping username;
  Mapping groups;
  Mapping uid;
  std::vector<ExtraMapping> extra;
  std::vector<Rule> claim_rules;
  std::vector<Rule> user_rules;
};

struct AnonymousSettings {
  bool enabled = false;
  std::vector<std::string> paths;  // empty: all
  bool operator==(const AnonymousSettings&) const = default;
};

struct Configuration {
  std::vector<std::shared_ptr<const JwtSettings>> jwt;
  std::optional<AnonymousSettings> anonymous;  // not given: --anonymous-auth counts
};

// The file's text, read strictly. The error is the decoder's.
base::Result<json::Document> ParseConfiguration(std::string text);
// What the flags --oidc-… come to. The error is about the file of --oidc-ca-file.
base::Result<json::Document> ConfigurationOfFlags(const Options& options);
// Errors are all that is invalid, as one text. Issuers of service accounts are none of others.
base::Result<Configuration> ReadConfiguration(const json::Document& document,
                                              std::span<const std::string> disallowed_issuers);
// kube-apiserver looks at the issuers of service accounts only when it makes the authenticators.
base::Status CheckIssuers(const Configuration& configuration,
                          std::span<const std::string> disallowed_issuers);

}  // namespace portcullis::server::authentication
