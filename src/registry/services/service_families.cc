// SPDX-License-Identifier: Apache-2.0

#include "registry/services/service_families.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/strings.h"
#include "json/edit.h"
#include "registry/services/service_network.h"
#include "registry/validation/addresses.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kSingle = "SingleStack";
constexpr std::string_view kPrefer = "PreferDualStack";
constexpr std::string_view kRequire = "RequireDualStack";

bool Holds(json::Value list, std::string_view text) {
  const auto elements = list.elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const json::Value& one) { return one.AsString() == text; });
}

bool AreSame(json::Value a, json::Value b) { return (a.empty() && b.empty()) || a == b; }

bool IsFewer(json::Value now, json::Value before) {
  return !now.empty() && now.size() < before.size();
}

// The families of the cluster, that of the first range first.
std::vector<std::string_view> ClusterFamilies(const Context& ctx) {
  return ctx.services ? ctx.services->families() : std::vector<std::string_view>{kIpv4};
}

// A Service that has taken what there was stays so when the cluster gets another family, or loses one: only
// a change of its policy, addresses or families changes that.
bool KeepsWhatItHas(json::Value service, json::Value old) {
  const json::Value now = service["spec"];
  const json::Value before = old["spec"];
  const auto prefers = [](json::Value spec) {
    return spec["ipFamilyPolicy"].AsString() == kPrefer;
  };
  return !old.is_null() && now["type"] == before["type"] && prefers(now) &&
         (prefers(before) || !before.Has("ipFamilyPolicy")) &&
         AreSame(now["clusterIPs"], before["clusterIPs"]) &&
         AreSame(now["ipFamilies"], before["ipFamilies"]);
}

class Initialization {
 public:
  Initialization(const Context& ctx, json::Value service, json::Value old)
      : ctx_(ctx), service_(service), old_(old), configured_(ClusterFamilies(ctx)) {}

  Families Run() {
    if (Spec()["type"].AsString() == "ExternalName" || KeepsWhatItHas(service_, old_)) {
      return {service_, {}};
    }
    if (!Spec().Has("ipFamilyPolicy")) Set("ipFamilyPolicy", PolicyOfServer());
    const json::Value as_sent = service_;
    CheckAddressFields(ctx_, Spec(), old_["spec"], errors_);
    if (errors_.empty()) Infer();
    if (errors_.empty()) Complete();
    if (!errors_.empty()) return {as_sent, errors_};
    if (families_.size() == Spec()["ipFamilies"].size()) return {service_, {}};
    json::ArrayBuilder list(ctx_.arena);
    for (std::string_view family : families_) list.Add(json::Value::StringView(family));
    Set("ipFamilies", list.Build());
    return {service_, {}};
  }

 private:
  json::Value Spec() const { return service_["spec"]; }
  std::string_view Policy() const { return Spec()["ipFamilyPolicy"].AsString(); }
  void Set(std::string_view field, json::Value value) {
    service_ = json::SetPath(ctx_.arena, service_, {"spec", field}, value);
  }
  bool IsConfigured(std::string_view family) const {
    return std::find(configured_.begin(), configured_.end(), family) != configured_.end();
  }
  void AddInvalidPolicy(std::string_view detail) {
    errors_.push_back(api::Invalid(FieldPath("spec", "ipFamilyPolicy"), Policy(), detail));
  }

  // Endpoints without a selector are made by hand, in whatever family.
  bool IsFreeForm() const {
    return Spec()["clusterIP"].AsString() == "None" && Spec()["selector"].empty();
  }

  json::Value PolicyOfServer() const {
    const json::Value before = old_["spec"]["ipFamilyPolicy"];
    if (!before.is_null()) return before;
    return json::Value::StringView(IsFreeForm() ? kRequire : kSingle);
  }

