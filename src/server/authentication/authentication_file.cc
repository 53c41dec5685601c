// SPDX-License-Identifier: Apache-2.0

#include "server/authentication/authentication_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "admission/config.h"
#include "admission/config_format.h"
#include "api/domain.h"
#include "api/domain_path.h"
#include "api/field_error.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/url.h"
#include "json/writer.h"
#include "pki/certificates.h"
#include "release/release.h"

namespace portcullis::server::authentication {
namespace {

using api::FieldErrors;
using api::FieldPath;

constexpr std::string_view kKind = "AuthenticationConfiguration";
constexpr admission::ConfigKind kKinds[] = {
    {"apiserver.config.k8s.io/v1", kKind},
    {"apiserver.config.k8s.io/v1beta1", kKind},
    {"apiserver.config.k8s.io/v1alpha1", kKind},
};
constexpr std::string_view kTypes = R"(
v1.AuthenticationConfiguration: kind string, apiVersion string, jwt []v1.JWTAuthenticator, anonymous v1.AnonymousAuthConfig
v1.JWTAuthenticator: issuer v1.Issuer, claimValidationRules []v1.ClaimValidationRule, claimMappings v1.ClaimMappings, userValidationRules []v1.UserValidationRule
v1.Issuer: url string, discoveryURL string, certificateAuthority string, audiences []string, audienceMatchPolicy v1.AudienceMatchPolicyType=string, egressSelectorType v1.EgressSelectorType=string
v1.ClaimValidationRule: claim string, requiredValue string, expression string, message string
v1.ClaimMappings: username v1.PrefixedClaimOrExpression, groups v1.PrefixedClaimOrExpression, uid v1.ClaimOrExpression, extra []v1.ExtraMapping
v1.PrefixedClaimOrExpression: claim string, prefix string, expression string
v1.ClaimOrExpression: claim string, expression string
v1.ExtraMapping: key string, valueExpression string
v1.UserValidationRule: expression string, message string
v1.AnonymousAuthConfig: enabled bool, conditions []v1.AnonymousAuthCondition
v1.AnonymousAuthCondition: path string)";
constexpr admission::ConfigFormat kFormat = {"pkg/kubeapiserver/options/authentication.go:879",
                                             kKinds, kTypes};

constexpr std::size_t kMaxIssuers = 64;
constexpr std::string_view kMatchAny = "MatchAny";
constexpr std::string_view kBoth = "claim and expression can't both be set";

std::vector<std::string> Texts(json::Value list) {
  std::vector<std::string> texts;
  for (const json::Value& text : list.elements()) texts.emplace_back(text.AsString());
  return texts;
}

std::string OverlapText(std::span<const std::string> issuers) {
  std::vector<std::string> sorted(issuers.begin(), issuers.end());
  std::sort(sorted.begin(), sorted.end());
  return base::StrCat("URL must not overlap with disallowed issuers: ", base::GoList(sorted));
}

bool IsOfKubernetes(std::string_view key) {
  const auto parts = base::Cut(key, "/");
  return parts && api::IsInDomainOfKubernetes(parts->first);
}

// Reads one issuer; what is invalid goes to the errors.
class JwtReader {
 public:
  JwtReader(const ExpressionCompiler& compiler, std::span<const std::string> disallowed_issuers,
            FieldErrors& errors)
      : compiler_(compiler), disallowed_(disallowed_issuers), errors_(errors) {}

  JwtSettings Read(json::Value jwt, const FieldPath& path) {
    JwtSettings settings;
    ReadIssuer(jwt["issuer"], path.Child("issuer"), settings);
    ReadClaimRules(jwt["claimValidationRules"], path.Child("claimValidationRules"), settings);
    ReadMappings(jwt["claimMappings"], path.Child("claimMappings"), settings);
    ReadUserRules(jwt["userValidationRules"], path.Child("userValidationRules"), settings);
    return settings;
  }

