// SPDX-License-Identifier: Apache-2.0

// POST deployments/rollback of extensions/v1beta1 and apps/v1beta1 (docs/legacy.md): asks for an
// earlier revision of the deployment. The deployment controller does it.

#include <optional>
#include <string>
#include <utility>

#include "api/api_status.h"
#include "api/field_error.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/write/admit.h"
#include "engine/write/write.h"
#include "store/readable.h"

namespace portcullis::engine {
namespace {

json::Value Succeeded(json::Arena& arena, std::string_view name) {
  return json::ObjectBuilder(arena)
      .Set("kind", "Status")
      .Set("apiVersion", "v1")
      .Set("metadata", json::MakeObject(arena, {}))
      .Set("status", "Success")
      .Set("message",
           base::StrCat("rollback request for deployment ", base::GoQuote(name), " succeeded"))
      .Set("code", 200)
      .Build();
}

base::Status Check(const Operation& op, json::Value rollback) {
  api::FieldErrors errors;
  if (rollback["name"].AsString().empty()) {
    errors.push_back(api::Required(api::FieldPath("name"), "name is required"));
  }
  const std::int64_t revision = rollback["rollbackTo"]["revision"].AsInt();
  if (revision < 0) {
    errors.push_back(api::Invalid(api::FieldPath("rollback", "version"), revision,
                                  "must be greater than or equal to 0"));
  }
  if (errors.empty()) return base::OkStatus();
  return api::InvalidStatus(op.kind().group_kind(), rollback["name"].AsString(), errors);
}

// A rollback that has been admitted, on its way into the deployment.
class Rollback final : public Execution {
 public:
  Rollback(Operation& op, std::optional<PendingWrite> write) : op_(op), write_(std::move(write)) {}
  std::optional<PendingWrite> Advance() override { return std::exchange(write_, std::nullopt); }
  void Committed(base::Result<store::ObjectPtr> stored) override {
    status_ = std::move(stored).status();
  }
  base::Result<Outcome> TakeOutcome() override {
    TRY(status_);
    return PlainOutcome(200, Succeeded(op_.arena, op_.name));
  }

 private:
  Operation& op_;
  std::optional<PendingWrite> write_;  // null: a dry run
  base::Status status_;
};

// Up to the commit.
base::Result<std::optional<PendingWrite>> PlanRollback(Operation& op, const Input& input) {
  json::Value rollback = TRY(DecodeInput(op, input));
  rollback = TRY(RunMutating(op, {.operation = admission::kCreate,
                                  .name = op.name,
                                  .object = rollback,
                                  .options = input.options.as_create}));
  TRY(Check(op, rollback));
  TRY(RunValidating(op, {.operation = admission::kCreate,
                         .name = op.name,
                         .object = rollback,
                         .options = input.options.as_create}));
  const store::ObjectPtr current = TRY(store::GetReadable(*op.world.store, KeyOf(op, op.name)));
  if (current == nullptr) return api::NotFoundStatus(op.group_resource(), op.name);
  json::Value deployment = TRY(FromStore(op, current));
  const json::Value updated = rollback["updatedAnnotations"];
  if (!updated.members().empty()) {
    json::ObjectBuilder annotations(op.arena, deployment["metadata"]["annotations"]);
    for (const json::Member& annotation : updated.members()) {
      annotations.Set(annotation.name(), annotation.value);
    }
    deployment =
        json::SetPath(op.arena, deployment, {"metadata", "annotations"}, annotations.Build());
  }
  deployment = json::SetPath(op.arena, deployment, {"spec", "rollbackTo"}, rollback["rollbackTo"]);
  if (op.dry_run) return std::optional<PendingWrite>();
  PendingWrite write;
  write.kind = PendingWrite::Kind::kUpdate;
  write.ns = op.ns;
  write.name = op.name;
  deployment = AsStored(*op.catalog, op.arena, op.resource->kind, deployment);
  write.encoded = TRY(EncodeForStore(op, deployment));
  write.expected = current->revision();
  return std::optional<PendingWrite>(std::move(write));
}

}  // namespace

std::unique_ptr<Execution> CreateRollback(Operation& op, const Input& input) {
  auto write = PlanRollback(op, input);
  if (!write.ok()) return MakeFinished(std::move(write).status());
  return std::make_unique<Rollback>(op, *std::move(write));
}

}  // namespace portcullis::engine
