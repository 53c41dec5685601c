#include "server/negotiation.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "base/strings.h"

namespace portcullis::server {
namespace {

struct Clause {
  std::string type;
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

Clause ParseClause(std::string_view text) {
  Clause clause;
  bool first = true;
  for (std::string_view piece : base::Split(text, ';')) {
    piece = base::Trim(piece);
    if (first) {
      clause.type = base::ToLower(piece);
      first = false;
      continue;
    }
    const auto cut = base::Cut(piece, "=");
    if (!cut) continue;
    std::string name = base::ToLower(base::Trim(cut->first));
    std::string value(base::Trim(cut->second));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (name == "q") {
      clause.quality = std::strtod(value.c_str(), nullptr);
    } else {
      clause.parameters[name] = std::move(value);
    }
  }
  return clause;
}

std::vector<Clause> ParseAccept(std::string_view accept) {
  std::vector<Clause> clauses;
  for (std::string_view piece : base::Split(accept, ',')) {
    if (base::Trim(piece).empty()) continue;
    clauses.push_back(ParseClause(piece));
  }
  std::stable_sort(clauses.begin(), clauses.end(),
                   [](const Clause& a, const Clause& b) { return a.quality > b.quality; });
  return clauses;
}

// Sets `type` if we can write what the clause names.
bool MatchType(const Clause& clause, MediaType& type) {
  if (clause.type == "application/json" || clause.type == "*/*" || clause.type == "application/*") {
    type = MediaType::kJson;
    return true;
  }
  if (clause.type == "application/yaml") {
    type = MediaType::kYaml;
    return true;
  }
  return false;
}

// Sets the form if the endpoint offers what the clause's as/v/g ask for.
bool MatchForm(const Clause& clause, Offers offers, Accepted& accepted) {
  const auto as = clause.parameters.find("as");
  if (as == clause.parameters.end()) {
    accepted.form = Form::kObject;
    return true;
  }
  if (offers != Offers::kTableAndMetadata) return false;
  const auto group = clause.parameters.find("g");
  const auto version = clause.parameters.find("v");
  if (group == clause.parameters.end() || group->second != "meta.k8s.io") return false;
  if (version == clause.parameters.end() ||
      (version->second != "v1" && version->second != "v1beta1")) {
    return false;
  }
  if (as->second == "Table") {
    accepted.form = Form::kTable;
  } else if (as->second == "PartialObjectMetadata") {
    accepted.form = Form::kPartialObject;
  } else if (as->second == "PartialObjectMetadataList") {
    accepted.form = Form::kPartialObjectList;
  } else {
    return false;
  }
  accepted.form_version = version->second;
  return true;
}

bool WantsPretty(std::string_view pretty, std::string_view user_agent) {
  if (!pretty.empty()) return pretty != "false" && pretty != "0";
  return user_agent.substr(0, 4) == "curl" || user_agent.substr(0, 4) == "Wget" ||
         user_agent.substr(0, 9) == "Mozilla/5";
}

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

std::string_view Accepted::ContentType() const {
  return type == MediaType::kYaml ? "application/yaml" : "application/json";
}

std::string_view Accepted::StreamContentType() const { return ContentType(); }

base::Result<Accepted> NegotiateOutput(std::string_view accept, std::string_view pretty,
                                       std::string_view user_agent, Offers offers) {
  Accepted accepted;
  accepted.pretty = WantsPretty(pretty, user_agent);
  if (base::Trim(accept).empty()) return accepted;
  for (const Clause& clause : ParseAccept(accept)) {
    if (!MatchType(clause, accepted.type)) continue;
    if (MatchForm(clause, offers, accepted)) return accepted;
  }
  return base::Status(base::Reason::kNotAcceptable,
                      "only the following media types are accepted: application/json, "
                      "application/yaml, application/vnd.kubernetes.protobuf");
}

base::Result<MediaType> NegotiateInput(std::string_view content_type) {
  const std::string type =
      HasSoundParameters(content_type) ? BareMediaType(content_type) : std::string("unknown");
  if (type.empty() || type == "application/json") return MediaType::kJson;
  if (type == "application/yaml") return MediaType::kYaml;
  if (type == "application/vnd.kubernetes.protobuf") return MediaType::kProtobuf;
  return base::Status(base::Reason::kUnsupportedMediaType,
                      "the body of the request was in an unknown format - accepted media types "
                      "include: application/json, application/yaml, "
                      "application/vnd.kubernetes.protobuf");
}

std::string BareMediaType(std::string_view header) {
  return base::ToLower(base::Trim(header.substr(0, header.find(';'))));
}

bool AsksForAggregatedDiscovery(std::string_view accept, std::string& version) {
  for (const Clause& clause : ParseAccept(accept)) {
    MediaType type;
    if (!MatchType(clause, type)) continue;
    const auto as = clause.parameters.find("as");
    if (as == clause.parameters.end()) return false;  // plain discovery is preferred
    const auto group = clause.parameters.find("g");
    const auto v = clause.parameters.find("v");
    if (as->second == "APIGroupDiscoveryList" && group != clause.parameters.end() &&
        group->second == "apidiscovery.k8s.io" && v != clause.parameters.end() &&
        (v->second == "v2" || v->second == "v2beta1")) {
      version = v->second;
      return true;
    }
  }
  return false;
}

}  // namespace portcullis::server
