// SPDX-License-Identifier: Apache-2.0

// CertificateSigningRequests (pkg/apis/certificates/validation,
// pkg/registry/certificates/certificates).

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "api/named_value.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "pki/certificate.h"
#include "pki/certificate_request.h"
#include "pki/pem.h"
#include "registry/certificates/signer_name.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::array<std::string_view, 23> kUsages = {"any",
                                                      "cert sign",
                                                      "client auth",
                                                      "code signing",
                                                      "content commitment",
                                                      "crl sign",
                                                      "data encipherment",
                                                      "decipher only",
                                                      "digital signature",
                                                      "email protection",
                                                      "encipher only",
                                                      "ipsec end system",
                                                      "ipsec tunnel",
                                                      "ipsec user",
                                                      "key agreement",
                                                      "key encipherment",
                                                      "microsoft sgc",
                                                      "netscape sgc",
                                                      "ocsp signing",
                                                      "s/mime",
                                                      "server auth",
                                                      "signing",
                                                      "timestamping"};

void CheckRequest(json::Value request, FieldErrors& errors) {
  const std::string text = base::Base64Decode(request.AsString()).value_or("");
  const auto read = pki::ReadCertificateRequest(text);
  const std::string problem =
      read.ok() ? pki::RequestSignatureProblem(*read) : std::string(read.status().message());
  if (problem.empty()) return;
  errors.push_back(api::Invalid(FieldPath("spec", "request"), request, problem));
}

std::size_t CountConditions(json::Value object, std::string_view type) {
  const auto conditions = object["status"]["conditions"].elements();
  return static_cast<std::size_t>(
      std::count_if(conditions.begin(), conditions.end(),
                    [&](json::Value condition) { return condition["type"].AsString() == type; }));
}

// Faults that the old object has already are borne with.
struct BorneFaults {
  bool contradiction = false;
  bool duplicates = false;
  bool nameless = false;
};

BorneFaults FaultsOf(json::Value old) {
  BorneFaults faults;
  std::set<std::string_view> seen;
  for (const json::Value& condition : old["status"]["conditions"].elements()) {
    const std::string_view type = condition["type"].AsString();
    if (type.empty()) faults.nameless = true;
    if (!seen.insert(type).second) faults.duplicates = true;
  }
  faults.contradiction = seen.contains("Approved") && seen.contains("Denied");
  return faults;
}

void CheckConditionStatus(json::Value condition, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = condition["type"].AsString();
  const std::string_view status = condition["status"].AsString();
  if (status.empty()) {
    errors.push_back(api::Required(path, ""));
  } else if (type == "Approved" || type == "Denied" || type == "Failed") {
    if (status != "True")
      errors.push_back(api::NotSupported(path, api::NamedValue(status), {"True"}));
  } else if (status != "True" && status != "False" && status != "Unknown") {
    errors.push_back(
        api::NotSupported(path, api::NamedValue(status), {"False", "True", "Unknown"}));
  }
}

void CheckConditions(json::Value object, json::Value old, FieldErrors& errors) {
  const FieldPath path("status", "conditions");
  const BorneFaults borne = FaultsOf(old);
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& condition : object["status"]["conditions"].elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view type = condition["type"].AsString();
    if (type.empty() && !borne.nameless) errors.push_back(api::Required(at.Child("type"), ""));
    CheckConditionStatus(condition, at.Child("status"), errors);
    const bool contradicts = (type == "Approved" && seen.contains("Denied")) ||
                             (type == "Denied" && seen.contains("Approved"));
    if (contradicts && !borne.contradiction) {
      errors.push_back(
          api::Invalid(path, type, "Approved and Denied conditions are mutually exclusive"));
    }
    if (!seen.insert(type).second && !borne.duplicates) {
      errors.push_back(api::Duplicate(at.Child("type"), type));
    }
  }
}

