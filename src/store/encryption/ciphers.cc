// SPDX-License-Identifier: Apache-2.0

#include "store/encryption/ciphers.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sodium/core.h>
#include <sodium/crypto_secretbox.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/strings.h"

namespace portcullis::store {
namespace {

constexpr const char* kTooShort = "the stored data was shorter than the required size";

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text, std::size_t at = 0) {
  return reinterpret_cast<unsigned char*>(text.data()) + at;
}

class SecretKey {
 public:
  explicit SecretKey(std::string_view bytes) : bytes_(bytes) {}
  ~SecretKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  const unsigned char* data() const { return Bytes(std::string_view(bytes_)); }

 private:
  std::string bytes_;
};

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;
struct FreeAlgorithm {
  void operator()(EVP_CIPHER* algorithm) const { EVP_CIPHER_free(algorithm); }
};
using Algorithm = std::unique_ptr<EVP_CIPHER, FreeAlgorithm>;

base::Status LibraryError(std::string_view what) {
  return base::ConfigError(base::StrCat(what, ": the cryptographic library failed"));
}

// "AES-256-GCM" of a key of 32 bytes.
base::Result<Algorithm> FetchAes(std::size_t key_size, std::string_view mode) {
  if (key_size != 16 && key_size != 24 && key_size != 32) {
    return base::ConfigError(
        base::StrCat("crypto/aes: invalid key size ", std::to_string(key_size)));
  }
  const std::string name = base::StrCat("AES-", std::to_string(key_size * 8), "-", mode);
  // Fetched once: looking an algorithm up takes longer than encrypting a small object.
  Algorithm algorithm(EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr));
  if (algorithm == nullptr) return LibraryError(name);
  return algorithm;
}

class AesGcm final : public Cipher {
 public:
  AesGcm(Algorithm algorithm, std::string_view key) : algorithm_(std::move(algorithm)), key_(key) {}

  base::Result<std::string> Encrypt(std::string_view plain,
                                    std::string_view additional) const override {
    std::string out = base::RandomBytes(kNonce);
    out.resize(kNonce + plain.size() + kTag);
    const Context context(EVP_CIPHER_CTX_new());
    int written = 0;
    const bool done =
        context != nullptr &&
        EVP_EncryptInit_ex2(context.get(), algorithm_.get(), key_.data(), Bytes(out), nullptr) ==
            1 &&
        EVP_EncryptUpdate(context.get(), nullptr, &written, Bytes(additional),
                          static_cast<int>(additional.size())) == 1 &&
        EVP_EncryptUpdate(context.get(), Bytes(out, kNonce), &written, Bytes(plain),
                          static_cast<int>(plain.size())) == 1 &&
        EVP_EncryptFinal_ex(context.get(), Bytes(out, kNonce + plain.size()), &written) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, static_cast<int>(kTag),
                            Bytes(out, kNonce + plain.size())) == 1;
    if (!done) return LibraryError("AES-GCM");
    return out;
  }

  base::Result<std::string> Decrypt(std::string_view stored,
                                    std::string_view additional) const override {
    const base::Status failed = base::ConfigError("cipher: message authentication failed");
    if (stored.size() < kNonce) return base::ConfigError(kTooShort);
    if (stored.size() < kNonce + kTag) return failed;
    const std::string_view sealed = stored.substr(kNonce, stored.size() - kNonce - kTag);
    std::string tag(stored.substr(stored.size() - kTag));
    std::string plain(sealed.size(), '\0');
    const Context context(EVP_CIPHER_CTX_new());
    int written = 0;
    const bool done = context != nullptr &&
                      EVP_DecryptInit_ex2(context.get(), algorithm_.get(), key_.data(),
                                          Bytes(stored), nullptr) == 1 &&
                      EVP_DecryptUpdate(context.get(), nullptr, &written, Bytes(additional),
                                        static_cast<int>(additional.size())) == 1 &&
                      EVP_DecryptUpdate(context.get(), Bytes(plain), &written, Bytes(sealed),
                                        static_cast<int>(sealed.size())) == 1 &&
                      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG,
                                          static_cast<int>(kTag), Bytes(tag)) == 1 &&
                      EVP_DecryptFinal_ex(context.get(), Bytes(plain, plain.size()), &written) == 1;
    if (!done) return failed;
    return plain;
  }

 private:
  static constexpr std::size_t kNonce = 12;
  static constexpr std::size_t kTag = 16;

  const Algorithm algorithm_;
  const SecretKey key_;
};

class AesCbc final : public Cipher {
 public:
  AesCbc(Algorithm algorithm, std::string_view key) : algorithm_(std::move(algorithm)), key_(key) {}

