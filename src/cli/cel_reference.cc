// SPDX-License-Identifier: Apache-2.0

#include "cli/cel_reference.h"

#include <array>

#include "base/strings.h"
#include "cel/library.h"
#include "kube_cel/libraries.h"

namespace portcullis::cli {
namespace {

struct Section {
  std::string_view title;
  const cel::Library* library;
  int version;  // what Kubernetes has of it
};

const std::array<Section, 16> kSections = {{
    {"Language", &cel::kStandardLibrary, cel::kNewest},
    {"Strings", &cel::kStringsLibrary, 2},
    {"Lists", &cel::kListsLibrary, 3},
    {"Lists of Kubernetes", &kube_cel::kListLibrary, cel::kNewest},
    {"Sets", &cel::kSetsLibrary, cel::kNewest},
    {"Optional values", &cel::kOptionalLibrary, 2},
    {"Two-variable comprehensions", &cel::kTwoVariableLibrary, cel::kNewest},
    {"Regular expressions", &kube_cel::kRegexLibrary, cel::kNewest},
    {"URLs", &kube_cel::kUrlLibrary, cel::kNewest},
    {"Quantities", &kube_cel::kQuantityLibrary, cel::kNewest},
    {"IP addresses", &kube_cel::kIpLibrary, cel::kNewest},
    {"CIDR blocks", &kube_cel::kCidrLibrary, cel::kNewest},
    {"Named formats", &kube_cel::kFormatLibrary, cel::kNewest},
    {"Semantic versions", &kube_cel::kSemverLibrary, cel::kNewest},
    {"Authorizer", &kube_cel::kAuthorizerLibrary, cel::kNewest},
    {"JSON patches", &kube_cel::kJsonPatchLibrary, cel::kNewest},
}};

// Vertical bars would end a cell.
std::string Cell(std::string_view text) { return base::ReplaceAll(text, "|", "\\|"); }

std::string Code(std::string_view text) {
  return text.empty() ? "" : base::StrCat("`", Cell(text), "`");
}

// `(string, int) -> string` of a method becomes `string.name(int) -> string`.
std::string Call(const cel::Function& row) {
  if (row.style == cel::Style::kGlobal) return base::StrCat(row.name, row.signature);
  std::size_t end = 1;
  int depth = 0;
  for (; end < row.signature.size(); ++end) {
    const char c = row.signature[end];
    if (depth == 0 && (c == ',' || c == ')')) break;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
  const std::string_view receiver = row.signature.substr(1, end - 1);
  std::string_view rest = row.signature.substr(end);
  if (rest.starts_with(", ")) rest.remove_prefix(2);
  return base::StrCat(receiver, ".", row.name, "(", rest);
}

bool IsShown(const cel::Function& row, int version) {
  const bool documented = !row.doc.empty() || !row.example.empty();
  const bool named = (row.name[0] | 0x20) >= 'a' && (row.name[0] | 0x20) <= 'z';
  return documented && named && row.since <= version && version <= row.until;
}

void AppendSection(const Section& section, std::string& out) {
  out += base::StrCat("\n## ", section.title, "\n\n| function | meaning | example |\n",
                      "|---|---|---|\n");
  for (const cel::Function& row : section.library->functions) {
    if (!IsShown(row, section.version)) continue;
    out +=
        base::StrCat("| ", Code(Call(row)), " | ", Cell(row.doc), " | ", Code(row.example), " |\n");
  }
  for (const cel::Macro& row : section.library->macros) {
    if (row.since > section.version) continue;
    const std::string_view dot = row.style == cel::Style::kMember ? "." : "";
    out += base::StrCat("| ", Code(base::StrCat(dot, row.name, "()")), ", macro of ",
                        std::to_string(row.arguments), " | ", Cell(row.doc), " | ",
                        Code(row.example), " |\n");
  }
}

}  // namespace

std::string CelReference() {
  std::string out =
      "# CEL functions\n"
      "\n"
      "What expressions of policies, match conditions and rules can call. Made from the tables of\n"
      "the libraries by `portcullis cel --functions`; do not edit.\n"
      "\n"
      "Each example is true with `portcullis cel --as admission EXAMPLE`, but for those that ask "
      "the\n"
      "authorizer, which are true where it allows the request (`--authorizer FILE`), and those of\n"
      "JSON patches, which only mutating policies can call.\n";
  for (const Section& section : kSections) AppendSection(section, out);
  return out;
}

}  // namespace portcullis::cli
