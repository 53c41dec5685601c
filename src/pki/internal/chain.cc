// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/chain.h"

#include <openssl/err.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "pki/internal/name_constraints.h"

namespace portcullis::pki {
namespace {

// Against chains made to be expensive: as many as Go tries.
constexpr int kMaxSignatureChecks = 100;
constexpr int kMinRsaBits = 1024;

using Chain = std::vector<const ReadCertificate*>;
enum class Role { kIntermediate, kRoot };

std::string DisplayName(const ReadCertificate& certificate) {
  const DistinguishedName& subject = certificate.parsed.subject;
  if (!subject.common_name.empty()) return subject.common_name;
  if (!subject.organizations.empty()) return subject.organizations[0];
  return base::StrCat("serial:", SerialOf(certificate.x509.get()));
}

std::string InsecureAlgorithm(const X509* certificate) {
  int digest = NID_undef;
  int key = NID_undef;
  OBJ_find_sigid_algs(X509_get_signature_nid(certificate), &digest, &key);
  if (digest == NID_md5) return "MD5-RSA";
  return key == NID_X9_62_id_ecPublicKey ? "ECDSA-SHA1" : "SHA1-RSA";
}

// Of those that Go implements. RSA-PSS only with parameters that TLS uses, too.
bool IsKnownSignature(X509* certificate) {
  switch (X509_get_signature_nid(certificate)) {
    case NID_sha256WithRSAEncryption:
    case NID_sha384WithRSAEncryption:
    case NID_sha512WithRSAEncryption:
    case NID_ecdsa_with_SHA256:
    case NID_ecdsa_with_SHA384:
    case NID_ecdsa_with_SHA512:
    case NID_ED25519:
      return true;
    case NID_rsassaPss: {
      std::uint32_t flags = 0;
      return X509_get_signature_info(certificate, nullptr, nullptr, nullptr, &flags) == 1 &&
             (flags & X509_SIG_INFO_TLS) != 0;
    }
    default:
      return false;
  }
}

// By the key of the parent, whatever else that may be.
std::string KeySignatureError(X509* child, X509* parent) {
  EVP_PKEY* key = X509_get0_pubkey(parent);
  const int kind = key == nullptr ? EVP_PKEY_NONE : EVP_PKEY_base_id(key);
  const int bits = key == nullptr ? 0 : EVP_PKEY_bits(key);
  if (kind == EVP_PKEY_RSA && bits < kMinRsaBits) {
    return base::StrCat("crypto/rsa: ", std::to_string(bits),
                        "-bit keys are insecure (see "
                        "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)");
  }
  if (IsKnownSignature(child) && key != nullptr && X509_verify(child, key) == 1) return "";
  ERR_clear_error();
  switch (IsKnownSignature(child) ? kind : EVP_PKEY_NONE) {
    case EVP_PKEY_RSA:
      return "crypto/rsa: verification error";
    case EVP_PKEY_EC:
      return "x509: ECDSA verification failure";
    case EVP_PKEY_ED25519:
      return "x509: Ed25519 verification failure";
    default:
      return "x509: cannot verify signature: algorithm unimplemented";
  }
}

// Go's Certificate.CheckSignatureFrom.
std::string SignatureError(const ReadCertificate& child, const ReadCertificate& parent) {
  const Certificate& signer = parent.parsed;
  const bool is_authority = signer.has_basic_constraints ? signer.is_authority : signer.version < 3;
  if (!is_authority || (signer.has_key_usage && !signer.may_sign_certificates)) {
    return "x509: invalid signature: parent certificate cannot sign this kind of certificate";
  }
  X509* signed_one = child.x509.get();
  if (HasInsecureSignature(signed_one)) {
    return base::StrCat("x509: cannot verify signature: insecure algorithm ",
                        InsecureAlgorithm(signed_one));
  }
  return KeySignatureError(signed_one, parent.x509.get());
}

// Go's Certificate.isValid of a certificate that is to stand above `below`.
std::string AuthorityError(const Certificate& certificate, Role role, const Chain& below,
                           base::WallTime now) {
  if (auto error = CriticalExtensionError(certificate); !error.empty()) return error;
  if (auto error = ValidityError(certificate, now); !error.empty()) return error;
  const bool is_authority = certificate.has_basic_constraints && certificate.is_authority;
  if (role == Role::kIntermediate && !is_authority) {
    return "x509: certificate is not authorized to sign other certificates";
  }
  const std::int64_t most = certificate.path_length;
  if (most >= 0 && static_cast<std::int64_t>(below.size()) - 1 > most) {
    return "x509: too many intermediates for path length constraint";
  }
  return "";
}

// An empty list of purposes is as good as none.
bool AllowsUse(const Certificate& certificate, CertificateUse use) {
  return !certificate.lists_purposes || certificate.for_any_purpose ||
         (use == CertificateUse::kServer ? certificate.for_servers : certificate.for_clients);
}

// What the certificates of a chain demand of each other's policies (RFC 5280 §6.1).
bool PoliciesAllow(const Chain& chain) {
  if (chain.size() == 1) return true;
  STACK_OF(X509)* stack = sk_X509_new_null();
  for (const ReadCertificate* certificate : chain) sk_X509_push(stack, certificate->x509.get());
  X509_POLICY_TREE* tree = nullptr;
  int is_explicit = 0;
  const int outcome = X509_policy_check(&tree, &is_explicit, stack, nullptr, 0);
  X509_policy_tree_free(tree);
  sk_X509_free(stack);
  ERR_clear_error();
  return outcome == X509_PCY_TREE_VALID;
}

// 0: the key identifiers match, 1: one has none, 2: they differ. Go tries them in this order.
int KeyMatch(const Certificate& child, const Certificate& parent) {
  if (child.authority_key_id == parent.subject_key_id) return 0;
  return child.authority_key_id.empty() || parent.subject_key_id.empty() ? 1 : 2;
}

bool IsSameEntity(const Certificate& a, const Certificate& b) {
  return a.raw_subject == b.raw_subject && a.raw_public_key == b.raw_public_key &&
         a.has_alternative_names == b.has_alternative_names &&
         a.raw_alternative_names == b.raw_alternative_names;
}

class ChainBuilder {
 public:
  explicit ChainBuilder(const VerifyRequest& request)
      : request_(request), context_(X509_STORE_CTX_new()) {
    ready_ = context_ != nullptr &&
             X509_STORE_CTX_init(context_.get(), request.roots, Leaf().x509.get(), nullptr) == 1;
  }

