// SPDX-License-Identifier: Apache-2.0

#include "api/field_path.h"

namespace portcullis::api {

FieldPath FieldPath::With(Step::Kind kind, std::string_view text) const {
  FieldPath path(*this);
  path.Add(kind, text);
  return path;
}

FieldPath FieldPath::Index(std::size_t index) const {
  FieldPath path(*this);
  path.steps_.push_back({nullptr, static_cast<std::uint32_t>(index), Step::Kind::kIndex});
  return path;
}

std::string FieldPath::text() const {
  std::string text;
  for (const Step& step : steps_.span()) {
    if (step.kind == Step::Kind::kName) {
      if (!text.empty()) text += '.';
      text.append(step.data, step.size);
      continue;
    }
    text += '[';
    if (step.kind == Step::Kind::kIndex) {
      text += std::to_string(step.size);
    } else {
      text.append(step.data, step.size);
    }
    text += ']';
  }
  return text;
}

}  // namespace portcullis::api
