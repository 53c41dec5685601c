// SPDX-License-Identifier: Apache-2.0

// What CustomResourceDefinitions cost.
#include "base/strings.h"
#include "goals.h"

namespace portcullis::load {
namespace {

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// One of `number`: fields of the common types, each with a sentence of description.
std::string FieldText(std::size_t number) {
  static constexpr std::string_view kTypes[] = {
      R"("type":"string","maxLength":253)",
      R"("type":"integer","format":"int32","minimum":0)",
      R"("type":"boolean")",
      R"("type":"array","items":{"type":"string"})",
  };
  return base::StrCat("\"field", std::to_string(number),
                      R"(":{"description":"What the owner wants of part )", std::to_string(number),
                      R"(.",)", kTypes[number % std::size(kTypes)], "}");
}

// `fields` of them below spec, twenty in each object.
std::string DefinitionText(std::size_t number, std::size_t fields) {
  constexpr std::size_t kEach = 20;
  std::vector<std::string> parts;
  for (std::size_t first = 0; first < fields; first += kEach) {
    std::vector<std::string> members;
    for (std::size_t i = first; i < std::min(first + kEach, fields); ++i) {
      members.push_back(FieldText(i));
    }
    parts.push_back(base::StrCat("\"part", std::to_string(first / kEach),
                                 R"(":{"type":"object","properties":{)", base::Join(members, ","),
                                 R"(},"required":["field)", std::to_string(first), R"("]})"));
  }
  const std::string plural =
      base::StrCat("gadgets", std::to_string(number), "of", std::to_string(fields));
  const std::string kind =
      base::StrCat("Gadget", std::to_string(number), "Of", std::to_string(fields));
  return base::StrCat(
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)",
      R"({"name":")", plural,
      R"(.example.com"},"spec":{"group":"example.com","scope":"Namespaced",)",
      R"("names":{"plural":")", plural, R"(","kind":")", kind,
      R"("},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":)",
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{)",
      base::Join(parts, ","), "}}}}}}]}}");
}

}  // namespace

base::Status DefinitionMemory(Workshop& shop) {
  constexpr std::size_t kFirst = 50;  // they make what all share: connections, threads, caches
  constexpr std::size_t kCount = 150;
  constexpr double kTarget = 200;  // KB
  for (const std::size_t fields : {20U, 200U, 1000U}) {
    const auto server = TRY(shop.Serve());
    const auto text = [&](std::size_t i) { return DefinitionText(i, fields); };
    TRY(CreateMany(server->target(), kDefinitions, kFirst, text));
    server->Settle();
    const double before = server->megabytes();
    TRY(CreateMany(server->target(), kDefinitions, kCount,
                   [&](std::size_t i) { return text(i + kFirst); }));
    server->Settle();
    const double each = (server->megabytes() - before) * 1024 / kCount;
    const double sent = static_cast<double>(text(kFirst).size()) / 1024;
    shop.findings.push_back(
        {.what = base::StrCat("a definition with ", std::to_string(fields), " fields"),
         .figure = Format("%.0f KB", each),
         .baseline = Format("%.1f KB sent", sent),
         .ratio = each / sent,
         .target = "<= 200 KB",
         .met = each <= kTarget});
  }
  return base::OkStatus();
}

}  // namespace portcullis::load
