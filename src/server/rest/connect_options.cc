// SPDX-License-Identifier: Apache-2.0

#include "server/rest/connect_options.h"

#include <algorithm>
#include <span>

#include "api/api_status.h"
#include "api/field_error.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::server::rest {

// The options object of a connect request, from the query, by the schema of its kind.
base::Result<json::Value> ConnectOptions(Call& call) {
  json::Arena& arena = call.arena;
  json::ObjectBuilder options(arena);
  options.Set("kind", call.kind().kind).Set("apiVersion", engine::ApiVersion(call.kind()));
  const Query& query = call.info.query;
  if (call.info.subresource == "proxy") {
    const std::size_t own = std::min<std::size_t>(3, call.info.parts.size());
    std::string path = base::Join(std::span(call.info.parts).subspan(own), "/");
    if (!path.empty() && path.front() != '/') path.insert(0, "/");
    if (call.info.path.back() == '/' && (path.empty() || path.back() != '/')) path += '/';
    if (!path.empty()) options.Set("path", path);
    return options.Build();
  }
  if (call.info.subresource == "portforward") {
    json::ArrayBuilder ports(arena);
    for (const std::string& text : query.All("ports")) {
      for (std::string_view piece : base::Split(text, ',')) {
        const auto port = golang::ParseUint(piece, 10, 16);
        if (!port.ok()) return port.status().Annotate("cannot convert to []int32");
        ports.Add(json::Value::Int(static_cast<std::int64_t>(*port)));
      }
    }
    if (ports.size() > 0) options.Set("ports", ports.Build());
    return options.Build();
  }
  for (std::string_view name : {"stdin", "stdout", "stderr", "tty"}) {
    if (query.GetBool(name)) options.Set(name, true);
  }
  if (!query.Get("container").empty()) options.Set("container", query.Get("container"));
  if (call.info.subresource == "exec") {
    json::ArrayBuilder command(arena);
    for (const std::string& word : query.All("command")) command.Add(word);
    options.Set("command", command.size() > 0 ? command.Build() : json::Value());
  }
  return options.Build();
}

// What is wrong with PodLogOptions.
base::Status CheckLogOptions(Call& call) {
  const Query& query = call.info.query;
  api::FieldErrors errors;
  const auto check = [&](std::string_view name, std::int64_t least, std::string_view text) {
    const std::string_view given = query.Get(name);
    if (given.empty()) return base::OkStatus();
    const std::int64_t number = TRY(golang::ParseInt(given));
    if (number < least) errors.push_back(api::Invalid(api::FieldPath(name), number, text));
    return base::OkStatus();
  };
  TRY(check("tailLines", 0, "must be greater than or equal to 0"));
  TRY(check("limitBytes", 1, "must be greater than 0"));
  if (const std::string_view time = query.Get("sinceTime"); !time.empty() && time != "null") {
    TRY(golang::ParseTime(time));
  }
  if (query.Has("sinceSeconds") && query.Has("sinceTime")) {
    // The path is that of no name in Go.
    errors.push_back(api::Forbidden(
        api::FieldPath("[]"), "at most one of `sinceTime` or `sinceSeconds` may be specified"));
  } else {
    TRY(check("sinceSeconds", 1, "must be greater than 0"));
  }
  // The gate PodLogsQuerySplitStreams is off.
  if (query.Has("stream")) {
    errors.push_back(api::Forbidden(api::FieldPath("stream"), "may not be specified"));
  }
  if (errors.empty()) return base::OkStatus();
  return api::InvalidStatus({"", "PodLogOptions"}, call.info.name, errors);
}

}  // namespace portcullis::server::rest
