// SPDX-License-Identifier: Apache-2.0

// Request: one write on its way through the admission chain.
//
// The server makes one Request per phase record (webhooks.md calls it "attributes"): one for the
// mutating phase and one for the validating phase of create, update and connect, a single one for
// both phases of a delete. What a whole HTTP request collects (warnings, audit annotations, the
// time spent in webhooks) lives in its Recorder.
//
// Object, old object and options are the canonical JSON of the request's own version, with
// apiVersion and kind. Only the mutating phase may replace the object, through set_object().
//
// Ownership: strings and user are owned or outlive the request; json Values live in arena() or in
// arenas it retains. Threads: confined to one thread at a time; the recorder is thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "admission/recorder.h"
#include "api/names.h"
#include "api/user_info.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission {

// The operations of admission; also bits of an Operations mask.
enum Operation : unsigned { kCreate = 1, kUpdate = 2, kDelete = 4, kConnect = 8 };
using Operations = unsigned;
inline constexpr Operations kAllOperations = kCreate | kUpdate | kDelete | kConnect;

// The two phases; also bits of a Phases mask.
enum Phase : unsigned { kMutate = 1, kValidate = 2 };
using Phases = unsigned;

// "CREATE", "UPDATE", "DELETE", "CONNECT".
std::string_view OperationText(Operation operation);

// Everything known of a request when it reaches admission. Absent objects are null values.
struct Attributes {
  Operation operation = kCreate;
  api::GroupVersionResource resource;  // of the request URL, never of the stored version
  std::string subresource;
  api::GroupVersionKind kind;  // of the object in the request, e.g. autoscaling/v1 Scale
  // The request's namespace; for Namespace objects (and their subresources) their own name.
  std::string namespace_name;
  std::string name;  // "" for generateName before storage, and for items of a deletecollection
  json::Value object;
  json::Value old_object;
  json::Value options;  // CreateOptions/UpdateOptions/DeleteOptions with kind, null for CONNECT
  bool dry_run = false;
  bool custom = false;  // the objects are custom resources
  // The object holds a time that the server has just noted in metadata.managedFields. kube-apiserver has it
  // with parts of a second, which JSON does not keep. So the first webhook or policy that sends the object
  // through JSON has changed it, even if its patch changes nothing: the audit annotation says `mutated`, and
  // other webhooks are called again. Never so for custom resources, which Go holds as JSON.
  bool has_fresh_times = false;
  // The object as the client's text had it, with the empty lists and maps that decoding drops. Null if that
  // is not known, and once the object has been through JSON.
  json::Value sent;
  api::UserInfo user;
  // When the HTTP request must be answered; none for long-running ones.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

// What plugins remember of one mutating run, so that the chain may call them a second time.
class Reinvocation {
 public:
  // Base of a plugin's own memory.
  struct State {
    virtual ~State() = default;
  };

  // True during the second pass.
  bool is_reinvoke() const { return is_reinvoke_; }
  bool should_reinvoke() const { return should_reinvoke_; }
  void RequestReinvocation() { should_reinvoke_ = true; }
  void BeginSecondPass() { is_reinvoke_ = true; }

  // The memory of `plugin`, made on first use. REQUIRES: the same T for the same plugin.
  template <typename T>
  T& StateOf(std::string_view plugin) {
    auto& slot = states_[plugin];
    if (slot == nullptr) slot = std::make_unique<T>();
    return static_cast<T&>(*slot);
  }

 private:
  bool is_reinvoke_ = false;
  bool should_reinvoke_ = false;
  std::map<std::string_view, std::unique_ptr<State>> states_;
};

class Request {
 public:
  // `arena` and `recorder` outlive the request.
  Request(Attributes attributes, json::Arena& arena, Recorder& recorder)
      : attributes_(std::move(attributes)), arena_(arena), recorder_(recorder) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Operation operation() const { return attributes_.operation; }
  const api::GroupVersionResource& resource() const { return attributes_.resource; }
  const std::string& subresource() const { return attributes_.subresource; }
  const api::GroupVersionKind& kind() const { return attributes_.kind; }
  const std::string& namespace_name() const { return attributes_.namespace_name; }
  const std::string& name() const { return attributes_.name; }
  json::Value object() const { return attributes_.object; }
  json::Value old_object() const { return attributes_.old_object; }
  json::Value options() const { return attributes_.options; }
  bool dry_run() const { return attributes_.dry_run; }
  bool is_custom() const { return attributes_.custom; }
  bool has_fresh_times() const { return attributes_.has_fresh_times; }
  json::Value sent() const { return attributes_.sent; }
  const api::UserInfo& user() const { return attributes_.user; }
  const std::optional<std::chrono::steady_clock::time_point>& deadline() const {
    return attributes_.deadline;
  }
  const Attributes& attributes() const { return attributes_; }

  // Where new values for this request are made. Usable from const methods of the validating phase,
  // by the thread that runs the chain only.
  json::Arena& arena() const { return arena_; }
  Recorder& recorder() const { return recorder_; }

  // True if this is about `resource` of `group` itself, not a subresource.
  bool Is(std::string_view group, std::string_view resource) const {
    return IsResource(group, resource) && attributes_.subresource.empty();
  }
  // True for the resource or any of its subresources.
  bool IsResource(std::string_view group, std::string_view resource) const {
    return attributes_.resource.resource == resource && attributes_.resource.group == group;
  }

  // Replaces the object. Mutating phase only.
  void set_object(json::Value object) {
    attributes_.object = object;
    ++object_version_;
  }
  // The object has been through JSON: parts of seconds, and what is empty, are lost.
  void MarkReencoded() {
    attributes_.has_fresh_times = false;
    attributes_.sent = {};
  }
  // Counts set_object() calls; lets caches notice a change.
  std::uint64_t object_version() const { return object_version_; }
  bool object_changed() const { return object_version_ != 0; }

  Reinvocation& reinvocation() { return reinvocation_; }
  const Reinvocation& reinvocation() const { return reinvocation_; }

  // A warning to the client (header `Warning: 299`).
  void Warn(std::string text) const { recorder_.Warn(std::move(text)); }
  // An audit annotation. Keys: exactly one '/', prefix a DNS subdomain, a qualified name; the first
  // value of a key stays. An error says why it was not recorded; callers usually ignore it.
  base::Status Annotate(std::string_view key, std::string_view value,
                        AuditLevel level = AuditLevel::kMetadata) const {
    return recorder_.Annotate(key, value, level);
  }

 private:
  Attributes attributes_;
  json::Arena& arena_;
  Recorder& recorder_;
  Reinvocation reinvocation_;
  std::uint64_t object_version_ = 0;
};

}  // namespace portcullis::admission
