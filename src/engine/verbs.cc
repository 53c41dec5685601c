// SPDX-License-Identifier: Apache-2.0

#include "engine/verbs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "admission/chain.h"
#include "api/api_status.h"
#include "api/conversion/custom_converter.h"
#include "authn/authenticator.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/deletion.h"
#include "engine/write/patching.h"
#include "engine/write/system_fields.h"
#include "engine/write/write.h"
#include "registry/services/service_network.h"

namespace portcullis::engine {
namespace {

using admission::Waits;

base::Result<UpdateSpec> ReplacementBy(Operation& op, const Input& input) {
  json::Value object = TRY(DecodeInput(op, input));
  TRY(MatchNameForUpdate(op, object));
  // Those of a patch are looked at after admission only.
  object = DeduplicateOwners(op, object, When::kBeforeAdmission);
  UpdateSpec spec;
  spec.name = op.name;
  spec.transform = [object](json::Value) -> base::Result<json::Value> { return object; };
  spec.replaces = true;
  spec.create_if_absent = CreatesOnUpdate(op);
  return spec;
}

// Whether an apply of an absent object makes it.
bool CreatesOnApply(const Operation& op) {
  if (op.subresource == nullptr || CreatesOnUpdate(op)) return true;
  return op.subresource_name() == "status" && StrategyOf(op).AllowCreateOnApplyStatus();
}

base::Result<UpdateSpec> PatchBy(Operation& op, const Input& input) {
  UpdateSpec spec;
  spec.name = op.name;
  spec.transform = MakePatch(op, input, PatchTargetOf(op));
  spec.create_if_absent = input.patch == PatchType::kApply && CreatesOnApply(op);
  spec.track_fields = input.patch != PatchType::kApply;
  return spec;
}

constexpr std::size_t kLargeObject = 64 * 1024;  // bytes as stored
constexpr std::size_t kLongList = 100;           // objects of the resource, in all namespaces
constexpr std::size_t kLargeList = 512 * 1024;   // bytes as stored of those that may be listed

// Policies, definitions and claims of devices have expressions; custom resources are held against
// those of their definitions.
bool HasExpressions(const api::catalog::ResourceInfo& resource) {
  const std::string_view group = resource.resource.group;
  return resource.custom || group == "admissionregistration.k8s.io" ||
         group == "apiextensions.k8s.io" || group == "resource.k8s.io";
}

bool IsLong(const store::Store& store, const Operation& op) {
  const store::Collection collection = KeyOf(op, {}).collection();
  if (store.Count(collection) > kLongList) return true;
  std::size_t bytes = 0;
  for (const store::ObjectPtr& object : store.List(collection, op.ns)) {
    bytes += object->bytes().size();
  }
  return bytes > kLargeList;
}

bool Reads(Verb verb) { return verb == Verb::kGet || verb == Verb::kList || verb == Verb::kWatch; }

}  // namespace

base::Result<Outcome> Write(Operation& op, const Input& input) {
  return Finish(op, *BeginWrite(op, input));
}

std::unique_ptr<Execution> BeginWrite(Operation& op, const Input& input) {
  if (const Function function = FindFunction(op)) return function(op, input);
  if (op.verb == Verb::kCreate) {
    const auto object = DecodeInput(op, input);
    if (!object.ok()) return MakeFinished(object.status());
    return BeginCreate(op, *object, input.options);
  }
  auto spec = op.verb == Verb::kUpdate ? ReplacementBy(op, input) : PatchBy(op, input);
  if (!spec.ok()) return MakeFinished(std::move(spec).status());
  return BeginUpdate(op, *std::move(spec), input.options);
}

base::Result<Outcome> Delete(Operation& op, const DeleteOptions& options) {
  return Finish(op, *BeginDelete(op, options));
}

std::unique_ptr<Execution> BeginDelete(Operation& op, DeleteOptions options) {
  return BeginDeletion(op, std::move(options));
}

base::Result<Listing> DeleteCollection(Operation& op, const ListOptions& list,
                                       const DeleteOptions& options) {
  Selection selection = TRY(ReadSelection(op, list));
  selection.initialized_only = false;
  WarnOfJobs(op, options);
  ListOptions pages = list;
  // Kubernetes reads page after page, and a page of a version is of exactly that version.
  if (pages.limit == 0) pages.limit = std::numeric_limits<std::int64_t>::max();
  Listing listing = TRY(ListObjects(op, pages, selection));
  TRY(DeleteEach(op, listing.objects, options));
  return listing;
}

Waits WaitsOf(const Operation& op) {
  const World& world = op.world;
  if (op.verb == Verb::kConnect || world.authorizer_may_wait) return Waits::kOnThread;
  if (op.resource->definition != nullptr && op.resource->definition->converter().blocks()) {
    return Reads(op.verb) ? Waits::kOnFiber : Waits::kOnThread;
  }
  const auto is = [&](std::string_view group, std::string_view resource) {
    const api::GroupVersionResource& own = op.resource->resource;
    return own.resource == resource && own.group == group;
  };
  if (!Reads(op.verb) && is("", "services") && world.services->MayWait()) {
    return Waits::kOnThread;
  }
  if (is("authentication.k8s.io", "tokenreviews") && world.tokens != nullptr &&
      world.tokens->MayWait()) {
    return Waits::kOnThread;
  }
  switch (op.verb) {
    case Verb::kCreate:
      if (is("", "namespaces") && world.namespace_hook != nullptr) return Waits::kOnThread;
      return AdmissionWaits(op, admission::kCreate);
    case Verb::kUpdate:
    case Verb::kPatch: {
      const Waits waits = AdmissionWaits(op, admission::kUpdate);
      // What is not there may be created. If it goes meanwhile, Recorder::CheckMayWait() is in time.
      if (waits == Waits::kOnThread || world.store->Get(KeyOf(op, op.name)) != nullptr)
        return waits;
      return std::max(waits, AdmissionWaits(op, admission::kCreate));
    }
    case Verb::kDelete:
      return AdmissionWaits(op, admission::kDelete);
    case Verb::kDeleteCollection:
      return Waits::kOnThread;
    default:
      return Waits::kForNothing;
  }
}

bool MayTakeLong(const Operation& op) {
  if (!Reads(op.verb) && HasExpressions(*op.resource)) return true;
  // Reviews take as long as the rules they are held against.
  if (op.subresource == nullptr && FindFunction(op) != nullptr) return true;
  const store::Store& store = *op.world.store;
  if (op.verb == Verb::kWatch) return true;  // it may list before it watches
  if (op.verb == Verb::kList) return IsLong(store, op);
  if (op.name.empty()) return false;
  const store::ObjectPtr stored = store.Get(KeyOf(op, op.name));
  return stored != nullptr && stored->bytes().size() > kLargeObject;
}

}  // namespace portcullis::engine
