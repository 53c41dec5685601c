// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "authn/methods.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "golang/csv.h"

namespace portcullis::authn {
namespace {

class TokenFile final : public TokenAuthenticator {
 public:
  TokenFile(std::unordered_map<std::string, api::UserInfo> users,
            std::vector<std::string> api_audiences)
      : users_(std::move(users)), api_audiences_(std::move(api_audiences)) {}

  base::Result<std::optional<Identity>> AuthenticateToken(std::string_view token,
                                                          const std::vector<std::string>& audiences,
                                                          base::SteadyTime) const override {
    auto it = users_.find(std::string(token));
    if (it == users_.end()) return std::optional<Identity>();
    Identity identity{it->second, {}};
    // Only TokenReviews ask for audiences.
    for (const std::string& audience : audiences) {
      if (std::find(api_audiences_.begin(), api_audiences_.end(), audience) !=
          api_audiences_.end()) {
        identity.audiences.push_back(audience);
      }
    }
    if (identity.audiences.empty() && !audiences.empty()) return std::optional<Identity>();
    return std::optional<Identity>(std::move(identity));
  }

 private:
  const std::unordered_map<std::string, api::UserInfo> users_;
  const std::vector<std::string> api_audiences_;
};

void Warn(std::string_view what, const std::string& path, std::size_t record) {
  base::LogWarning(base::StrCat(what, " has been found in token file '", path, "', record number '",
                                std::to_string(record), "'"));
}

}  // namespace

base::Result<std::unique_ptr<TokenAuthenticator>> ParseTokenFile(
    const std::string& path, std::string_view content, std::vector<std::string> api_audiences) {
  std::unordered_map<std::string, api::UserInfo> users;
  std::size_t number = 0;
  for (std::vector<std::string>& record : TRY(golang::ParseCsv(content))) {
    if (record.size() < 3) {
      return base::ConfigError(
          base::StrCat("token file '", path,
                       "' must have at least 3 columns (token, user name, user uid), found ",
                       std::to_string(record.size())));
    }
    ++number;
    if (record[0].empty()) {
      Warn("empty token", path, number);
      continue;
    }
    api::UserInfo user;
    user.name = std::move(record[1]);
    user.uid = std::move(record[2]);
    if (record.size() > 3) {
      for (std::string_view group : base::Split(record[3], ',')) user.groups.emplace_back(group);
    }
    auto [it, added] = users.insert_or_assign(std::move(record[0]), std::move(user));
    if (!added) Warn("duplicate token", path, number);
  }
  return std::unique_ptr<TokenAuthenticator>(
      std::make_unique<TokenFile>(std::move(users), std::move(api_audiences)));
}

base::Result<std::unique_ptr<TokenAuthenticator>> LoadTokenFile(
    const std::string& path, std::vector<std::string> api_audiences) {
  return ParseTokenFile(path, TRY(base::ReadFile(path)), std::move(api_audiences));
}

}  // namespace portcullis::authn