  // What the policy says about lists as they were sent, and the families of given addresses.
  void Infer() {
    if (Policy() == kSingle) {
      if (!old_.is_null()) DropSecond();
      constexpr std::string_view kMust = "must be 'RequireDualStack' or 'PreferDualStack' when ";
      if (Spec()["clusterIPs"].size() == 2) {
        AddInvalidPolicy(base::StrCat(kMust, "multiple cluster IPs are specified"));
      }
      if (Spec()["ipFamilies"].size() == 2) {
        AddInvalidPolicy(base::StrCat(kMust, "multiple IP families are specified"));
      }
    } else {
      constexpr std::string_view kMust = "must be 'SingleStack' to release the secondary ";
      const json::Value before = old_["spec"];
      if (IsFewer(Spec()["clusterIPs"], before["clusterIPs"])) {
        AddInvalidPolicy(base::StrCat(kMust, "cluster IP"));
      }
      if (IsFewer(Spec()["ipFamilies"], before["ipFamilies"])) {
        AddInvalidPolicy(base::StrCat(kMust, "IP family"));
      }
    }
    for (const json::Value& family : Spec()["ipFamilies"].elements()) {
      families_.push_back(family.AsString());
    }
    const json::Value addresses = Spec()["clusterIPs"];
    for (std::size_t i = 0; i < addresses.size() && !IsHeadless(Spec()); ++i) {
      if (i < families_.size()) continue;
      const std::string_view family = FamilyOf(addresses[i].AsString());
      if (IsConfigured(family)) {
        families_.push_back(family);
        continue;
      }
      errors_.push_back(api::Invalid(FieldPath("spec", "clusterIPs").Index(i), addresses,
                                     base::StrCat(family, " is not configured on this cluster")));
    }
  }

  // An update to SingleStack that leaves the lists as they were keeps their first elements.
  void DropSecond() {
    for (std::string_view field : {"clusterIPs", "ipFamilies"}) {
      const json::Value list = Spec()[field];
      if (list.size() < 2 || !(list == old_["spec"][field])) continue;
      Set(field, json::MakeArray(ctx_.arena, {list[std::size_t{0}]}));
    }
  }

  // The families that are asked for and those that the policy adds.
  void Complete() {
    const bool is_free = IsFreeForm();
    const bool is_dual = configured_.size() == 2;
    if (!is_free) CheckConfigured();
    if (!errors_.empty()) return;
    if (families_.empty()) families_.push_back(configured_.front());
    if (Policy() != kSingle && families_.size() == 1 && (is_free || is_dual)) {
      families_.push_back(families_.front() == kIpv4 ? kIpv6 : kIpv4);
    }
  }

  void CheckConfigured() {
    if (Policy() == kRequire && configured_.size() < 2) {
      AddInvalidPolicy("this cluster is not configured for dual-stack services");
    }
    for (std::size_t i = 0; i < families_.size(); ++i) {
      if (IsConfigured(families_[i])) continue;
      errors_.push_back(api::Invalid(FieldPath("spec", "ipFamilies").Index(i), families_[i],
                                     "not configured on this cluster"));
    }
  }

  const Context& ctx_;
  json::Value service_;
  const json::Value old_;
  const std::vector<std::string_view> configured_;
  std::vector<std::string_view> families_;
  FieldErrors errors_;
};

// A list of addresses or families may grow and shrink at its end (validateUpgradeDowngrade…).
struct ServiceList {
  std::string_view field;
  std::string_view one;             // what an element is called
  std::string_view shown;           // the field whose value is told when the length changes
  bool names_first_always = false;  // errors of any element name the first
};

void CheckListUpdate(const ServiceList& list, json::Value spec, json::Value before,
                     const FieldPath& path, FieldErrors& errors) {
  const json::Value now = spec[list.field];
  const json::Value was = before[list.field];
  const FieldPath at = path.Child(list.field);
  constexpr std::string_view kFixed = "may not change once set";
  if (now.size() == was.size()) {
    for (std::size_t i = 0; i < was.size(); ++i) {
      if (now[i] == was[i]) continue;
      errors.push_back(api::Invalid(at.Index(list.names_first_always ? 0 : i), now, kFixed));
    }
    return;
  }
  const std::size_t first = 0;
  if (now.size() < was.size() && spec["clusterIPs"].empty()) {
    errors.push_back(
        api::Invalid(at.Index(0), now, base::StrCat("primary ", list.one, " can not be unset")));
  }
  if (!now.empty() && !was.empty() && !(now[first] == was[first])) {
    errors.push_back(api::Invalid(at.Index(0), spec[list.shown], kFixed));
  }
  if (now.size() < was.size() && now.size() == 1 &&
      spec["ipFamilyPolicy"].AsString() != "SingleStack") {
    errors.push_back(api::Invalid(
        path.Child("ipFamilyPolicy"), spec["ipFamilyPolicy"],
        base::StrCat("must be set to 'SingleStack' when releasing the secondary ", list.one)));
  }
}

