// SPDX-License-Identifier: Apache-2.0

// KeyFolder: certificates and keys as files of one folder (<name>.crt, <name>.key), made at first use
// and renewed a month before they end. What somebody else has put there is used and never replaced.
// A folder without a path is one in memory: everything is made anew and nothing is written.
//
//   const auto folder = TRY(pki::KeyFolder::Open("data/pki", "portcullis-ca", clock.Now()));
//   const auto serving = TRY(folder.Certificate("server", {.common_name = "portcullis", …}));
//
// Value type; not for two processes at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "pki/certificates.h"

namespace portcullis::pki {

class KeyFolder {
 public:
  // Makes the folder, and in it "ca": a certificate authority of that name, valid for ten years.
  static base::Result<KeyFolder> Open(const std::string& path, std::string_view authority_name,
                                      base::WallTime now);

  const KeyPair& authority() const { return authority_; }

  // Signed by the authority. Renewed if it was issued here, to that common name. An error if it has
  // expired and was made elsewhere.
  base::Result<KeyPair> Certificate(const std::string& name,
                                    const CertificateRequest& request) const;
  // A private key without certificate, PKCS#8 PEM.
  base::Result<std::string> Key(const std::string& name) const;

 private:
  KeyFolder(std::string path, std::string_view authority_name, base::WallTime now)
      : path_(std::move(path)), authority_name_(authority_name), now_(now) {}

  base::Result<KeyPair> Kept(const std::string& name, std::string_view subject,
                             const std::function<base::Result<KeyPair>()>& make) const;
  std::string PathOf(const std::string& file) const { return path_ + "/" + file; }

  std::string path_;
  std::string authority_name_;
  base::WallTime now_;
  KeyPair authority_;
  mutable std::shared_ptr<const Issuer> issuer_;  // of the authority; made at its first use
};

}  // namespace portcullis::pki