// What was said stays said, and only who may approve says who is approved.
void CheckConditionChanges(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  const FieldPath path("status", "conditions");
  for (const std::string_view type : {"Approved", "Denied", "Failed"}) {
    if (CountConditions(object, type) >= CountConditions(old, type)) continue;
    errors.push_back(api::Forbidden(
        path, base::StrCat("updates may not remove a condition of type \"", type, "\"")));
  }
  if (ctx.subresource == "approval") return;
  for (const std::string_view type : {"Approved", "Denied"}) {
    if (CountConditions(object, type) <= CountConditions(old, type)) continue;
    errors.push_back(api::Forbidden(
        path, base::StrCat("updates may not add a condition of type \"", type, "\"")));
  }
}

// What is wrong with a signer's PEM file; "" if nothing is.
std::string CertificateProblem(std::string_view pem) {
  bool found = false;
  pki::PemBlock block;
  while (pki::NextPemBlock(pem, block)) {
    if (block.type != "CERTIFICATE") {
      return base::StrCat("only CERTIFICATE PEM blocks are allowed, found ",
                          base::GoQuote(block.type));
    }
    if (block.has_headers) return "no PEM block headers are permitted";
    if (block.bytes.empty()) return "found CERTIFICATE PEM block containing 0 certificates";
    const auto read = pki::ParseCertificate(block.bytes);
    if (!read.ok()) return std::string(read.status().message());
    found = true;
  }
  return found ? "" : "must contain at least one CERTIFICATE PEM block";
}

void CheckCertificate(json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value certificate = object["status"]["certificate"];
  if (certificate == old["status"]["certificate"] || certificate.AsString().empty()) return;
  const std::string pem = base::Base64Decode(certificate.AsString()).value_or(std::string());
  const std::string problem = CertificateProblem(pem);
  if (problem.empty()) return;
  errors.push_back(api::Invalid(FieldPath("status", "certificate"), "<certificate data>", problem));
}

void CheckCertificateChange(json::Value object, json::Value old, FieldErrors& errors) {
  const std::string_view before = old["status"]["certificate"].AsString();
  if (before.empty() || object["status"]["certificate"].AsString() == before) return;
  errors.push_back(api::Forbidden(FieldPath("status", "certificate"),
                                  "updates may not modify existing certificate content"));
}

void ValidateCertificateSigningRequest(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckRequest(spec["request"], errors);
  if (spec["usages"].empty()) errors.push_back(api::Required(path.Child("usages"), ""));
  std::size_t index = 0;
  std::set<std::string_view> seen;
  FieldErrors repeated;  // told last
  for (const json::Value& usage : spec["usages"].elements()) {
    const FieldPath at = path.Child("usages").Index(index++);
    if (std::find(kUsages.begin(), kUsages.end(), usage.AsString()) == kUsages.end()) {
      errors.push_back(api::NotSupported(at, api::NamedValue(usage.AsString()), kUsages));
    }
    if (!seen.insert(usage.AsString()).second) repeated.push_back(api::Duplicate(at, usage));
  }
  errors.insert(errors.end(), repeated.begin(), repeated.end());
  if (spec["signerName"].AsString() == "kubernetes.io/legacy-unknown") {
    errors.push_back(api::Invalid(path.Child("signerName"), spec["signerName"],
                                  "the legacy signerName is not allowed via this API version"));
  } else {
    CheckSignerName(spec["signerName"].AsString(), path.Child("signerName"), errors);
  }
  if (const json::Value seconds = spec["expirationSeconds"];
      seconds.is_int() && seconds.AsInt() < 600) {
    errors.push_back(api::Invalid(path.Child("expirationSeconds"), seconds.AsInt(),
                                  "may not specify a duration less than 600 seconds (10 minutes)"));
  }
}

void ValidateCertificateSigningRequestUpdate(const Context& ctx, json::Value object,
                                             json::Value old, FieldErrors& errors) {
  if (ctx.subresource.empty()) ValidateCertificateSigningRequest(ctx, object, errors);
  CheckConditions(object, old, errors);
  CheckCertificate(object, old, errors);
  CheckConditionChanges(ctx, object, old, errors);
  CheckCertificateChange(object, old, errors);
}

