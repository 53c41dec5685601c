// SPDX-License-Identifier: Apache-2.0

#include "controllers/shared_network.h"

#include <charconv>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::controllers {
namespace {

constexpr store::Collection kPorts{"portcullis.io", "nodeports"};
constexpr store::Collection kAddresses{"networking.k8s.io", "ipaddresses"};

store::Key KeyOf(std::string_view port) { return {kPorts.group, kPorts.resource, "", port}; }

store::Encoded Encode(std::string_view port, std::string_view created) {
  store::Encoded object;
  object.bytes =
      base::StrCat(R"({"kind":"NodePort","apiVersion":"portcullis.io/v1","metadata":{"name":")",
                   port, R"(","uid":")", base::Uuid(), R"(","resourceVersion":")");
  object.revision_at = object.bytes.size();
  object.bytes += base::StrCat(R"(","creationTimestamp":")", created, R"("}})");
  return object;
}

// The node ports of a Service.
base::Status AddPorts(const store::Object& service, std::set<std::string>& ports) {
  json::Arena arena;
  const json::Value parsed = TRY(json::Parse(arena, service.bytes(), {.borrow_text = true}));
  for (const json::Value& port : parsed["spec"]["ports"].elements()) {
    if (port["nodePort"].AsInt() > 0) ports.insert(std::to_string(port["nodePort"].AsInt()));
  }
  const std::int64_t check = parsed["spec"]["healthCheckNodePort"].AsInt();
  if (check > 0) ports.insert(std::to_string(check));
  return base::OkStatus();
}

}  // namespace

base::Status SharedNetwork::Start() {
  std::set<std::string> held;
  for (const store::ObjectPtr& service : store_.List({"", "services"})) {
    TRY(AddPorts(*service, held));
  }
  const std::string young = base::FormatTime(clock_.Now() - kUnstoredGrace);
  for (const store::ObjectPtr& object : store_.List(kPorts)) {
    const std::string_view created = object->document()["metadata"]["creationTimestamp"].AsString();
    if (held.contains(std::string(object->name())) || created > young) continue;
    store::Preconditions unchanged;
    unchanged.revision = object->revision();
    (void)store_.Delete(KeyOf(object->name()), unchanged);
  }
  for (const std::string& port : held) {
    if (store_.Get(KeyOf(port)) != nullptr) continue;
    const auto made = store_.Create(KeyOf(port), Encode(port, base::FormatTime(clock_.Now())));
    if (!made.ok() && made.status().reason() != base::Reason::kAlreadyExists) return made.status();
  }
  subscription_ = store_.Subscribe({kPorts, kAddresses}, *this, [this] {
    for (const store::Collection& collection : {kPorts, kAddresses}) {
      for (const store::ObjectPtr& object : store_.List(collection)) Note(*object, true);
    }
  });
  network_.set_port_book(this);
  return base::OkStatus();
}

base::Status SharedNetwork::Enter(int port) {
  const std::string name = std::to_string(port);
  return store_.Create(KeyOf(name), Encode(name, base::FormatTime(clock_.Now()))).status();
}

void SharedNetwork::Strike(int port) {
  const auto gone = store_.Delete(KeyOf(std::to_string(port)), {});
  if (gone.ok() || gone.status().reason() == base::Reason::kNotFound) return;
  base::LogWarning("a node port stays taken",
                   {{"port", std::to_string(port)}, {"error", gone.status().message()}});
}

void SharedNetwork::OnCommit(std::span<const store::EventPtr> events) {
  for (const store::EventPtr& event : events) {
    Note(*event->object, event->type != store::EventType::kDeleted);
  }
}

void SharedNetwork::Note(const store::Object& object, bool is_taken) {
  const std::string_view name = object.name();
  if (object.resource() == kAddresses.resource) return network_.NoteAddress(name, is_taken);
  int port = 0;
  std::from_chars(name.data(), name.data() + name.size(), port);
  network_.NotePort(port, is_taken);
}

}  // namespace portcullis::controllers
