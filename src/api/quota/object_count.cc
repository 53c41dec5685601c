// SPDX-License-Identifier: Apache-2.0

#include "api/quota/object_count.h"

#include "base/strings.h"

namespace portcullis::api::quota {
namespace {

bool HasPlainName(const GroupResource& resource) {
  return resource.group.empty() &&
         (resource.resource == "configmaps" || resource.resource == "resourcequotas" ||
          resource.resource == "replicationcontrollers" || resource.resource == "secrets");
}

class ObjectCount final : public Evaluator {
 public:
  explicit ObjectCount(const GroupResource& resource) : count_name_(CountName(resource)) {
    usage_[count_name_] = Quantity::FromInt(1);
    if (HasPlainName(resource)) usage_[resource.resource] = Quantity::FromInt(1);
  }

  bool Handles(Change change, std::string_view subresource, json::Value,
               json::Value) const override {
    return change == Change::kCreate && subresource.empty();
  }
  bool MatchesName(std::string_view name) const override { return usage_.contains(name); }
  Resources Usage(json::Value) const override { return usage_; }

 private:
  std::string count_name_;
  Resources usage_;
};

}  // namespace

std::unique_ptr<const Evaluator> MakeObjectCountEvaluator(const GroupResource& resource) {
  return std::make_unique<ObjectCount>(resource);
}

std::string CountName(const GroupResource& resource) {
  return base::StrCat("count/", resource.ToString());
}

}  // namespace portcullis::api::quota
