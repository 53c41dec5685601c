// SPDX-License-Identifier: Apache-2.0

// The formats of test files. One file for each; a new one is a pair of functions and a row of the
// table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/suites/suite.h"

namespace portcullis::offline {

struct SuiteFormat {
  std::string_view name;  // "kyverno"
  std::string_view summary;
  // Whether the document is of this format. Its apiVersion, kind and name may be empty, and its value
  // an array.
  bool (*claims)(const Manifest& document);
  // Appends what the documents say. An error concerns the whole of them; `wrong` receives its place.
  base::Status (*read)(std::span<const Manifest> documents, Location& wrong, Suites& suites);
  // What documents that are read together have in common; null: each is read alone.
  std::string (*group)(const Manifest& document) = nullptr;
};

std::span<const SuiteFormat> SuiteFormats();
// The format that claims the document, or null.
const SuiteFormat* FormatOf(const Manifest& document);

// Reads all test documents, in their order.
Suites ReadSuites(std::span<const Manifest> documents, const FileAccess& files = Disk());

// Whether a file of that name may hold tests although it is neither YAML nor JSON. Its document is its
// text.
bool IsGoTest(std::string_view path);

bool IsNativeTest(const Manifest& document);
bool IsKyvernoTest(const Manifest& document);
bool IsGatorSuite(const Manifest& document);
bool IsKatFile(const Manifest& document);
bool IsKaptest(const Manifest& document);
bool IsKubescapeTests(const Manifest& document);
bool IsVapLibraryTest(const Manifest& document);
bool IsChainsawTest(const Manifest& document);
bool IsAuditEvent(const Manifest& document);

base::Status ReadNativeTest(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadKyvernoTest(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadGatorSuite(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadKatFiles(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadKaptest(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadKubescapeTests(std::span<const Manifest> documents, Location& wrong,
                                Suites& suites);
base::Status ReadVapLibraryTest(std::span<const Manifest> documents, Location& wrong,
                                Suites& suites);
base::Status ReadChainsawTest(std::span<const Manifest> documents, Location& wrong, Suites& suites);
base::Status ReadAuditLog(std::span<const Manifest> documents, Location& wrong, Suites& suites);

}  // namespace portcullis::offline
