// SPDX-License-Identifier: Apache-2.0

// PriorityLevelConfigurations (pkg/apis/flowcontrol/validation).

#include <cmath>

#include "api/named_value.h"
#include "base/strings.h"
#include "registry/flow_control/flow_status.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

constexpr std::int64_t kMostQueues = 10'000'000;

// Hands are dealt from a hash that must hold enough for all their cards.
int RequiredEntropyBits(std::int64_t queues, std::int64_t hand) {
  return static_cast<int>(
      std::ceil(std::log2(static_cast<double>(queues)) * static_cast<double>(hand)));
}

void CheckQueuing(json::Value queuing, const FieldPath& path, FieldErrors& errors) {
  const auto wrong = [&](std::string_view field, std::string_view text) {
    errors.push_back(api::Invalid(path.Child(field), queuing[field].AsInt(), text));
  };
  if (queuing["queueLengthLimit"].AsInt() <= 0) wrong("queueLengthLimit", "must be positive");
  const std::int64_t queues = queuing["queues"].AsInt();
  if (queues <= 0) {
    wrong("queues", "must be positive");
  } else if (queues > kMostQueues) {
    wrong("queues", "must not be greater than 10000000");
  }
  const std::int64_t hand = queuing["handSize"].AsInt();
  if (hand <= 0) {
    wrong("handSize", "must be positive");
  } else if (hand > queues) {
    wrong("handSize",
          base::StrCat("should not be greater than queues (", std::to_string(queues), ")"));
  } else if (RequiredEntropyBits(queues, hand) > 60) {
    wrong("handSize",
          base::StrCat("required entropy bits of deckSize ", std::to_string(queues),
                       " and handSize ", std::to_string(hand), " should not be greater than 60"));
  }
}

void CheckLendable(json::Value level, const FieldPath& path, FieldErrors& errors) {
  const json::Value share = level["lendablePercent"];
  if (share.is_null() || (share.AsInt() >= 0 && share.AsInt() <= 100)) return;
  errors.push_back(api::Invalid(path.Child("lendablePercent"), share.AsInt(),
                                "must be between 0 and 100, inclusive"));
}

void CheckShares(json::Value level, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t shares = level["nominalConcurrencyShares"].AsInt();
  if (shares >= 0) return;
  errors.push_back(api::Invalid(path.Child("nominalConcurrencyShares"), shares,
                                "must be a non-negative integer"));
}

void CheckLimitResponse(json::Value response, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = response["type"].AsString();
  const json::Value queuing = response["queuing"];
  const FieldPath at = path.Child("queuing");
  if (type == "Reject") {
    if (queuing.is_null()) return;
    errors.push_back(
        api::Forbidden(at, "must be nil if limited.limitResponse.type is not Limited"));
  } else if (type != "Queue") {
    errors.push_back(
        api::NotSupported(path.Child("type"), api::NamedValue(type), {"Queue", "Reject"}));
  } else if (queuing.is_null()) {
    errors.push_back(
        api::Required(at, "must not be empty if limited.limitResponse.type is Limited"));
  } else {
    CheckQueuing(queuing, at, errors);
  }
}

void CheckLimited(json::Value limited, const FieldPath& path, FieldErrors& errors) {
  CheckShares(limited, path, errors);
  CheckLimitResponse(limited["limitResponse"], path.Child("limitResponse"), errors);
  CheckLendable(limited, path, errors);
  if (const std::int64_t percent = limited["borrowingLimitPercent"].AsInt(); percent < 0) {
    errors.push_back(api::Invalid(path.Child("borrowingLimitPercent"), percent,
                                  "if specified, must be a non-negative integer"));
  }
}

void ValidatePriorityLevelConfiguration(const Context& ctx, json::Value object,
                                        FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view type = spec["type"].AsString();
  const bool exempt_name = object["metadata"]["name"].AsString() == "exempt";
  if ((type == "Exempt") != exempt_name) {
    errors.push_back(api::Invalid(path.Child("type"), type,
                                  "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  if (type == "Exempt") {
    if (!spec["limited"].is_null()) {
      errors.push_back(
          api::Forbidden(path.Child("limited"), "must be nil if the type is not Limited"));
    }
    CheckShares(spec["exempt"], path.Child("exempt"), errors);
    CheckLendable(spec["exempt"], path.Child("exempt"), errors);
  } else if (type == "Limited") {
    if (!spec["exempt"].is_null()) {
      errors.push_back(api::Forbidden(path.Child("exempt"), "must be nil if the type is Limited"));
    }
    if (spec["limited"].is_null()) {
      errors.push_back(
          api::Required(path.Child("limited"), "must not be empty when type is Limited"));
    } else {
      CheckLimited(spec["limited"], path.Child("limited"), errors);
    }
  } else {
    errors.push_back(
        api::NotSupported(path.Child("type"), api::NamedValue(type), {"Exempt", "Limited"}));
  }
  CheckMandatory(ctx, "PriorityLevelConfiguration", object, errors);
}

}  // namespace

void AddPriorityLevelConfigurationStrategy(KindTable& table) {
  table.Add({.group = "flowcontrol.apiserver.k8s.io",
             .resource = "prioritylevelconfigurations",
             .validate = &ValidatePriorityLevelConfiguration,
             .validate_update = &ValidateFlowUpdate<&ValidatePriorityLevelConfiguration>,
             .traits = {.counts_generation = true, .status_keeps = StatusKeeps::kWholeMetadata},
             .metadata = {.update = "F", .subresource = ""}});
}

}  // namespace portcullis::registry