  std::string Run() {
    Chain chain{&Leaf()};
    std::string error;
    if (!ready_) return "x509: certificate signed by unknown authority";
    if (IsRoot(Leaf().x509.get())) {
      Found(chain);
    } else {
      error = Extend(chain);
    }
    if (!found_) return error;
    return usable_ ? "" : Unusable();
  }

  const std::deque<ReadCertificate>& tried_roots() const { return roots_; }

 private:
  const ReadCertificate& Leaf() const { return request_.chain[0]; }

  // Looks for what could have signed the top of `chain`; the error if no chain was found by that.
  std::string Extend(Chain& chain) {
    const ReadCertificate& top = *chain.back();
    const bool found_before = found_;
    std::string error;
    std::string hint;
    const auto consider = [&](const ReadCertificate& candidate, Role role) {
      if (usable_) return;
      if (++signature_checks_ > kMaxSignatureChecks) {
        error = "x509: signature check attempts limit reached while verifying certificate chain";
        return;
      }
      if (!candidate.parsed.has_known_key || InChain(candidate, chain)) return;
      std::string problem = SignatureError(top, candidate);
      if (problem.empty()) problem = AuthorityError(candidate.parsed, role, chain, request_.now);
      if (!problem.empty()) {
        if (hint.empty()) hint = Hint(problem, candidate);
        return;
      }
      chain.push_back(&candidate);
      if (role == Role::kRoot) {
        Found(chain);
      } else {
        error = Extend(chain);
      }
      chain.pop_back();
    };
    for (const ReadCertificate* root : Parents(top, RootsFor(top))) consider(*root, Role::kRoot);
    for (const ReadCertificate* other : Parents(top, Intermediates())) {
      consider(*other, Role::kIntermediate);
    }
    if (found_ && !found_before) return "";
    if (!error.empty()) return error;
    return base::StrCat("x509: certificate signed by unknown authority", hint);
  }

