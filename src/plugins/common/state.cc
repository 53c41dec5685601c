#include "plugins/common/state.h"

#include "admission/errors.h"

namespace portcullis::plugins::common {

store::ObjectPtr Find(const store::Reader* reader, std::string_view group,
                      std::string_view resource, std::string_view ns, std::string_view name) {
  if (reader == nullptr) return nullptr;
  return reader->Get({group, resource, ns, name});
}

json::Value RootOf(json::Arena& arena, const store::ObjectPtr& object) {
  if (object == nullptr) return {};
  arena.Retain(object);
  return object->document().root();
}

std::vector<store::ObjectPtr> List(const store::Reader* reader, std::string_view group,
                                   std::string_view resource, std::string_view ns) {
  if (reader == nullptr) return {};
  return reader->List({group, resource}, ns);
}

base::Status AbsentFromCache(std::string_view group, std::string_view singular,
                             std::string_view name) {
  return admission::NotFound(group, singular, name);
}

}  // namespace portcullis::plugins::common
