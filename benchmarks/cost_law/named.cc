// SPDX-License-Identifier: Apache-2.0

#include "named.h"

#include "base/strings.h"

namespace portcullis::cost_law {

std::vector<Family> NamedFamilies() {
  std::vector<Family> out;
  AddPods(out);
  AddPatches(out);
  AddCustomResources(out);
  AddDefinitions(out);
  AddExpressions(out);
  AddRequests(out);
  return out;
}

std::string ListOf(std::size_t n, const std::function<std::string(std::size_t)>& text) {
  std::string out = "[";
  for (std::size_t i = 0; i < n; ++i) out += base::StrCat(i == 0 ? "" : ",", text(i));
  return out + "]";
}

std::string MapOf(std::size_t n, const std::function<std::string(std::size_t)>& text) {
  std::string out = ListOf(n, text);
  out.front() = '{';
  out.back() = '}';
  return out;
}

std::string With(std::string_view text, std::size_t i) {
  return base::ReplaceAll(text, "#", std::to_string(i));
}

std::string List(std::size_t n, std::string_view element) {
  return ListOf(n, [&](std::size_t i) { return With(element, i); });
}

std::string Map(std::size_t n, std::string_view entry) {
  return MapOf(n, [&](std::size_t i) { return With(entry, i); });
}

std::string Repeat(std::size_t n, std::string_view piece) {
  std::string out;
  out.reserve(n * piece.size());
  for (std::size_t i = 0; i < n; ++i) out += piece;
  return out;
}

Family Alone(std::string name, std::string method, std::string path,
             std::function<std::string(std::size_t)> body, std::string_view content_type) {
  return {std::move(name), [=, method = std::move(method), path = std::move(path),
                            body = std::move(body)](std::size_t n) {
            return Sample{{}, {method, path, body(n), std::string(content_type)}, {}};
          }};
}

Family Change(std::string name, ChangeOf change) {
  return {std::move(name), [change = std::move(change)](std::size_t n) {
            const std::string object = change.collection + "/law";
            Sample sample;
            sample.before = {{"POST", change.collection, change.before(n)}};
            sample.measured = {change.method, object + "?dryRun=All&fieldManager=law&force=true",
                               change.body(n), std::string(change.content_type)};
            if (change.content_type != kApply) {
              sample.measured.path = object + "?dryRun=All&fieldManager=law";
            }
            sample.after = {object};
            return sample;
          }};
}

}  // namespace portcullis::cost_law
