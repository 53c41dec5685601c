// SPDX-License-Identifier: Apache-2.0

// --audit-log-format=legacy: one line of text for each event, with the words of
// k8s.io/apiserver/pkg/audit, EventString. What was asked and answered is not in it.

#include <utility>

#include "audit/sink.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/value.h"

namespace portcullis::audit {
namespace {

std::string QuotedList(json::Value list) {
  std::vector<std::string> quoted;
  for (const json::Value item : list.elements()) quoted.push_back(base::GoQuote(item.AsString()));
  return base::Join(quoted, ",");
}

// time.RFC3339Nano: without the zeros at the end of the fraction.
std::string ShortTime(std::string_view time) {
  const std::size_t dot = time.find('.');
  if (dot == std::string_view::npos || !time.ends_with('Z')) return std::string(time);
  std::string_view kept = time.substr(0, time.size() - 1);
  while (kept.ends_with('0')) kept.remove_suffix(1);
  if (kept.ends_with('.')) kept.remove_suffix(1);
  return base::StrCat(kept, "Z");
}

std::string LegacyLine(json::Value event) {
  const std::string_view user = event["user"]["username"].AsString();
  const json::Value groups = event["user"]["groups"];
  const json::Value other = event["impersonatedUser"];
  const std::string_view name_space = event["objectRef"]["namespace"].AsString();
  const json::Value code = event["responseStatus"]["code"];
  const auto quoted = [](std::string_view text, std::string_view absent) {
    return base::GoQuote(text.empty() ? absent : text);
  };
  return base::StrCat(
      ShortTime(event["requestReceivedTimestamp"].AsString()),
      " AUDIT: id=", base::GoQuote(event["auditID"].AsString()),
      " stage=", base::GoQuote(event["stage"].AsString()),
      " ip=", quoted(event["sourceIPs"][0].AsString(), "<unknown>"),
      " method=", base::GoQuote(event["verb"].AsString()), " user=", quoted(user, "<none>"),
      " groups=", quoted(user.empty() ? "" : QuotedList(groups), "<none>"),
      " as=", base::GoQuote(other.is_null() ? "<self>" : other["username"].AsString()),
      " asgroups=", quoted(QuotedList(other["groups"]), "<lookup>"),
      " user-agent=", base::GoQuote(event["userAgent"].AsString()),
      " namespace=", quoted(name_space, "<none>"),
      " uri=", base::GoQuote(event["requestURI"].AsString()), " response=\"",
      code.is_null() ? std::string("<deferred>") : std::to_string(code.AsInt()), "\"");
}

class Legacy final : public Sink {
 public:
  explicit Legacy(std::unique_ptr<Sink> behind) : behind_(std::move(behind)) {}

  base::Status Write(std::string event) override {
    json::Arena arena;
    return behind_->Write(LegacyLine(TRY(json::Parse(arena, event))));
  }
  void Flush() override { behind_->Flush(); }

 private:
  const std::unique_ptr<Sink> behind_;
};

}  // namespace

std::unique_ptr<Sink> MakeLegacyFormat(std::unique_ptr<Sink> behind) {
  return std::make_unique<Legacy>(std::move(behind));
}

}  // namespace portcullis::audit
