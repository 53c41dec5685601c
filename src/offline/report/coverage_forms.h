// SPDX-License-Identifier: Apache-2.0

// The forms in which coverage is printed. A new one is a function and a row of the table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offline/coverage.h"

namespace portcullis::offline {

struct CoverageForm {
  std::string_view name;
  std::string (*write)(const std::vector<PolicyCoverage>& policies);
};

std::span<const CoverageForm> CoverageForms();
// Null if there is none of that name.
const CoverageForm* FindCoverageForm(std::string_view name);

// For people: what is not reached, with its place.
std::string WriteCoverageText(const std::vector<PolicyCoverage>& policies);
std::string WriteCoverageJson(const std::vector<PolicyCoverage>& policies);
// lcov's tracefiles, as genhtml and code hosts read them.
std::string WriteLcov(const std::vector<PolicyCoverage>& policies);
// Cobertura's XML, as GitLab, Jenkins and Azure Pipelines read it.
std::string WriteCobertura(const std::vector<PolicyCoverage>& policies);

}  // namespace portcullis::offline
