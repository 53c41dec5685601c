// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/state.h"

#include "admission/errors.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::plugins::common {

store::ObjectPtr Find(const store::Reader* reader, std::string_view group,
                      std::string_view resource, std::string_view ns, std::string_view name) {
  if (reader == nullptr) return nullptr;
  return reader->Get({group, resource, ns, name});
}

json::Value RootOf(json::Arena& arena, const store::ObjectPtr& object) {
  if (object == nullptr) return {};
  arena.Retain(object);
  return object->document().root();
}

std::vector<store::ObjectPtr> List(const store::Reader* reader, std::string_view group,
                                   std::string_view resource, std::string_view ns) {
  if (reader == nullptr) return {};
  return reader->List({group, resource}, ns);
}

std::string NameProblem(std::string_view name) {
  if (name.empty()) return "resource name may not be empty";
  std::vector<std::string> problems;
  if (name == "." || name == "..") problems.push_back(base::StrCat("may not be '", name, "'"));
  for (const char c : {'/', '%'}) {
    if (name.find(c) == std::string_view::npos) continue;
    problems.push_back(base::StrCat("may not contain '", std::string(1, c), "'"));
  }
  if (problems.empty()) return {};
  return base::StrCat("invalid resource name ", base::GoQuote(name), ": ", base::GoList(problems));
}

base::Status AbsentFromCache(std::string_view group, std::string_view singular,
                             std::string_view name) {
  return admission::NotFound(group, singular, name);
}

}  // namespace portcullis::plugins::common
