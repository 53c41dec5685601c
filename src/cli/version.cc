// SPDX-License-Identifier: Apache-2.0

#include "cli/version.h"

#include <cstdio>
#include <string>
#include <utility>

#include "base/strings.h"
#include "build_info/build_info.h"
#include "flags/setters.h"
#include "release/release.h"
#include "server/discovery/version.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kUsage =
    R"(Prints the version of the program, the commit it was built from, and the Kubernetes it speaks.

Usage:
  portcullis version [-o text|json|yaml]
)";

struct Options {
  std::string format = "text";
};

constexpr std::string_view kFormats[] = {"text", "json", "yaml"};

constexpr flags::Flag<Options> kFlags[] = {
    {.name = "output",
     .type = flags::Type::kString,
     .default_text = "text",
     .meaning = "Form: text, json or yaml",
     .set = &flags::SetOneOf<&Options::format, kFormats>,
     .shorthand = 'o',
     .value_name = "FORMAT"},
};

std::vector<flags::Info> Flags() { return flags::InfosOf<Options>(kFlags); }

// All values are plain words, which need no quoting in JSON; in YAML they are quoted, because a
// commit may look like a number.
std::string Versions(const std::string& kubernetes, bool as_json) {
  const BuildInfo& build = ThisBuild();
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"version", build.version},         {"gitCommit", build.commit},
      {"gitTreeState", build.tree_state}, {"buildDate", build.date},
      {"compiler", build.compiler},       {"platform", build.platform},
      {"kubernetesVersion", kubernetes}};
  std::vector<std::string> lines;
  for (const auto& [name, value] : rows) {
    lines.push_back(as_json ? base::StrCat("  \"", name, "\": \"", value, "\"")
                            : base::StrCat(name, ": \"", value, "\""));
  }
  if (as_json) return base::StrCat("{\n", base::Join(lines, ",\n"), "\n}\n");
  return base::StrCat(base::Join(lines, "\n"), "\n");
}

// "portcullis 0.1.0 (90df72e1c2d3, 2026-11-22), speaks Kubernetes v1.36.0+portcullis"
std::string Sentence(const std::string& kubernetes) {
  constexpr std::size_t kShortCommit = 12;
  constexpr std::size_t kDay = 10;
  const BuildInfo& build = ThisBuild();
  std::string source;
  if (!build.commit.empty()) {
    source = base::StrCat(" (", build.commit.substr(0, kShortCommit),
                          build.tree_state == "dirty" ? "-dirty" : "", ", ",
                          build.date.substr(0, kDay), ")");
  }
  return base::StrCat("portcullis ", build.version, source, ", speaks Kubernetes ", kubernetes,
                      "\n");
}

int Run(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(kFlags, arguments, {"portcullis version"}, options);
  if (!line.ok()) return UsageError(kVersion.name, line.status().message());
  if (line->help) return PrintHelp(kVersion);
  const std::string kubernetes = server::GitVersion(release::Release::Newest());
  std::fputs((options.format == "text" ? Sentence(kubernetes)
                                       : Versions(kubernetes, options.format == "json"))
                 .c_str(),
             stdout);
  return kExitOk;
}

}  // namespace

const Command kVersion = {"version", "print the version", &Run, &Flags, kUsage};

}  // namespace portcullis::cli
