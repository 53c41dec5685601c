// SPDX-License-Identifier: Apache-2.0

#include "plugins/initial_resources/usage_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "admission/errors.h"
#include "base/strings.h"
#include "golang/url.h"
#include "json/reader.h"

namespace portcullis::plugins::initial_resources {
namespace {

constexpr std::size_t kLargestAnswer = 1 << 20;

// A string of InfluxQL.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// The image without a tag, or with one: a regular expression of InfluxQL.
std::string AnyTagOf(std::string_view name) {
  constexpr std::string_view kSpecial = R"(\.+*?()|[]{}^$/)";
  std::string out = "/^";
  for (const char c : name) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "([:@].*)?$/";
}

std::string_view MeasurementOf(Resource resource) {
  return resource == Resource::kCpu ? "cpu/usage_rate" : "memory/usage";
}

}  // namespace

std::string_view WithoutTag(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.rfind(':');
  const std::size_t slash = image.rfind('/');
  const bool is_tag =
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return is_tag ? image.substr(0, colon) : image;
}

std::string QueryText(const UsageQuestion& question, std::int64_t percentile) {
  std::string text =
      base::StrCat("SELECT percentile(\"value\", ", std::to_string(percentile),
                   "), count(\"value\") FROM \"", MeasurementOf(question.resource),
                   "\" WHERE \"type\" = 'pod_container'", " AND \"container_base_image\" ",
                   question.any_tag ? base::StrCat("=~ ", AnyTagOf(WithoutTag(question.image)))
                                    : base::StrCat("= ", Quoted(question.image)));
  if (!question.namespace_name.empty()) {
    text += base::StrCat(" AND \"namespace_name\" = ", Quoted(question.namespace_name));
  }
  return base::StrCat(text, " AND time > ", Quoted(base::FormatTime(question.from)),
                      " AND time <= ", Quoted(base::FormatTime(question.until)));
}

base::Result<Usage> ReadUsage(json::Value answer) {
  const json::Value result = answer["results"][std::size_t{0}];
  for (const json::Value& error : {answer["error"], result["error"]}) {
    if (error.is_string()) return admission::PlainError(std::string(error.AsString()));
  }
  if (!result.is_object()) return admission::PlainError("the answer has no result");
  const json::Value series = result["series"][std::size_t{0}];
  if (series.is_null()) return Usage{};
  const json::Value row = series["values"][std::size_t{0}];
  const auto columns = series["columns"].elements();
  Usage usage;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double number = row[i].AsDouble();
    if (!std::isfinite(number) || std::abs(number) > 9e18) continue;
    if (columns[i].AsString() == "percentile") usage.value = static_cast<std::int64_t>(number);
    if (columns[i].AsString() == "count") usage.samples = static_cast<std::int64_t>(number);
  }
  return usage;
}

UsageHistory::UsageHistory(const admission::UsageHistoryOptions& options, net::HttpsClient& https)
    : https_(https), percentile_(options.percentile) {
  const bool has_scheme = options.host.find("://") != std::string::npos;
  url_ = base::StrCat(has_scheme ? "" : "http://", options.host,
                      "/query?db=", golang::QueryEscape(options.database), "&q=");
  authorization_ =
      base::StrCat("Basic ", base::Base64Encode(base::StrCat(options.user, ":", options.password)));
}

base::Result<Usage> UsageHistory::Ask(const UsageQuestion& question,
                                      base::SteadyTime deadline) const {
  net::ClientRequest request;
  request.method = "GET";
  request.url = url_ + golang::QueryEscape(QueryText(question, percentile_));
  request.headers.Add("Accept", "application/json");
  request.headers.Add("Authorization", authorization_);
  request.max_response_bytes = kLargestAnswer;
  const net::CallResult result = https_.Call(std::move(request), deadline);
  if (!result.ok()) return admission::PlainError(result.failure->cause);
  const auto answer = json::ParseDocument(std::string(result.response.content()));
  if (!answer.ok()) {
    return admission::PlainError(base::StrCat("status ", std::to_string(result.response.status),
                                              ", and the body is not JSON"));
  }
  return ReadUsage(answer->root());
}

}  // namespace portcullis::plugins::initial_resources