  // A chain that reaches a root: whether policies, purposes and name constraints let it pass.
  void Found(const Chain& chain) {
    found_ = true;
    if (!PoliciesAllow(chain)) {
      ++of_bad_policies_;
      return;
    }
    if (!std::all_of(chain.begin(), chain.end(), [this](const ReadCertificate* certificate) {
          return AllowsUse(certificate->parsed, request_.use);
        })) {
      ++of_other_use_;
      return;
    }
    std::vector<const Certificate*> parsed;
    for (const ReadCertificate* certificate : chain) parsed.push_back(&certificate->parsed);
    std::string error = NameConstraintError(parsed);
    usable_ = usable_ || error.empty();
    if (constraint_error_.empty()) constraint_error_ = std::move(error);
  }

  std::string Unusable() const {
    if (!constraint_error_.empty()) {
      return base::StrCat(
          "x509: a root or intermediate certificate is not authorized to sign for this name: ",
          constraint_error_);
    }
    if (of_bad_policies_ == 0) return "x509: certificate specifies an incompatible key usage";
    std::vector<std::string> details;
    if (of_other_use_ > 0) {
      details.push_back(base::StrCat(std::to_string(of_other_use_),
                                     " candidate chains with incompatible key usage"));
    }
    details.push_back(
        base::StrCat(std::to_string(of_bad_policies_), " candidate chains with invalid policies"));
    return base::StrCat("x509: no valid chains built: ", base::Join(details, ", "));
  }

  static std::string Hint(std::string_view problem, const ReadCertificate& candidate) {
    return base::StrCat(" (possibly because of ", base::GoQuote(problem),
                        " while trying to verify candidate authority certificate ",
                        base::GoQuote(DisplayName(candidate)), ")");
  }

  // The roots with the name of the issuer. AddRoots lets only those in that can be read.
  Chain RootsFor(const ReadCertificate& child) {
    const X509StackPtr found(
        X509_STORE_CTX_get1_certs(context_.get(), X509_get_issuer_name(child.x509.get())));
    ERR_clear_error();
    Chain roots;
    for (int i = 0; i < sk_X509_num(found.get()); ++i) {
      auto root = Read(sk_X509_value(found.get(), i));
      if (!root.ok()) continue;
      roots_.push_back(std::move(*root));
      roots.push_back(&roots_.back());
    }
    return roots;
  }

  Chain Intermediates() const {
    Chain others;
    for (std::size_t i = 1; i < request_.chain.size(); ++i) others.push_back(&request_.chain[i]);
    return others;
  }

  bool IsRoot(X509* certificate) {
    const X509StackPtr roots(
        X509_STORE_CTX_get1_certs(context_.get(), X509_get_subject_name(certificate)));
    ERR_clear_error();
    for (int i = 0; i < sk_X509_num(roots.get()); ++i) {
      if (X509_cmp(sk_X509_value(roots.get(), i), certificate) == 0) return true;
    }
    return false;
  }

  static Chain Parents(const ReadCertificate& child, const Chain& candidates) {
    Chain parents;
    for (const ReadCertificate* candidate : candidates) {
      if (candidate->parsed.raw_subject == child.parsed.raw_issuer) parents.push_back(candidate);
    }
    std::stable_sort(parents.begin(), parents.end(),
                     [&child](const ReadCertificate* a, const ReadCertificate* b) {
                       return KeyMatch(child.parsed, a->parsed) < KeyMatch(child.parsed, b->parsed);
                     });
    return parents;
  }

  static bool InChain(const ReadCertificate& candidate, const Chain& chain) {
    return std::any_of(chain.begin(), chain.end(), [&candidate](const ReadCertificate* member) {
      return IsSameEntity(member->parsed, candidate.parsed);
    });
  }

  const VerifyRequest& request_;
  const X509StoreContextPtr context_;
  std::deque<ReadCertificate> roots_;  // those looked at
  bool ready_ = false;
  bool found_ = false;
  bool usable_ = false;  // one that may be used was found
  int of_bad_policies_ = 0;
  int of_other_use_ = 0;
  std::string constraint_error_;
  int signature_checks_ = 0;
};

}  // namespace

Verdict VerifyChain(const VerifyRequest& request) {
  ChainBuilder builder(request);
  Verdict verdict;
  verdict.error = builder.Run();
  for (const auto& root : builder.tried_roots()) verdict.DependOn(root.parsed, request.now);
  return verdict;
}

}  // namespace portcullis::pki
