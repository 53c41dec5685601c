// SPDX-License-Identifier: Apache-2.0

#include "server/negotiation.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "engine/codec/cbor.h"
#include "engine/codec/protobuf.h"
#include "golang/strconv.h"
#include "server/accept_header.h"

namespace portcullis::server {
namespace {

// Of an Accept header, as goautoneg reads it: case counts, quotes are part of a value.
struct Clause {
  std::string_view type;
  std::string_view subtype;
  std::map<std::string_view, std::string_view> parameters;
  double quality = 1;
};

std::string_view TrimSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

double QualityOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double quality = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quality);
  return error == std::errc() && end == text.data() + text.size() ? quality : 0;
}

void ParseParameter(std::string_view text, Clause& clause) {
  const auto cut = base::Cut(text, "=");
  if (!cut || cut->second.empty()) return;
  const auto value = base::Cut(cut->second, "=");
  if (value && !value->second.empty()) return;
  const std::string_view content = value ? value->first : cut->second;
  const std::string_view name = TrimSpaces(cut->first);
  if (name == "q") {
    clause.quality = QualityOf(content);
  } else {
    clause.parameters[name] = TrimSpaces(content);
  }
}

std::optional<Clause> ParseClause(std::string_view text) {
  Clause clause;
  const auto pieces = base::Split(TrimSpaces(text), ';');
  const auto types = base::Split(pieces[0], '/');
  clause.type = TrimSpaces(types[0]);
  if (types.size() < 2 || types[1].empty()) {
    if (clause.type != "*") return std::nullopt;
    clause.subtype = "*";
  } else {
    if (types.size() > 2 && !(types.size() == 3 && types[2].empty())) return std::nullopt;
    clause.subtype = TrimSpaces(types[1]);
  }
  for (std::size_t i = 1; i < pieces.size(); ++i) ParseParameter(pieces[i], clause);
  return clause;
}

// Not an order in the sense of std::sort: two clauses may both be before each other.
bool IsBefore(const Clause& a, const Clause& b) {
  return a.quality > b.quality || (a.type != "*" && b.type == "*") ||
         (a.subtype != "*" && b.subtype == "*");
}

// Sorted as Go's sort.Sort sorts a few: by insertion.
std::vector<Clause> ParseAccept(std::string_view accept) {
  std::vector<Clause> clauses;
  for (std::string_view piece : base::Split(accept, ',')) {
    if (auto clause = ParseClause(piece)) clauses.push_back(*std::move(clause));
  }
  for (std::size_t i = 1; i < clauses.size(); ++i) {
    for (std::size_t j = i; j > 0 && IsBefore(clauses[j], clauses[j - 1]); --j) {
      std::swap(clauses[j], clauses[j - 1]);
    }
  }
  return clauses;
}

struct Type {
  MediaType type;
  std::string_view subtype;  // of "application/"
};
constexpr Type kTypes[] = {{MediaType::kJson, "json"},
                           {MediaType::kYaml, "yaml"},
                           {MediaType::kProtobuf, "vnd.kubernetes.protobuf"},
                           {MediaType::kCbor, "cbor"}};

bool IsOffered(const Type& type, bool cbor) { return cbor || type.type != MediaType::kCbor; }

bool Names(const Clause& clause, const Type& type) {
  const bool any = clause.type == "*" && clause.subtype == "*";
  return any || (clause.type == "application" &&
                 (clause.subtype == type.subtype || clause.subtype == "*"));
}

bool IsResource(Offers offers) {
  return offers != Offers::kObjectOnly && offers != Offers::kAggregatedDiscovery;
}

// Whether the endpoint offers the type without a transformation.
bool OffersObject(MediaType type, Offers offers) {
  if (offers == Offers::kAggregatedDiscovery) return false;
  return offers != Offers::kCustomResource || type != MediaType::kProtobuf;
}

