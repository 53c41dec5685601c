// ServiceCIDRs (pkg/apis/networking/validation).

#include "golang/netip.h"
#include "registry/kind_table.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

bool AreOfBothFamilies(json::Value cidrs) {
  const auto first = golang::ParseIpPrefix(cidrs[std::size_t{0}].AsString());
  const auto second = golang::ParseIpPrefix(cidrs[std::size_t{1}].AsString());
  return first.ok() && second.ok() && first->address.is_v6 != second->address.is_v6;
}

void ValidateServiceCidr(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value cidrs = object["spec"]["cidrs"];
  const FieldPath path("spec", "cidrs");
  if (cidrs.empty()) {
    errors.push_back(api::Required(path, "at least one CIDR required"));
    return;
  }
  const bool many = cidrs.size() > 2;
  if (many || (cidrs.size() == 2 && !AreOfBothFamilies(cidrs))) {
    errors.push_back(api::Invalid(path, api::BadValue::Raw(StructJson({{"CIDRs", Json(cidrs)}})),
                                  many ? "may only hold up to 2 values"
                                       : "may specify no more than one IP for each IP family, i.e "
                                         "192.168.0.0/24 and 2001:db8::/64"));
    return;
  }
  std::size_t index = 0;
  for (const json::Value& cidr : cidrs.elements()) {
    CheckCanonicalCidr(cidr.AsString(), path.Index(index++), errors);
  }
}

void ValidateServiceCidrUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckImmutable(object["spec"]["cidrs"], old["spec"]["cidrs"], FieldPath("spec", "cidrs"), errors);
}

}  // namespace

void AddServiceCidrStrategy(KindTable& table) {
  table.Add({.group = "networking.k8s.io",
             .resource = "servicecidrs",
             .validate = &ValidateServiceCidr,
             .validate_update = &ValidateServiceCidrUpdate});
}

}  // namespace portcullis::registry
