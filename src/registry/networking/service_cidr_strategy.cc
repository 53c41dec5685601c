// SPDX-License-Identifier: Apache-2.0

// ServiceCIDRs (pkg/apis/networking/validation).

#include "golang/netip.h"
#include "registry/kind_table.h"
#include "registry/validation/addresses.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

bool AreOfOneFamily(json::Value cidrs) {
  const auto first = golang::ParseIpPrefix(cidrs[std::size_t{0}].AsString());
  const auto second = golang::ParseIpPrefix(cidrs[std::size_t{1}].AsString());
  return first.ok() && second.ok() && first->address.is_v6 == second->address.is_v6;
}

void ValidateServiceCidr(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value cidrs = object["spec"]["cidrs"];
  const FieldPath path("spec", "cidrs");
  if (cidrs.empty()) {
    errors.push_back(api::Required(path, "at least one CIDR required"));
    return;
  }
  if (cidrs.size() > 2) {
    errors.push_back(api::Invalid(path, api::BadValue::Raw(StructJson({{"CIDRs", Json(cidrs)}})),
                                  "may only hold up to 2 values"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& cidr : cidrs.elements()) {
    CheckCanonicalCidr(cidr.AsString(), path.Index(index++), errors);
  }
  if (cidrs.size() == 2 && AreOfOneFamily(cidrs)) {
    errors.push_back(api::Invalid(path, cidrs,
                                  "may specify no more than one IP for each IP family, i.e "
                                  "192.168.0.0/24 and 2001:db8::/64"));
  }
}

// A network of the other family may be added, nothing else may change.
void CheckCidrsChange(const Context& ctx, json::Value object, json::Value old,
                      FieldErrors& errors) {
  const json::Value cidrs = object["spec"]["cidrs"];
  const json::Value before = old["spec"]["cidrs"];
  const FieldPath path("spec", "cidrs");
  const bool adds = before.size() == 1 && cidrs.size() == 2;
  if (!adds && before.size() != cidrs.size()) {
    // An empty list that was sent is quoted as such, an absent one as null.
    const json::Value sent = ctx.sent["spec"]["cidrs"];
    errors.push_back(api::Invalid(path, IsSentEmpty(sent) ? sent : cidrs, "field is immutable"));
    return;
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    CheckImmutable(cidrs[i], before[i], path.Index(i), errors);
  }
  if (adds) ValidateServiceCidr(ctx, object, errors);
}

void ValidateServiceCidrUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckCidrsChange(ctx, object, old, errors);
}

// Without the gate ServiceCIDRStatusFieldWiping a client may write the status together with the rest.
class ServiceCidrs final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return WipesStatus(ctx) ? DefaultStrategy::PrepareForCreate(ctx, object) : object;
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource.empty() && !WipesStatus(ctx)) return object;
    return DefaultStrategy::PrepareForUpdate(ctx, object, old);
  }

  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    if (ctx.subresource.empty() && !WipesStatus(ctx)) return {};
    return DefaultStrategy::ResetFields(ctx);
  }

 private:
  static bool WipesStatus(const Context& ctx) {
    return ctx.release->GateEnabled("ServiceCIDRStatusFieldWiping");
  }
};

}  // namespace

void AddServiceCidrStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "servicecidrs",
             .validate = &ValidateServiceCidr,
             .validate_update = &ValidateServiceCidrUpdate,
             .traits = {.status_keeps = StatusKeeps::kMetadata},
             .make = &Make<ServiceCidrs>});
}

}  // namespace portcullis::registry