  base::Result<std::string> Encrypt(std::string_view plain, std::string_view) const override {
    std::string out = base::RandomBytes(kBlock);
    const std::size_t padded = plain.size() + kBlock - plain.size() % kBlock;
    out.resize(kBlock + padded);
    const Context context(EVP_CIPHER_CTX_new());
    int written = 0;
    int rest = 0;
    const bool done =
        context != nullptr &&
        EVP_EncryptInit_ex2(context.get(), algorithm_.get(), key_.data(), Bytes(out), nullptr) ==
            1 &&
        EVP_EncryptUpdate(context.get(), Bytes(out, kBlock), &written, Bytes(plain),
                          static_cast<int>(plain.size())) == 1 &&
        EVP_EncryptFinal_ex(context.get(), Bytes(out, kBlock + static_cast<std::size_t>(written)),
                            &rest) == 1;
    if (!done || static_cast<std::size_t>(written + rest) != padded) {
      return LibraryError("AES-CBC");
    }
    return out;
  }

  base::Result<std::string> Decrypt(std::string_view stored, std::string_view) const override {
    if (stored.size() < kBlock) return base::ConfigError(kTooShort);
    const std::string_view sealed = stored.substr(kBlock);
    if (sealed.size() % kBlock != 0) {
      return base::ConfigError("the stored data is not a multiple of the block size");
    }
    // kube-apiserver panics here.
    if (sealed.empty()) return base::ConfigError(kNotPadded);
    std::string plain(sealed.size(), '\0');
    const Context context(EVP_CIPHER_CTX_new());
    int written = 0;
    // The padding is checked below, whose errors Kubernetes tells apart.
    const bool done = context != nullptr &&
                      EVP_DecryptInit_ex2(context.get(), algorithm_.get(), key_.data(),
                                          Bytes(stored), nullptr) == 1 &&
                      EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1 &&
                      EVP_DecryptUpdate(context.get(), Bytes(plain), &written, Bytes(sealed),
                                        static_cast<int>(sealed.size())) == 1;
    if (!done || static_cast<std::size_t>(written) != plain.size()) return LibraryError("AES-CBC");
    return WithoutPadding(std::move(plain));
  }

 private:
  static constexpr std::size_t kBlock = 16;
  static constexpr const char* kNotPadded = "invalid PKCS7 data (empty or not padded)";

  static base::Result<std::string> WithoutPadding(std::string plain) {
    const char last = plain.back();
    const std::size_t padding = static_cast<unsigned char>(last);
    if (padding == 0 || padding > plain.size()) return base::ConfigError(kNotPadded);
    const std::size_t size = plain.size() - padding;
    if (plain.find_first_not_of(last, size) != std::string::npos) {
      return base::ConfigError("invalid padding on input");
    }
    plain.resize(size);
    return plain;
  }

  const Algorithm algorithm_;
  const SecretKey key_;
};

class Secretbox final : public Cipher {
 public:
  explicit Secretbox(std::string_view key) : key_(key) {}

  base::Result<std::string> Encrypt(std::string_view plain, std::string_view) const override {
    std::string out = base::RandomBytes(kNonce);
    const std::string nonce = out;
    out.resize(kNonce + kTag + plain.size());
    if (crypto_secretbox_easy(Bytes(out, kNonce), Bytes(plain), plain.size(), Bytes(nonce),
                              key_.data()) != 0) {
      return LibraryError("secretbox");
    }
    return out;
  }

  base::Result<std::string> Decrypt(std::string_view stored, std::string_view) const override {
    if (stored.size() < kNonce + kTag) return base::ConfigError(kTooShort);
    const std::string_view sealed = stored.substr(kNonce);
    std::string plain(sealed.size() - kTag, '\0');
    if (crypto_secretbox_open_easy(Bytes(plain), Bytes(sealed), sealed.size(), Bytes(stored),
                                   key_.data()) != 0) {
      // The words that kube-apiserver has for a value that this key does not fit.
      return base::ConfigError("output array was not large enough for encryption");
    }
    return plain;
  }

 private:
  static constexpr std::size_t kNonce = crypto_secretbox_NONCEBYTES;
  static constexpr std::size_t kTag = crypto_secretbox_MACBYTES;

  const SecretKey key_;
};

}  // namespace

base::Result<std::unique_ptr<const Cipher>> MakeAesGcm(std::string_view key) {
  return std::unique_ptr<const Cipher>(
      std::make_unique<AesGcm>(TRY(FetchAes(key.size(), "GCM")), key));
}

base::Result<std::unique_ptr<const Cipher>> MakeAesCbc(std::string_view key) {
  return std::unique_ptr<const Cipher>(
      std::make_unique<AesCbc>(TRY(FetchAes(key.size(), "CBC")), key));
}

base::Result<std::unique_ptr<const Cipher>> MakeSecretbox(std::string_view key) {
  if (key.size() != crypto_secretbox_KEYBYTES) {
    return base::ConfigError(base::StrCat("expected key size 32 for secretbox provider, got ",
                                          std::to_string(key.size())));
  }
  // Picks the fastest implementations; 1 if that has been done.
  if (sodium_init() < 0) return LibraryError("libsodium");
  return std::unique_ptr<const Cipher>(std::make_unique<Secretbox>(key));
}

}  // namespace portcullis::store
