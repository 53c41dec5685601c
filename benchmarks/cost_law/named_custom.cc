// SPDX-License-Identifier: Apache-2.0

// Custom resources: what a structural schema says of lists, maps and texts is checked in code that
// no built-in kind runs.
#include <algorithm>

#include "base/strings.h"
#include "named.h"

namespace portcullis::cost_law {
namespace {

using base::StrCat;

constexpr std::string_view kGadgets = "/apis/law.example/v1/namespaces/law/gadgets";

struct Field {
  std::string_view name;
  std::string (*value)(std::size_t n);    // of spec.<name up to the first space>
  std::string (*changed)(std::size_t n);  // another value of the same size; null: creates only
};

// A list that is one value, as deep as it is long: where two of them differ is found at the end.
std::string Nested(std::size_t n, std::string_view last) {
  const std::size_t depth = std::min<std::size_t>(n, 4000);  // JSON may have 10,000 levels
  return StrCat("{\"a\":", Repeat(depth, "["), List(n, "1"), ",", last, Repeat(depth, "]"), "}");
}

const Field kFields[] = {
    {"set", [](std::size_t n) { return List(n, R"("s#")"); },
     [](std::size_t n) { return List(n, R"("t#")"); }},
    {"set with duplicates", [](std::size_t n) { return List(n, R"("s")"); }, nullptr},
    {"numbers", [](std::size_t n) { return List(n, "#"); },
     [](std::size_t n) { return List(n, "1#"); }},
    {"map", [](std::size_t n) { return List(n, R"({"name":"n#","value":"v"})"); },
     [](std::size_t n) { return List(n, R"({"name":"n#","value":"w"})"); }},
    {"map with duplicates", [](std::size_t n) { return List(n, R"({"name":"n"})"); }, nullptr},
    {"map of two keys", [](std::size_t n) { return List(n, R"({"name":"n","port":#})"); },
     [](std::size_t n) { return List(n, R"({"name":"n","port":1#})"); }},
    {"atomic", [](std::size_t n) { return List(n, R"({"b":#})"); },
     [](std::size_t n) { return List(n, R"({"b":1#})"); }},
    {"atomic with unknown fields", [](std::size_t n) { return List(n, R"({"x#":1})"); }, nullptr},
    {"unknown", [](std::size_t n) { return Map(n, R"("u#":1)"); }, nullptr},
    {"labels", [](std::size_t n) { return Map(n, R"("k#":"v")"); },
     [](std::size_t n) { return Map(n, R"("k#":"w")"); }},
    {"defaulted", [](std::size_t n) { return Map(n, R"("k#":{})"); },
     [](std::size_t n) { return Map(n, R"("m#":{})"); }},
    {"free", [](std::size_t n) { return Map(n, R"("k#":{"a":[1,"b"]})"); },
     [](std::size_t n) { return Map(n, R"("k#":{"a":[2,"c"]})"); }},
    {"free lists", [](std::size_t n) { return StrCat(R"({"a":)", List(n, R"({"x":#})"), "}"); },
     [](std::size_t n) { return StrCat(R"({"a":)", List(n, R"({"y":#})"), "}"); }},
    {"free and deep",
     [](std::size_t n) {
       std::string out = "{\"a\":";
       for (std::size_t i = 0; i < n; i += 500) {  // 500 levels each
         out += StrCat(i == 0 ? "" : StrCat(",\"b", std::to_string(i), "\":"), Repeat(500, "["),
                       Repeat(500, "]"));
       }
       return out + "}";
     },
     nullptr},
    {"free and nested", [](std::size_t n) { return Nested(n, "1"); },
     [](std::size_t n) { return Nested(n, "2"); }},
    {"pattern", [](std::size_t n) { return StrCat("\"", Repeat(n, "a"), "b\""); }, nullptr},
    {"patterns", [](std::size_t n) { return List(n, R"("a-#")"); },
     [](std::size_t n) { return List(n, R"("b-#")"); }},
    {"patterns that fail", [](std::size_t n) { return List(n, R"("A#")"); }, nullptr},
    {"format", [](std::size_t n) { return List(n, R"("10.0.0.1")"); }, nullptr},
    {"enum that fails", [](std::size_t n) { return List(n, R"("x#")"); }, nullptr},
    {"any", [](std::size_t n) { return List(n, R"("x#")"); },
     [](std::size_t n) { return List(n, "#"); }},
    {"text", [](std::size_t n) { return StrCat("\"", Repeat(n, "x"), "\""); }, nullptr},
    {"text of escapes", [](std::size_t n) { return StrCat("\"", Repeat(n, "\\u003c"), "\""); },
     nullptr},
    {"template",
     [](std::size_t n) {
       return StrCat(R"({"apiVersion":"v1","kind":"X","metadata":{"name":"x","labels":)",
                     Map(n, R"("k#":"v")"), "}}");
     },
     nullptr},
    {"ruled", [](std::size_t n) { return List(n, R"({"n":#})"); },
     [](std::size_t n) { return List(n, R"({"n":1#})"); }},
    {"ruled and refused", [](std::size_t n) { return List(n, R"({"n":-1})"); }, nullptr},
};

std::string Gadget(const Field& field, std::string (*value)(std::size_t), std::size_t n) {
  const std::string_view name = field.name.substr(0, field.name.find(' '));
  return StrCat(
      R"({"apiVersion":"law.example/v1","kind":"Gadget","metadata":{"name":"law"},"spec":{")", name,
      "\":", value(n), "}}");
}

struct Way {
  std::string_view name;
  std::string_view method;
  std::string_view type;
};
constexpr Way kWays[] = {{"update", "PUT", "application/json"},
                         {"merge patch", "PATCH", kMerge},
                         {"apply", "PATCH", kApply}};

}  // namespace

void AddCustomResources(std::vector<Family>& out) {
  for (const Field& field : kFields) {
    const auto before = [field](std::size_t n) { return Gadget(field, field.value, n); };
    out.push_back(Alone(StrCat("gadgets ", field.name, " create"), "POST",
                        StrCat(kGadgets, "?dryRun=All"), before));
    out.push_back(Alone(StrCat("gadgets ", field.name, " strict create"), "POST",
                        StrCat(kGadgets, "?dryRun=All&fieldValidation=Strict"), before));
    out.push_back(Alone(StrCat("gadgets ", field.name, " apply anew"), "PATCH",
                        StrCat(kGadgets, "/law?dryRun=All&fieldManager=law"), before, kApply));
    if (field.changed == nullptr) continue;
    for (const Way& way : kWays) {
      out.push_back(Change(StrCat("gadgets ", field.name, " ", way.name),
                           {std::string(kGadgets), before, std::string(way.method), way.type,
                            [field](std::size_t n) { return Gadget(field, field.changed, n); }}));
    }
  }
  out.push_back(Change(
      "gadgets free fewer fields by apply",
      {std::string(kGadgets),
       [](std::size_t n) { return Gadget(kFields[11], kFields[11].value, n); }, "PATCH", kApply,
       [](std::size_t n) { return Gadget(kFields[11], kFields[11].value, n / 2 + 1); }}));
  const auto transition = [](std::string_view element) {
    return [=](std::size_t n) {
      return StrCat(R"({"metadata":{"name":"law"},"spec":{"transition":)", List(n, element), "}}");
    };
  };
  Family rules = Change("gadgets transition rules in a list by keys",
                        {std::string(kGadgets), transition(R"({"name":"n#","n":1})"), "PATCH",
                         kMerge, transition(R"({"name":"n#","n":2})")});
  rules.most = 10'000;  // maxItems
  out.push_back(std::move(rules));
}

}  // namespace portcullis::cost_law
