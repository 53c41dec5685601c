// SPDX-License-Identifier: Apache-2.0

// Expectations of native test files made true again: `portcullis test --update`. Only what does not hold
// is changed, and what an expectation does not speak about it does not speak about afterwards either.
#pragma once

#include <optional>
#include <string>

#include "offline/result.h"
#include "offline/suites/suite.h"

namespace portcullis::offline {

// What would make the case pass that has failed. Nothing: the case is of another format, its request
// could not be judged, or no expectation of its kind would hold.
std::optional<Correction> Correct(const Case& one, const std::string& suite, const Result& judged);

}  // namespace portcullis::offline