 private:
  void ReadIssuer(json::Value issuer, const FieldPath& path, JwtSettings& settings) {
    settings.issuer = issuer["url"].AsString();
    settings.discovery_url = issuer["discoveryURL"].AsString();
    settings.certificate_authority = issuer["certificateAuthority"].AsString();
    settings.egress_selector = issuer["egressSelectorType"].AsString();
    settings.audiences = Texts(issuer["audiences"]);
    if (settings.issuer.empty()) {
      Required(path.Child("url"), "");
    } else {
      CheckUrl(settings.issuer, disallowed_, path.Child("url"));
    }
    CheckDiscoveryUrl(settings, path.Child("discoveryURL"));
    CheckAudiences(settings.audiences, issuer["audienceMatchPolicy"].AsString(), path);
    if (const std::string& pem = settings.certificate_authority; !pem.empty()) {
      const auto certificates = pki::ParseCertificates(pem);
      if (!certificates.ok()) {
        Invalid(path.Child("certificateAuthority"), "<omitted>", certificates.status().message());
      }
    }
    const std::string& selector = settings.egress_selector;
    if (!selector.empty() && selector != "controlplane" && selector != "cluster") {
      Invalid(path.Child("egressSelectorType"), selector,
              "egress selector must be either controlplane or cluster");
    }
  }

  void CheckDiscoveryUrl(const JwtSettings& settings, const FieldPath& path) {
    const auto without_slashes = [](std::string_view url) {
      const auto last = url.find_last_not_of('/');
      return url.substr(0, last == std::string_view::npos ? 0 : last + 1);
    };
    const std::string& url = settings.discovery_url;
    if (url.empty()) return;
    if (!settings.issuer.empty() && without_slashes(settings.issuer) == without_slashes(url)) {
      Invalid(path, url, "discoveryURL must be different from URL");
    }
    CheckUrl(url, {}, path);
  }

  void CheckUrl(const std::string& url, std::span<const std::string> disallowed,
                const FieldPath& path) {
    if (std::find(disallowed.begin(), disallowed.end(), url) != disallowed.end()) {
      Invalid(path, url, OverlapText(disallowed));
    }
    const auto parsed = golang::ParseUrl(url);
    if (!parsed.ok()) return Invalid(path, url, parsed.status().message());
    if (parsed->scheme != "https") Invalid(path, url, "URL scheme must be https");
    if (parsed->user) Invalid(path, url, "URL must not contain a username or password");
    if (!parsed->raw_query.empty()) Invalid(path, url, "URL must not contain a query");
    if (!parsed->fragment.empty()) Invalid(path, url, "URL must not contain a fragment");
  }

  void CheckAudiences(const std::vector<std::string>& audiences, std::string_view policy,
                      const FieldPath& issuer) {
    const FieldPath list = issuer.Child("audiences");
    if (audiences.empty()) {
      return Required(list, base::StrCat("at least one ", list.ToString(), " is required"));
    }
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const std::string& audience : audiences) {
      const FieldPath path = list.Index(index++);
      if (audience.empty()) Required(path, "");
      if (!seen.insert(audience).second) errors_.push_back(api::Duplicate(path, audience));
    }
    if (audiences.size() > 1 && policy != kMatchAny) {
      Invalid(issuer.Child("audienceMatchPolicy"), policy,
              "audienceMatchPolicy must be MatchAny for multiple audiences");
    }
    if (audiences.size() == 1 && !policy.empty() && policy != kMatchAny) {
      Invalid(issuer.Child("audienceMatchPolicy"), policy,
              "audienceMatchPolicy must be empty or MatchAny for single audience");
    }
  }