void CheckFamilyFields(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  std::set<std::string_view> seen;
  std::size_t index = 0;
  for (const json::Value& family : spec["ipFamilies"].elements()) {
    const FieldPath at = path.Child("ipFamilies").Index(index++);
    CheckOneOf(family, at, {"IPv4", "IPv6"}, errors);
    if (!seen.insert(family.AsString()).second) {
      errors.push_back(api::Duplicate(at, family.AsString()));
    }
  }
  if (const json::Value policy = spec["ipFamilyPolicy"]; !policy.is_null()) {
    CheckOneOf(policy, path.Child("ipFamilyPolicy"),
               {"PreferDualStack", "RequireDualStack", "SingleStack"}, errors);
  }
}

// Addresses of the families that stand beside them.
void CheckAddressesOfFamilies(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value addresses = spec["clusterIPs"];
  const json::Value families = spec["ipFamilies"];
  if (IsHeadless(spec)) return;
  for (std::size_t i = 0; i < addresses.size() && i < families.size(); ++i) {
    const std::string_view family = families[i].AsString();
    const std::string_view address = addresses[i].AsString();
    if (family != (IsIpv6(address) ? kIpv4 : kIpv6)) continue;
    errors.push_back(
        api::Invalid(path.Child("clusterIPs").Index(i), address,
                     base::StrCat("expected an ", family, " value as indicated by `ipFamilies[",
                                  std::to_string(i), "]`")));
  }
}

}  // namespace

Families InitFamilies(const Context& ctx, json::Value service, json::Value old) {
  return Initialization(ctx, service, old).Run();
}

void CheckAddressFields(const Context& ctx, json::Value spec, json::Value old_spec,
                        FieldErrors& errors) {
  const FieldPath path("spec");
  const json::Value addresses = spec["clusterIPs"];
  const FieldPath addresses_path = path.Child("clusterIPs");
  const std::string_view first = spec["clusterIP"].AsString();
  if (!first.empty() && addresses.empty()) {
    errors.push_back(api::Required(addresses_path, ""));
  } else if (!first.empty() && addresses[std::size_t{0}].AsString() != first) {
    errors.push_back(api::Invalid(addresses_path, addresses, "first value must match `clusterIP`"));
  } else if (first.empty() && !addresses.empty()) {
    errors.push_back(
        api::Invalid(addresses_path, addresses, "must be empty when `clusterIP` is not specified"));
  }
  CheckFamilyFields(spec, path, errors);
  const std::size_t before = errors.size();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view address = addresses[i].AsString();
    if (i == 0 && address == "None") {
      if (addresses.size() > 1) {
        errors.push_back(
            api::Invalid(addresses_path, addresses, "'None' must be the first and only value"));
      }
      continue;
    }
    // One that is stored has been good before.
    if (!Holds(old_spec["clusterIPs"], address)) {
      CheckIp(ctx, address, addresses_path.Index(i), errors);
    }
  }
  const bool invalid = errors.size() != before;
  if (addresses.size() > 2) {
    errors.push_back(api::Invalid(addresses_path, addresses, "may only hold up to 2 values"));
  }
  if (invalid) return;
  const auto all = addresses.elements();
  const auto of_v6 = std::count_if(all.begin(), all.end(), [](const json::Value& address) {
    return IsIpv6(address.AsString());
  });
  const bool is_dual = of_v6 > 0 && static_cast<std::size_t>(of_v6) < addresses.size();
  if (addresses.size() > 1 && !is_dual) {
    errors.push_back(api::Invalid(addresses_path, addresses,
                                  "may specify no more than one IP for each IP family"));
  }
  CheckAddressesOfFamilies(spec, path, errors);
}

void CheckFamiliesUpdate(json::Value spec, json::Value before, FieldErrors& errors) {
  const FieldPath path("spec");
  if (spec["type"].AsString() == "ExternalName" || before["type"].AsString() == "ExternalName") {
    return;
  }
  const bool headless = IsHeadless(spec);
  const bool was_headless = IsHeadless(before);
  if (!headless || !was_headless) {
    CheckListUpdate({"clusterIPs", "clusterIP", "clusterIPs"}, spec, before, path, errors);
  }
  if (!headless && !was_headless) {
    CheckListUpdate({"ipFamilies", "ipFamily", "clusterIPs", true}, spec, before, path, errors);
  }
}

bool IsHeadless(json::Value spec) {
  return spec["clusterIPs"][std::size_t{0}].AsString() == "None";
}

}  // namespace portcullis::registry
