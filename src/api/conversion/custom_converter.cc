// SPDX-License-Identifier: Apache-2.0

#include "api/conversion/custom_converter.h"

#include "json/value.h"

namespace portcullis::api {
namespace {

class NoConversion final : public CustomConverter {
 public:
  bool blocks() const override { return false; }

  base::Result<std::vector<json::Value>> Convert(json::Arena& arena,
                                                 std::span<const json::Value> objects,
                                                 const GroupVersion& to) const override {
    const json::Value version = json::String(arena, to.ToString());
    std::vector<json::Value> out;
    out.reserve(objects.size());
    for (const json::Value& object : objects) {
      out.push_back(object["apiVersion"] == version
                        ? object
                        : json::With(arena, object, "apiVersion", version));
    }
    return out;
  }
};

}  // namespace

std::shared_ptr<const CustomConverter> MakeNoConversion() {
  return std::make_shared<NoConversion>();
}

}  // namespace portcullis::api
