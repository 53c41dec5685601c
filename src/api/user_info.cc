// SPDX-License-Identifier: Apache-2.0

#include "api/user_info.h"

#include <algorithm>

namespace portcullis::api {
namespace {

json::Value StringList(json::Arena& arena, const std::vector<std::string>& list) {
  json::ArrayBuilder array(arena);
  for (const std::string& text : list) array.Add(std::string_view(text));
  return array.Build();
}

std::vector<std::string> StringsOf(json::Value value) {
  std::vector<std::string> list;
  for (const json::Value& element : value.elements()) list.emplace_back(element.AsString());
  return list;
}

}  // namespace

bool UserInfo::InGroup(std::string_view group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

json::Value UserInfoToJson(json::Arena& arena, const UserInfo& user) {
  json::ObjectBuilder object(arena);
  if (!user.name.empty()) object.Set("username", std::string_view(user.name));
  if (!user.uid.empty()) object.Set("uid", std::string_view(user.uid));
  if (!user.groups.empty()) object.Set("groups", StringList(arena, user.groups));
  if (!user.extra.empty()) {
    json::ObjectBuilder extra(arena);
    for (const auto& [key, values] : user.extra) {
      extra.Set(arena.Copy(key), StringList(arena, values));
    }
    object.Set("extra", extra.Build());
  }
  return object.Build();
}

UserInfo UserInfoFromJson(json::Value value) {
  UserInfo user;
  user.name = value["username"].AsString();
  user.uid = value["uid"].AsString();
  user.groups = StringsOf(value["groups"]);
  for (const json::Member& member : value["extra"].members()) {
    user.extra.emplace(member.name(), StringsOf(member.value));
  }
  return user;
}

}  // namespace portcullis::api
