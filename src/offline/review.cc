// SPDX-License-Identifier: Apache-2.0

#include "offline/review.h"

#include <utility>

namespace portcullis::offline {

bool IsReview(const Manifest& manifest) {
  return manifest.group() == "admission.k8s.io" && manifest.kind == "AdmissionReview";
}

api::UserInfo ReadUserInfo(json::Value value) {
  api::UserInfo user;
  user.name = value["username"].AsString();
  user.uid = value["uid"].AsString();
  for (const json::Value& group : value["groups"].elements()) {
    user.groups.emplace_back(group.AsString());
  }
  for (const json::Member& member : value["extra"].members()) {
    auto& values = user.extra[std::string(member.name())];
    for (const json::Value& one : member.value.elements()) values.emplace_back(one.AsString());
  }
  return user;
}

Review ReadReview(const Manifest& manifest) {
  const json::Value request = manifest.object["request"];
  Review review;
  review.operation = request["operation"].AsString();
  const json::Value resource = request["resource"];
  review.resource = {std::string(resource["group"].AsString()),
                     std::string(resource["version"].AsString()),
                     std::string(resource["resource"].AsString())};
  review.subresource = request["subResource"].AsString();
  review.ns = request["namespace"].AsString();
  review.object = request["object"];
  review.old_object = request["oldObject"];
  review.user = ReadUserInfo(request["userInfo"]);
  if (review.operation == "CONNECT") std::swap(review.options, review.object);
  const bool deletes = review.object.is_null();
  const json::Value shown = deletes ? review.old_object : review.object;
  review.name = request["name"].AsString(shown["metadata"]["name"].AsString());
  review.manifest = manifest;
  review.manifest.steps.insert(review.manifest.steps.end(),
                               {"request", deletes ? "oldObject" : "object"});
  review.manifest.object = shown;
  review.manifest.api_version = shown["apiVersion"].AsString();
  review.manifest.kind = shown["kind"].AsString();
  review.manifest.ns = shown["metadata"]["namespace"].AsString();
  review.manifest.name = review.name;
  return review;
}

}  // namespace portcullis::offline
