// SPDX-License-Identifier: Apache-2.0

#include "registry/devices/device_selector.h"

#include <map>
#include <memory>

#include "base/strings.h"
#include "cel/checker/cost_estimate.h"
#include "cel/environment.h"
#include "cel/program.h"
#include "kube_cel/compiler.h"

namespace portcullis::registry {
namespace {

constexpr std::uint64_t kMostCost = 1'000'000;
constexpr std::string_view kDevice = "kubernetes.DRADevice";
constexpr std::string_view kShared = "allowMultipleAllocations";

// The only struct that selectors know.
class DeviceTypes final : public cel::TypeProvider {
 public:
  explicit DeviceTypes(bool are_shared) : device_(cel::MakeStructType(arena_, kDevice)) {
    constexpr std::pair<std::string_view, std::string_view> kFields[] = {
        {"driver", "string"},
        {"attributes", "map(string, map(string, dyn))"},
        {"capacity", "map(string, map(string, kubernetes.Quantity))"},
        {kShared, "bool"}};
    for (const auto& [name, type] : kFields) {
      if (name == kShared && !are_shared) continue;
      const auto parsed = cel::ParseType(arena_, type);
      if (parsed.ok()) fields_[name] = *parsed;
    }
  }

  const cel::Type* FindStruct(std::string_view name) const override {
    return name == kDevice ? device_ : nullptr;
  }
  const cel::Type* FindField(const cel::Type& type, std::string_view field) const override {
    const auto found = fields_.find(field);
    return type.name != kDevice || found == fields_.end() ? nullptr : found->second;
  }

 private:
  json::Arena arena_;
  const cel::Type* device_;
  std::map<std::string_view, const cel::Type*> fields_;
};

// How long names, lists and values can be in a device.
class DeviceSizes final : public cel::SizeEstimator {
 public:
  std::optional<cel::Range> Size(std::span<const std::string_view> path,
                                 const cel::Type&) const override {
    if (path.empty() || path[0] != "device") return std::nullopt;
    if (path.size() == 1) return UpTo(0);
    const std::string_view field = path[1];
    if (field == "driver" || field == kShared) {
      if (path.size() > 2) return std::nullopt;
      return UpTo(field == "driver" ? kLongestDomain : 1);
    }
    const bool attributes = field == "attributes";
    if (!attributes && field != "capacity") return std::nullopt;
    if (path.size() == 2) return UpTo(kMostEntries);
    if (path[2] == "@keys") return path.size() == 3 ? UpTo(kLongestDomain) : std::nullopt;
    if (path[2] != "@values" && path[2] != "@items") return std::nullopt;
    if (path.size() == 3) return UpTo(kMostEntries);
    if (path[3] == "@keys") return path.size() == 4 ? UpTo(kLongestName) : std::nullopt;
    // An attribute may be asked for by any name.
    const bool element = path[3] == "@values" || path[3] == "@items";
    if (path.size() > 4 || (!element && !attributes)) return std::nullopt;
    return UpTo(attributes ? kLongestValue : 0);
  }

 private:
  static constexpr std::uint64_t kLongestDomain = 63;
  static constexpr std::uint64_t kLongestName = 32;
  static constexpr std::uint64_t kLongestValue = 64;
  static constexpr std::uint64_t kMostEntries = 32;

  static std::optional<cel::Range> UpTo(std::uint64_t most) { return cel::Range{0, most}; }
};

std::shared_ptr<const cel::Environment> MakeEnvironment(bool are_shared) {
  cel::EnvironmentBuilder builder;
  kube_cel::AddKubernetesLibraries(builder);
  builder.SetTypes(std::make_shared<DeviceTypes>(are_shared));
  builder.AddVariable("device", base::StrCat("#", kDevice));
  auto built = builder.Build();
  return built.ok() ? *built : nullptr;
}

// The detail of an Invalid error, or "".
std::string ProblemOf(const cel::Compilation& compilation) {
  if (!compilation.issues.empty()) {
    return base::StrCat("compilation failed: ", compilation.issues.ToString());
  }
  if (!compilation.ok()) return compilation.ErrorText();
  const cel::Type* type = compilation.program->result_type();
  if (type->kind == cel::TypeKind::kBool || type->kind == cel::TypeKind::kAny ||
      type->kind == cel::TypeKind::kDyn) {
    return "";
  }
  return base::StrCat("must evaluate to bool or the unknown type, not ", cel::TypeString(type));
}

}  // namespace

void CheckDeviceExpression(const Context& ctx, std::string_view expression, const FieldPath& path,
                           FieldErrors& errors) {
  using EnvironmentPtr = std::shared_ptr<const cel::Environment>;
  static const EnvironmentPtr kOfOwnDevices = MakeEnvironment(false);
  static const EnvironmentPtr kOfSharedDevices = MakeEnvironment(true);
  const bool are_shared = ctx.release->GateEnabled("DRAConsumableCapacity");
  const EnvironmentPtr& environment = are_shared ? kOfSharedDevices : kOfOwnDevices;
  if (environment == nullptr) return;
  if (const std::string wrong = ProblemOf(environment->Compile(expression)); !wrong.empty()) {
    errors.push_back(api::Invalid(path, expression, wrong));
    return;
  }
  const cel::Compilation checked = environment->Check(expression);
  if (checked.ast == nullptr) return;
  if (cel::EstimateCost(*environment, *checked.ast, DeviceSizes()).max > kMostCost) {
    errors.push_back(api::Forbidden(path, "too complex, exceeds cost limit"));
  }
}

}  // namespace portcullis::registry