// Sets the form if the endpoint offers what `as`, `v` and `g` ask for.
bool AcceptForm(std::string_view kind, std::string_view group, std::string_view version,
                Offers offers, Accepted& accepted) {
  accepted.form_version = std::string(version);
  if (offers == Offers::kAggregatedDiscovery) {
    return kind == "APIGroupDiscoveryList" && group == "apidiscovery.k8s.io" &&
           (version == "v2" || version == "v2beta1");
  }
  if (!IsResource(offers)) return false;
  if (group != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return false;
  if (kind == "Table") {
    accepted.form = Form::kTable;
    return offers != Offers::kMetadata && accepted.type != MediaType::kProtobuf &&
           accepted.type != MediaType::kCbor;
  }
  accepted.form = kind == "PartialObjectMetadata" ? Form::kPartialObject : Form::kPartialObjectList;
  return kind == "PartialObjectMetadata" || kind == "PartialObjectMetadataList";
}

std::optional<Accepted> Accept(const Clause& clause, MediaType type, Offers offers) {
  Accepted accepted;
  accepted.type = type;
  const auto parameter = [&](std::string_view name) {
    const auto found = clause.parameters.find(name);
    return found == clause.parameters.end() ? std::string_view() : found->second;
  };
  if (const std::string_view stream = parameter("stream"); !stream.empty()) {
    if (stream != "watch" || accepted.StreamContentType().empty()) return std::nullopt;
  }
  if (const std::string_view served = parameter("sv"); !served.empty()) {
    if (!IsResource(offers) || served != "v1") return std::nullopt;
  }
  accepted.pretty = parameter("pretty") == "1";
  const bool transforms =
      std::any_of(clause.parameters.begin(), clause.parameters.end(), [](const auto& entry) {
        return entry.first == "as" || entry.first == "g" || entry.first == "v";
      });
  const bool offered =
      transforms ? AcceptForm(parameter("as"), parameter("g"), parameter("v"), offers, accepted)
                 : OffersObject(type, offers);
  if (!offered) return std::nullopt;
  return accepted;
}

std::optional<Accepted> Negotiate(std::string_view accept, Offers offers, bool cbor) {
  if (accept.empty()) {
    if (!OffersObject(MediaType::kJson, offers)) return std::nullopt;
    return Accepted();
  }
  for (const Clause& clause : ParseAccept(accept)) {
    for (const Type& type : kTypes) {
      if (!IsOffered(type, cbor) || !Names(clause, type)) continue;
      if (auto accepted = Accept(clause, type.type, offers)) return accepted;
    }
  }
  return std::nullopt;
}

bool WantsPretty(std::string_view pretty, std::string_view user_agent) {
  if (!pretty.empty()) {
    const auto wanted = golang::ParseBool(pretty);
    return wanted.ok() && *wanted;
  }
  return user_agent.starts_with("curl") || user_agent.starts_with("Wget") ||
         user_agent.starts_with("Mozilla/5.0");
}

// What Go's mime takes for a token: braces belong to it, unlike in RFC 9110.
bool IsToken(std::string_view text) {
  constexpr std::string_view kSeparators = "()<>@,;:\\\"/[]?=";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return c > ' ' && c < 0x7f && kSeparators.find(c) == std::string_view::npos;
  });
}

// Takes a token or a quoted text from the front of `text`; false if there is none.
bool TakeValue(std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view token = text.substr(0, text.find_first_of("; \t"));
    text.remove_prefix(token.size());
    return IsToken(token);
  }
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return true;
    }
    if (text[at] == '\\') ++at;
  }
  return false;
}

bool IsAmong(std::string_view type, std::string_view list) {
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(','));
    if (first == type) return true;
    list.remove_prefix(std::min(list.size(), first.size() + 2));
  }
  return false;
}

// Whether a header names one of the types of a list, which are separated by ", ".
bool NamesOneOf(std::string_view header, std::string_view types) {
  for (;;) {
    const std::string_view clause = header.substr(0, header.find(','));
    const std::string_view named = TrimSpaces(clause.substr(0, clause.find(';')));
    if (named == "*/*" || IsAmong(named, types)) return true;
    if (clause.size() == header.size()) return false;
    header.remove_prefix(clause.size() + 1);
  }
}

