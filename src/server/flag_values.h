// How flag values are read: the setters that rows of options.cc are made of, one template per type
// of value, with pflag's error texts. Also used for durations in queries.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "base/gotext.h"
#include "base/status.h"
#include "base/strings.h"
#include "server/options.h"

namespace portcullis::server::internal {

base::Result<bool> ReadBool(std::string_view text);
base::Result<std::int64_t> ReadInt(std::string_view text);
base::Result<std::chrono::nanoseconds> ReadDuration(std::string_view text);

template <auto Member>
base::Status SetText(Options& options, std::string_view value) {
  options.*Member = std::string(value);
  return base::OkStatus();
}

template <auto Member>
base::Status SetBool(Options& options, std::string_view value) {
  options.*Member = TRY(ReadBool(value));
  return base::OkStatus();
}

template <auto Member>
base::Status SetInt(Options& options, std::string_view value) {
  using Number = std::remove_reference_t<decltype(options.*Member)>;
  const std::int64_t number = TRY(ReadInt(value));
  if (number < std::numeric_limits<Number>::min() || number > std::numeric_limits<Number>::max()) {
    return base::BadRequest(
        base::StrCat("strconv.ParseInt: parsing ", base::GoQuote(value), ": value out of range"));
  }
  options.*Member = static_cast<Number>(number);
  return base::OkStatus();
}

template <auto Member>
base::Status SetDuration(Options& options, std::string_view value) {
  options.*Member = TRY(ReadDuration(value));
  return base::OkStatus();
}

// Adds to the list; what a default has put there is replaced at the first use of the flag, which
// ParseOptions does by clearing lists that are named.
template <auto Member>
base::Status AddToList(Options& options, std::string_view value) {
  for (std::string_view piece : base::Split(value, ',')) {
    if (!piece.empty()) (options.*Member).emplace_back(piece);
  }
  return base::OkStatus();
}

}  // namespace portcullis::server::internal