  void ReadClaimRules(json::Value rules, const FieldPath& list, JwtSettings& settings) {
    std::set<std::string> seen_claims;
    std::set<std::string> seen_expressions;
    std::size_t index = 0;
    for (const json::Value& given : rules.elements()) {
      const FieldPath path = list.Index(index++);
      Rule rule;
      rule.claim = given["claim"].AsString();
      rule.required_value = given["requiredValue"].AsString();
      rule.message = given["message"].AsString();
      const std::string expression(given["expression"].AsString());
      if (!rule.claim.empty() && !expression.empty()) {
        Invalid(path, rule.claim, kBoth);
      } else if (rule.claim.empty() && expression.empty()) {
        Required(path, "claim or expression is required");
      } else if (!rule.claim.empty()) {
        if (!rule.message.empty()) {
          Invalid(path.Child("message"), rule.message, "may not be specified when claim is set");
        }
        if (!seen_claims.insert(rule.claim).second) {
          errors_.push_back(api::Duplicate(path.Child("claim"), rule.claim));
        }
      } else {
        if (!rule.required_value.empty()) {
          Invalid(path.Child("requiredValue"), rule.required_value,
                  "may not be specified when expression is set");
        }
        if (!seen_expressions.insert(expression).second) {
          errors_.push_back(api::Duplicate(path.Child("expression"), expression));
          continue;
        }
        rule.expression =
            Take(compiler_.CompileClaimRule(expression), path.Child("expression"), expression);
        NoteVerified(rule.expression);
      }
      settings.claim_rules.push_back(std::move(rule));
    }
  }

  void ReadMappings(json::Value mappings, const FieldPath& path, JwtSettings& settings) {
    settings.username = ReadMapping(mappings["username"], path.Child("username"), true);
    const bool uses_email =
        settings.username.expression != nullptr && settings.username.expression->Uses("email");
    NoteVerified(settings.username.expression);
    settings.groups = ReadMapping(mappings["groups"], path.Child("groups"), false);
    const json::Value uid = mappings["uid"];
    settings.uid.claim = uid["claim"].AsString();
    if (const std::string expression(uid["expression"].AsString()); !expression.empty()) {
      if (settings.uid.claim.empty()) {
        settings.uid.expression =
            Take(compiler_.CompileMapping(expression), path.Child("uid", "expression"), expression);
      } else {
        Invalid(path.Child("uid"), "", kBoth);
      }
    }
    ReadExtra(mappings["extra"], path.Child("extra"), settings);
    if (uses_email && !uses_verified_) {
      Invalid(path.Child("username", "expression"), settings.username.expression->text(),
              "claims.email_verified must be used in claimMappings.username.expression or "
              "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
              "claims.email is used in claimMappings.username.expression");
    }
  }

  Mapping ReadMapping(json::Value given, const FieldPath& path, bool is_required) {
    Mapping mapping;
    mapping.claim = given["claim"].AsString();
    mapping.prefix = given["prefix"].AsString();
    const bool has_prefix = given["prefix"].is_string();
    const std::string expression(given["expression"].AsString());
    if (!mapping.claim.empty() && !expression.empty()) {
      Invalid(path, "", kBoth);
    } else if (!expression.empty()) {
      if (has_prefix) {
        Invalid(path.Child("prefix"), mapping.prefix,
                "may not be specified when expression is set");
      }
      mapping.expression =
          Take(compiler_.CompileMapping(expression), path.Child("expression"), expression);
      if (has_prefix) mapping.expression = nullptr;  // as good as none
    } else if (!mapping.claim.empty()) {
      if (!has_prefix) {
        Required(path.Child("prefix"),
                 "prefix is required when claim is set. It can be set to an empty string to "
                 "disable prefixing");
      }
    } else if (is_required) {
      Required(path, "claim or expression is required");
    }
    return mapping;
  }

