#include "registry/validation/device_selector.h"

#include <map>
#include <memory>

#include "base/strings.h"
#include "cel/environment.h"
#include "cel/program.h"
#include "kube_cel/compiler.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kDevice = "kubernetes.DRADevice";

// The only struct that selectors know.
class DeviceTypes final : public cel::TypeProvider {
 public:
  DeviceTypes() : device_(cel::MakeStructType(arena_, kDevice)) {
    constexpr std::pair<std::string_view, std::string_view> kFields[] = {
        {"driver", "string"},
        {"attributes", "map(string, map(string, dyn))"},
        {"capacity", "map(string, map(string, kubernetes.Quantity))"},
        {"allowMultipleAllocations", "bool"}};
    for (const auto& [name, type] : kFields) {
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

std::shared_ptr<const cel::Environment> MakeEnvironment() {
  cel::EnvironmentBuilder builder;
  kube_cel::AddKubernetesLibraries(builder);
  builder.SetTypes(std::make_shared<DeviceTypes>());
  builder.AddVariable("device", base::StrCat("#", kDevice));
  auto built = builder.Build();
  return built.ok() ? *built : nullptr;
}

}  // namespace

std::string CheckDeviceExpression(std::string_view expression) {
  static const std::shared_ptr<const cel::Environment> kEnvironment = MakeEnvironment();
  if (kEnvironment == nullptr) return "";
  const cel::Compilation compilation = kEnvironment->Compile(expression);
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

}  // namespace portcullis::registry
