// SPDX-License-Identifier: Apache-2.0

#include "engine/service_ranges.h"

#include <utility>

#include "api/condition.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

constexpr store::Collection kServiceCidrs{"networking.k8s.io", "servicecidrs"};
constexpr std::string_view kDefault = "kubernetes";

// Without the condition it is ready: there may be no controller that sets it.
bool IsReady(json::Value object) {
  if (object["metadata"].Has("deletionTimestamp")) return false;
  return api::ConditionOf(object, "Ready").is_null() || api::HasTrueCondition(object, "Ready");
}

}  // namespace

ServiceRanges::ServiceRanges(store::Store& store, registry::ServiceNetwork& network)
    : network_(network) {
  subscription_ = store.Subscribe({kServiceCidrs}, *this, [this, &store] {
    for (const store::ObjectPtr& object : store.List(kServiceCidrs)) Note(*object);
    Publish();
  });
}

void ServiceRanges::OnCommit(std::span<const store::EventPtr> events) {
  for (const store::EventPtr& event : events) {
    if (event->type == store::EventType::kDeleted) {
      networks_.erase(std::string(event->object->name()));
    } else {
      Note(*event->object);
    }
  }
  Publish();
}

void ServiceRanges::Note(const store::Object& object) {
  auto& networks = networks_[std::string(object.name())];
  networks.clear();
  json::Arena arena;
  const auto parsed = json::Parse(arena, object.bytes(), {.borrow_text = true});
  if (!parsed.ok() || !IsReady(*parsed)) return;
  for (const json::Value& cidr : (*parsed)["spec"]["cidrs"].elements()) {
    auto network = golang::ParsePrefixSloppy(cidr.AsString());
    if (network) networks.push_back(*std::move(network));
  }
}

void ServiceRanges::Publish() {
  const auto own = networks_.find(kDefault);
  std::vector<golang::IpPrefix> all =
      own == networks_.end() ? network_.networks_of_flag() : own->second;
  for (const auto& [name, networks] : networks_) {
    if (name != kDefault) all.insert(all.end(), networks.begin(), networks.end());
  }
  network_.SetRanges(all);
}

}  // namespace portcullis::engine