  void ReadExtra(json::Value extra, const FieldPath& list, JwtSettings& settings) {
    std::set<std::string, std::less<>> seen;
    std::size_t index = 0;
    for (const json::Value& given : extra.elements()) {
      const FieldPath path = list.Index(index++);
      const FieldPath key_path = path.Child("key");
      const std::string key(given["key"].AsString());
      for (auto& error : api::CheckDomainPrefixedPath(key_path, key)) {
        errors_.push_back(std::move(error));
      }
      if (key != base::ToLower(key)) Invalid(key_path, key, "must be lowercase");
      if (IsOfKubernetes(key)) {
        Invalid(key_path, key,
                "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use");
      }
      if (!seen.insert(key).second) {
        errors_.push_back(api::Duplicate(key_path, key));
        continue;
      }
      const std::string expression(given["valueExpression"].AsString());
      if (expression.empty()) {
        Required(path.Child("valueExpression"), "");
        continue;
      }
      ExpressionPtr compiled =
          Take(compiler_.CompileMapping(expression), path.Child("valueExpression"), expression);
      NoteVerified(compiled);
      settings.extra.push_back({key, std::move(compiled)});
    }
  }

  void ReadUserRules(json::Value rules, const FieldPath& list, JwtSettings& settings) {
    std::set<std::string> seen;
    std::size_t index = 0;
    for (const json::Value& given : rules.elements()) {
      const FieldPath path = list.Index(index++).Child("expression");
      const std::string expression(given["expression"].AsString());
      if (expression.empty()) {
        Required(path, "");
      } else if (!seen.insert(expression).second) {
        errors_.push_back(api::Duplicate(path, expression));
      } else {
        Rule rule;
        rule.message = given["message"].AsString();
        rule.expression = Take(compiler_.CompileUserRule(expression), path, expression);
        settings.user_rules.push_back(std::move(rule));
      }
    }
  }

  ExpressionPtr Take(base::Result<ExpressionPtr> compiled, const FieldPath& path,
                     const std::string& text) {
    if (compiled.ok()) return *std::move(compiled);
    Invalid(path, text, compiled.status().message());
    return nullptr;
  }
  void NoteVerified(const ExpressionPtr& expression) {
    if (expression != nullptr && expression->Uses("email_verified")) uses_verified_ = true;
  }
  void Invalid(const FieldPath& path, std::string_view value, std::string_view detail) {
    errors_.push_back(api::Invalid(path, value, detail));
  }
  void Required(const FieldPath& path, std::string_view detail) {
    errors_.push_back(api::Required(path, detail));
  }

  const ExpressionCompiler& compiler_;
  const std::span<const std::string> disallowed_;
  FieldErrors& errors_;
  bool uses_verified_ = false;
};

std::optional<AnonymousSettings> ReadAnonymous(json::Value anonymous, FieldErrors& errors) {
  if (!anonymous.is_object()) return std::nullopt;
  AnonymousSettings settings;
  settings.enabled = anonymous["enabled"].AsBool();
  json::Arena arena;
  json::ArrayBuilder shown(arena);  // the Go struct has no names for JSON
  for (const json::Value& condition : anonymous["conditions"].elements()) {
    settings.paths.emplace_back(condition["path"].AsString());
    shown.Add(json::ObjectBuilder(arena).Set("Path", condition["path"].AsString()).Build());
  }
  if (!settings.enabled && !settings.paths.empty()) {
    errors.push_back(api::Invalid(FieldPath("anonymous", "conditions"), shown.Build(),
                                  "enabled should be set to true when conditions are defined"));
  }
  return settings;
}

}  // namespace

base::Result<json::Document> ParseConfiguration(std::string text) {
  if (text.empty()) return base::ConfigError("empty config data");
  const admission::PluginConfig file = admission::ParsePluginConfig(std::move(text));
  const std::string_view other = admission::OtherServerKind(file, kKind);
  if (!other.empty()) {
    return base::ConfigError(base::StrCat("expected ", kKind, ", got *apiserver.", other));
  }
  TRY(admission::CheckConfig(file, kFormat, release::Release::Newest()));
  return file.document;
}

