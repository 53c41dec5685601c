// SPDX-License-Identifier: Apache-2.0

// URLs.
#include <map>
#include <vector>

#include "cel/program.h"
#include "golang/url.h"
#include "kube_cel/libraries.h"
#include "kube_cel/library/rows.h"
#include "kube_cel/opaque.h"

namespace portcullis::kube_cel {
namespace {

using cel::CostScope;
using cel::EvalContext;
using cel::Value;

// Equal texts are equal URLs.
struct UrlOfText : golang::Url {
  bool operator==(const UrlOfText& other) const { return ToString() == other.ToString(); }
};
constexpr char kGoType[] = "cel.URL";
using Url = Opaque<UrlOfText, kUrlType, kGoType>;

const golang::Url& UriOf(Value value) { return *Url::From(value); }

Value Make(EvalContext& context, std::span<const Value> args) {
  // A request has no fragment: it would be part of the path or the query.
  const auto request = golang::ParseRequestUri(args[0].text());
  auto url = golang::ParseUrl(args[0].text());
  if (!request.ok() || !url.ok()) {
    return context.Error("URL parse error during conversion from string: " +
                         (request.ok() ? url : request).status().message());
  }
  return Value::FromObject(cel::New<Url>(context.arena(), UrlOfText{*std::move(url)}));
}

Value IsUrl(EvalContext&, std::span<const Value> args) {
  return Value::Bool(golang::ParseRequestUri(args[0].text()).ok());
}

Value GetScheme(EvalContext&, std::span<const Value> args) {
  return Value::String(UriOf(args[0]).scheme);
}
Value GetHost(EvalContext&, std::span<const Value> args) {
  return Value::String(UriOf(args[0]).host);
}
Value GetHostname(EvalContext&, std::span<const Value> args) {
  return Value::String(UriOf(args[0]).Hostname());
}
Value GetPort(EvalContext&, std::span<const Value> args) {
  return Value::String(UriOf(args[0]).Port());
}
Value GetEscapedPath(EvalContext& context, std::span<const Value> args) {
  return cel::MakeString(context.arena(), UriOf(args[0]).EscapedPath());
}

Value GetQuery(EvalContext& context, std::span<const Value> args) {
  std::map<std::string, std::vector<Value>> values;
  for (const auto& [key, value] : golang::ParseQuery(UriOf(args[0]).raw_query)) {
    values[key].push_back(cel::MakeString(context.arena(), value));
  }
  std::vector<cel::MapEntry> entries;
  for (const auto& [key, list] : values) {
    entries.push_back(
        {cel::MakeString(context.arena(), key), cel::MakeList(context.arena(), list)});
  }
  return cel::MakeMap(context.arena(), entries);
}

constexpr std::string_view kToString = "(kubernetes.URL) -> string";

constexpr cel::Function kFunctions[] = {
    {.name = "url",
     .id = "string_to_url",
     .signature = "(string) -> kubernetes.URL",
     .impl = &Make,
     .cost = &TextCost,
     .cost_scope = CostScope::kFunction,
     .estimate = &EstimateText,
     .doc = "An absolute URI or an absolute path.",
     .example = "url('https://example.com/') == url('https://example.com/')"},
    {.name = "isURL",
     .id = "is_url_string",
     .signature = "(string) -> bool",
     .impl = &IsUrl,
     .doc = "Would url() accept the text?",
     .example = "isURL('https://example.com') && !isURL('../x')"},
    Method("getScheme", "url_get_scheme", kToString, &GetScheme, "The scheme, or ''.",
           "url('https://a.b/').getScheme() == 'https'"),
    Method("getHost", "url_get_host", kToString, &GetHost, "Host and port as written.",
           "url('https://a.b:80/').getHost() == 'a.b:80'"),
    Method("getHostname", "url_get_hostname", kToString, &GetHostname,
           "The host without port and brackets.",
           "url('https://[::1]:80/').getHostname() == '::1'"),
    Method("getPort", "url_get_port", kToString, &GetPort, "The port as written, or ''.",
           "url('https://a.b:80/').getPort() == '80'"),
    Method("getEscapedPath", "url_get_escaped_path", kToString, &GetEscapedPath,
           "The path with what must be escaped in it escaped.",
           "url('https://a.b/with space').getEscapedPath() == '/with%20space'"),
    Method("getQuery", "url_get_query", "(kubernetes.URL) -> map(string, list(string))", &GetQuery,
           "The query's keys with all their values.",
           "url('https://a.b/?k=1&k=2').getQuery()['k'] == ['1', '2']"),
};

}  // namespace

constinit const cel::Library kUrlLibrary = {.name = "kubernetes.URL", .functions = kFunctions};

}  // namespace portcullis::kube_cel
