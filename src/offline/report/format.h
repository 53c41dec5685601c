// SPDX-License-Identifier: Apache-2.0

// The forms in which a report is printed. One file for each; a new one is a function and a row of
// the table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "offline/result.h"

namespace portcullis::offline {

struct FormatOptions {
  bool color = false;
  bool verbose = false;  // also what was admitted without a word
};

struct Format {
  std::string_view name;
  std::string_view summary;
  std::string (*write)(const Report& report, const FormatOptions& options);
};

std::span<const Format> Formats();
// Null if there is none of that name.
const Format* FindFormat(std::string_view name);

// "deployments.apps/web", with its namespace: "deployments.apps/web -n team".
std::string NameOf(const Result& result);
// The lines of a text as one, with single spaces between them.
std::string OneLine(std::string_view text);
// "7 manifests: 5 allowed, 1 denied, 1 with errors, 2 warnings".
std::string SummaryOf(const Report& report);

std::string WriteTable(const Report& report, const FormatOptions& options);
std::string WriteJson(const Report& report, const FormatOptions& options);
std::string WriteYaml(const Report& report, const FormatOptions& options);
std::string WriteJunit(const Report& report, const FormatOptions& options);
std::string WriteSarif(const Report& report, const FormatOptions& options);
std::string WriteGithub(const Report& report, const FormatOptions& options);
std::string WriteTap(const Report& report, const FormatOptions& options);
std::string WriteMarkdown(const Report& report, const FormatOptions& options);
std::string WriteAzureDevops(const Report& report, const FormatOptions& options);
std::string WriteGitlab(const Report& report, const FormatOptions& options);
std::string WriteHtml(const Report& report, const FormatOptions& options);

// Text for XML 1.0 and HTML, which have no control characters but tab and line ends.
std::string XmlText(std::string_view text);

}  // namespace portcullis::offline