base::Result<json::Document> ConfigurationOfFlags(const Options& options) {
  auto arena = std::make_shared<json::Arena>();
  json::ObjectBuilder issuer(*arena);
  issuer.Set("url", std::string_view(options.oidc_issuer_url))
      .Set("audiences", json::MakeArray(*arena, {json::String(*arena, options.oidc_client_id)}));
  if (!options.oidc_ca_file.empty()) {
    issuer.Set("certificateAuthority", std::string_view(TRY(base::ReadFile(options.oidc_ca_file))));
  }
  // Names of other claims than "email" begin with the issuer, so that they clash with no others.
  std::string prefix = options.oidc_username_prefix;
  if (prefix.empty() && options.oidc_username_claim != "email") {
    prefix = base::StrCat(options.oidc_issuer_url, "#");
  }
  if (options.oidc_username_prefix == "-") prefix.clear();
  const auto mapping = [&](std::string_view claim, std::string_view its_prefix) {
    return json::ObjectBuilder(*arena).Set("claim", claim).Set("prefix", its_prefix).Build();
  };
  json::ObjectBuilder mappings(*arena);
  mappings.Set("username", mapping(options.oidc_username_claim, prefix));
  if (!options.oidc_groups_claim.empty()) {
    mappings.Set("groups", mapping(options.oidc_groups_claim, options.oidc_groups_prefix));
  }
  json::ArrayBuilder rules(*arena);
  for (const auto& [claim, value] : options.oidc_required_claims) {
    rules.Add(json::ObjectBuilder(*arena)
                  .Set("claim", std::string_view(claim))
                  .Set("requiredValue", std::string_view(value))
                  .Build());
  }
  const json::Value jwt = json::ObjectBuilder(*arena)
                              .Set("issuer", issuer.Build())
                              .Set("claimMappings", mappings.Build())
                              .Set("claimValidationRules", rules.Build())
                              .Build();
  const json::Value root =
      json::ObjectBuilder(*arena).Set("jwt", json::MakeArray(*arena, {jwt})).Build();
  return json::Document(std::move(arena), root);
}

base::Result<Configuration> ReadConfiguration(const json::Document& document,
                                              std::span<const std::string> disallowed_issuers) {
  const FieldPath list("jwt");
  const json::Value issuers = document["jwt"];
  if (issuers.size() > kMaxIssuers) {
    return base::ConfigError(api::AggregateText(FieldErrors{
        api::TooMany(list, static_cast<int>(issuers.size()), static_cast<int>(kMaxIssuers))}));
  }
  const ExpressionCompiler compiler = TRY(ExpressionCompiler::Create());
  FieldErrors errors;
  Configuration configuration;
  std::set<std::string> seen;
  std::set<std::string> seen_discovery;
  std::size_t index = 0;
  for (const json::Value& jwt : issuers.elements()) {
    const FieldPath path = list.Index(index++);
    JwtSettings settings = JwtReader(compiler, disallowed_issuers, errors).Read(jwt, path);
    if (!seen.insert(settings.issuer).second) {
      errors.push_back(api::Duplicate(path.Child("issuer", "url"), settings.issuer));
    }
    const std::string& discovery = settings.discovery_url;
    if (!discovery.empty() && !seen_discovery.insert(discovery).second) {
      errors.push_back(api::Duplicate(path.Child("issuer", "discoveryURL"), discovery));
    }
    configuration.jwt.push_back(std::make_shared<const JwtSettings>(std::move(settings)));
  }
  configuration.anonymous = ReadAnonymous(document["anonymous"], errors);
  if (!errors.empty()) return base::ConfigError(api::AggregateText(errors));
  return configuration;
}

base::Status CheckIssuers(const Configuration& configuration,
                          std::span<const std::string> disallowed_issuers) {
  for (const auto& jwt : configuration.jwt) {
    const auto overlap =
        std::find(disallowed_issuers.begin(), disallowed_issuers.end(), jwt->issuer);
    if (overlap != disallowed_issuers.end()) {
      return base::ConfigError(
          api::Invalid(FieldPath("issuer", "url"), jwt->issuer, OverlapText(disallowed_issuers))
              .ToString());
    }
    if (!jwt->egress_selector.empty()) {
      return base::ConfigError(
          base::StrCat("oidc: egress lookup required with egress selector type ",
                       base::GoQuote(jwt->egress_selector)));
    }
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::authentication