// username, uid, groups and extra are set from the request's user; the client's values are dropped.
class Requests final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    if (ctx.subresource == "status") return {"spec", "status.conditions"};
    if (ctx.subresource == "approval") return {"spec", "status.certificate"};
    return {"spec", "status"};
  }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    json::ObjectBuilder spec(ctx.arena, object["spec"]);
    const json::Value user = api::UserInfoToJson(ctx.arena, ctx.user);
    for (std::string_view name : {"username", "uid", "groups", "extra"}) {
      if (const json::Value* value = user.Find(name)) {
        spec.Set(name, *value);
      } else {
        spec.Remove(name);
      }
    }
    return json::With(ctx.arena, object, "spec", spec.Build());
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    const json::Value conditions = WithTimes(ctx, object["status"]["conditions"], old);
    if (ctx.subresource == "approval") {
      // Of the status, approving changes conditions and nothing else.
      object = json::With(ctx.arena, KeepStatus(ctx.arena, object, old), "spec", old["spec"]);
      if (conditions.is_null()) {
        return json::RemovePath(ctx.arena, object, {"status", "conditions"});
      }
      return json::SetPath(ctx.arena, object, {"status", "conditions"}, conditions);
    }
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (ctx.subresource == "status" && !conditions.is_null()) {
      object = json::SetPath(ctx.arena, object, {"status", "conditions"},
                             WithDecisions(ctx, conditions, old));
    }
    return json::With(ctx.arena, object, "spec", old["spec"]);
  }

 private:
  // Who reports a status does not change who was approved: conditions that tell that stay as they
  // were, unless some are added or removed, which validation will say.
  static json::Value WithDecisions(const Context& ctx, json::Value conditions, json::Value old) {
    for (const std::string_view type : {"Approved", "Denied"}) {
      std::vector<json::Value> before;
      for (const json::Value& condition : old["status"]["conditions"].elements()) {
        if (condition["type"].AsString() == type) before.push_back(condition);
      }
      json::ArrayBuilder kept(ctx.arena);
      std::size_t found = 0;
      for (const json::Value& condition : conditions.elements()) {
        const bool decides = condition["type"].AsString() == type;
        kept.Add(decides && found < before.size() ? before[found] : condition);
        if (decides) ++found;
      }
      if (found == before.size()) conditions = kept.Build();
    }
    return conditions;
  }

  // When a condition was written and since when it holds, where the client does not say.
  static json::Value WithTimes(const Context& ctx, json::Value conditions, json::Value old) {
    if (conditions.is_null()) return conditions;
    const json::Value now = json::String(ctx.arena, base::FormatTime(ctx.clock.Now()));
    json::ArrayBuilder result(ctx.arena);
    for (json::Value condition : conditions.elements()) {
      json::Value since = now;
      for (const json::Value& before : old["status"]["conditions"].elements()) {
        if (before["type"] == condition["type"] && before["status"] == condition["status"]) {
          since = before["lastTransitionTime"];
        }
      }
      for (const auto& [name, time] :
           {std::pair<std::string_view, json::Value>{"lastUpdateTime", now},
            std::pair<std::string_view, json::Value>{"lastTransitionTime", since}}) {
        if (condition[name].is_null()) condition = json::With(ctx.arena, condition, name, time);
      }
      result.Add(condition);
    }
    return result.Build();
  }
};

}  // namespace

void AddCertificateSigningRequestStrategy(KindTable& table) {
  table.Add({.group = "certificates.k8s.io",
             .resource = "certificatesigningrequests",
             .validate = &ValidateCertificateSigningRequest,
             .validate_between = &ValidateCertificateSigningRequestUpdate,
             .traits = {.names = NameStyle::kAny},
             .metadata = {.update = "FU", .subresource = "FU"},
             .make = &Make<Requests>});
}

}  // namespace portcullis::registry