// Whether each parameter is a name with a value, as mime.ParseMediaType demands, and none is there
// twice. A semicolon at the end is let pass.
bool HasSoundParameters(std::string_view header) {
  std::set<std::string> names;
  std::string_view rest = header.substr(std::min(header.size(), header.find(';')));
  while (!rest.empty()) {
    rest = base::Trim(rest);
    if (rest.empty() || rest == ";") return true;
    if (!rest.starts_with(';')) return false;
    rest = base::Trim(rest.substr(1));
    const auto parts = base::Cut(rest, "=");
    if (!parts || !IsToken(parts->first)) return false;
    if (!names.insert(base::ToLower(parts->first)).second) return false;
    rest = parts->second;
    if (!TakeValue(rest)) return false;
  }
  return true;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> AcceptedTypes(std::string_view accept) {
  std::vector<std::pair<std::string_view, std::string_view>> types;
  for (const Clause& clause : ParseAccept(accept)) types.emplace_back(clause.type, clause.subtype);
  return types;
}

std::string_view Accepted::ContentType() const {
  switch (type) {
    case MediaType::kYaml:
      return "application/yaml";
    case MediaType::kProtobuf:
      return engine::kProtobufType;
    case MediaType::kCbor:
      return engine::kCborType;
    default:
      return "application/json";
  }
}

std::string_view Accepted::StreamContentType() const {
  switch (type) {
    case MediaType::kYaml:
      return {};
    case MediaType::kProtobuf:
      return "application/vnd.kubernetes.protobuf;stream=watch";
    case MediaType::kCbor:
      return engine::kCborSequenceType;
    default:
      return "application/json";
  }
}

base::Result<Accepted> NegotiateOutput(std::string_view accept, std::string_view pretty,
                                       std::string_view user_agent, Offers offers, bool cbor) {
  auto accepted = Negotiate(accept, offers, cbor);
  if (!accepted) return NotAcceptable(OutputTypes(cbor));
  accepted->pretty |= WantsPretty(pretty, user_agent);
  return *std::move(accepted);
}

namespace {

// Text without a transformation, everything else with one. Streams and versions of servers are not
// offered.
std::optional<Accepted> AcceptPage(const Clause& clause, MediaType type, bool text,
                                   std::string_view kind) {
  const auto parameter = [&](std::string_view name) {
    const auto found = clause.parameters.find(name);
    return found == clause.parameters.end() ? std::string_view() : found->second;
  };
  if (!parameter("stream").empty() || !parameter("sv").empty()) return std::nullopt;
  Accepted accepted;
  accepted.type = type;
  accepted.pretty = parameter("pretty") == "1";
  const bool transforms = clause.parameters.contains("as") || clause.parameters.contains("g") ||
                          clause.parameters.contains("v");
  accepted.form_version = std::string(parameter("v"));
  if (text) return transforms ? std::nullopt : std::optional(accepted);
  const bool known = accepted.form_version == "v1alpha1" || accepted.form_version == "v1beta1";
  if (!known || parameter("as") != kind || parameter("g") != "config.k8s.io") return std::nullopt;
  return accepted;
}

}  // namespace

base::Result<Accepted> NegotiateComponentPage(std::string_view accept, std::string_view pretty,
                                              std::string_view user_agent, std::string_view kind,
                                              bool cbor) {
  if (base::Trim(accept).empty()) {
    Accepted text;
    text.form_version.clear();
    return text;
  }
  for (const Clause& clause : ParseAccept(accept)) {
    for (const Type& type : kTypes) {
      if (type.type == MediaType::kProtobuf || !IsOffered(type, cbor)) continue;
      if (!Names(clause, type)) continue;
      if (auto accepted = AcceptPage(clause, type.type, false, kind)) {
        accepted->pretty |= WantsPretty(pretty, user_agent);
        return *std::move(accepted);
      }
    }
    const bool text =
        (clause.type == "text" && (clause.subtype == "plain" || clause.subtype == "*")) ||
        (clause.type == "*" && clause.subtype == "*");
    if (!text) continue;
    if (auto accepted = AcceptPage(clause, MediaType::kJson, true, kind))
      return *std::move(accepted);
  }
  return NotAcceptable(
      OfferedTypes("application/json, application/yaml, text/plain, application/cbor", cbor));
}

base::Status NotAcceptable(std::string_view types) {
  return base::Status(base::Reason::kNotAcceptable,
                      base::StrCat("only the following media types are accepted: ", types));
}

base::Status CheckAcceptedTypes(std::string_view accept, std::string_view produced) {
  if (accept.empty() || NamesOneOf(accept, produced)) return base::OkStatus();
  return base::Status(base::Reason::kNotAcceptable,
                      base::StrCat("406: Not Acceptable\n\nAvailable representations: ", produced),
                      base::StatusDetails{});
}

base::Status CheckContentType(std::string_view content_type, std::string_view consumed) {
  if (NamesOneOf(content_type, consumed)) return base::OkStatus();
  return base::Status(base::Reason::kUnsupportedMediaType, "415: Unsupported Media Type",
                      base::StatusDetails{});
}

std::string_view OfferedTypes(std::string_view types, bool cbor) {
  return cbor ? types : types.substr(0, types.rfind(", "));
}

std::string_view OutputTypes(bool cbor) {
  return OfferedTypes(
      "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor",
      cbor);
}

std::string_view StreamTypes(bool cbor) {
  return OfferedTypes(
      "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch, "
      "application/cbor-seq",
      cbor);
}

base::Result<MediaType> NegotiateInput(std::string_view content_type, bool cbor) {
  const std::string type =
      HasSoundParameters(content_type) ? BareMediaType(content_type) : std::string("unknown");
  if (type.empty() || type == "application/json") return MediaType::kJson;
  if (type == "application/yaml") return MediaType::kYaml;
  if (type == "application/vnd.kubernetes.protobuf") return MediaType::kProtobuf;
  if (cbor && type == engine::kCborType) return MediaType::kCbor;
  return base::Status(base::Reason::kUnsupportedMediaType,
                      base::StrCat("the body of the request was in an unknown format - accepted "
                                   "media types include: ",
                                   OutputTypes(cbor)));
}

std::string BareMediaType(std::string_view header) {
  return base::ToLower(base::Trim(header.substr(0, header.find(';'))));
}

}  // namespace portcullis::server
