// SPDX-License-Identifier: Apache-2.0

#include "pki/key_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"

namespace portcullis::pki {
namespace {

constexpr int kAuthorityDays = 3650;
constexpr std::chrono::hours kRenewBefore{24 * 30};

// A folder on the way that may not be searched is an error, and no absent file.
base::Result<bool> Exists(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT) return false;
  return base::ConfigError(base::StrCat("open ", path, ": ", base::ErrnoText(errno)));
}

enum class Renewal : std::uint8_t { kNotNeeded, kDue, kNotOurs };

// Certificates that Portcullis has made are known by their names: `subject`, and `issuer` who has
// signed them. A pair that somebody else has put there is never replaced.
base::Result<Renewal> JudgeAge(const std::string& path, const KeyPair& pair,
                               std::string_view subject, std::string_view issuer,
                               base::WallTime now) {
  const auto chain = ParseCertificates(pair.certificate_pem);
  if (!chain.ok()) return chain.status().Annotate(path);
  const CertificateInfo& leaf = chain->front();
  // Made while the clock was ahead: it would be refused for all that time.
  const bool is_premature = leaf.not_before > now;
  if (!is_premature && leaf.not_after > now + kRenewBefore) return Renewal::kNotNeeded;
  if (leaf.common_name == subject && leaf.issuer_common_name == issuer) return Renewal::kDue;
  const std::string end = base::FormatTime(leaf.not_after);
  if (leaf.not_after <= now) {
    return base::ConfigError(
        base::StrCat(path, ": the certificate has expired at ", end,
                     " and is not replaced, because it was not made by Portcullis: renew it, or "
                     "choose another folder"));
  }
  if (is_premature) {
    base::LogWarning("certificate is not valid yet and is not replaced: not made by Portcullis",
                     {{"file", path}, {"begins", base::FormatTime(leaf.not_before)}});
    return Renewal::kNotOurs;
  }
  base::LogWarning("certificate expires soon and is not renewed: it was not made by Portcullis",
                   {{"file", path}, {"expires", end}});
  return Renewal::kNotOurs;
}

}  // namespace

base::Result<KeyFolder> KeyFolder::Open(const std::string& path, std::string_view authority_name,
                                        base::WallTime now) {
  std::error_code error;
  if (!path.empty()) std::filesystem::create_directories(path, error);
  if (error) return base::ConfigError(base::StrCat("mkdir ", path, ": ", error.message()));
  KeyFolder folder(path, authority_name, now);
  folder.authority_ = TRY(folder.Kept(
      "ca", authority_name, [&] { return MakeAuthority(authority_name, now, kAuthorityDays); }));
  return folder;
}

base::Result<KeyPair> KeyFolder::Certificate(const std::string& name,
                                             const CertificateRequest& request) const {
  return Kept(name, request.common_name, [&]() -> base::Result<KeyPair> {
    if (issuer_ == nullptr) issuer_ = TRY(Issuer::Create(authority_));
    return issuer_->Issue(request, now_);
  });
}

base::Result<std::string> KeyFolder::Key(const std::string& name) const {
  const std::string path = PathOf(name + ".key");
  if (!path_.empty() && TRY(Exists(path))) return base::ReadFile(path);
  std::string key = TRY(MakeEcKey());  // takes no time to make
  if (!path_.empty()) TRY(base::WriteFile(path, key));
  return key;
}

// The pair kept under that name, or what `make` makes, kept from now on.
base::Result<KeyPair> KeyFolder::Kept(const std::string& name, std::string_view subject,
                                      const std::function<base::Result<KeyPair>()>& make) const {
  if (path_.empty()) return make();
  const std::string certificate = PathOf(name + ".crt");
  const std::string key = PathOf(name + ".key");
  if (TRY(Exists(certificate))) {
    KeyPair pair = TRY(LoadKeyPair(certificate, key));
    const Renewal renewal = TRY(JudgeAge(certificate, pair, subject, authority_name_, now_));
    if (renewal != Renewal::kDue) return pair;
    base::LogInfo("certificate renewed", {{"file", certificate}});
  }
  KeyPair pair = TRY(make());
  TRY(base::WriteFile(key, pair.key_pem));
  TRY(base::WriteFile(certificate, pair.certificate_pem));
  return pair;
}

}  // namespace portcullis::pki
