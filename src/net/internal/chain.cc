#include "net/internal/chain.h"

#include <openssl/err.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::net::internal {
namespace {

// Against chains made to be expensive: as many as Go tries.
constexpr int kMaxSignatureChecks = 100;

using Chain = std::vector<X509*>;
enum class Role { kIntermediate, kRoot };

std::string_view RawName(const X509_NAME* name) {
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (X509_NAME_get0_der(name, &bytes, &size) != 1) return {};
  return {reinterpret_cast<const char*>(bytes), size};
}
std::string_view RawSubject(X509* certificate) {
  return RawName(X509_get_subject_name(certificate));
}
std::string_view RawIssuer(X509* certificate) { return RawName(X509_get_issuer_name(certificate)); }

bool Has(X509* certificate, std::uint32_t flag) {
  return (X509_get_extension_flags(certificate) & flag) != 0;
}

std::string DisplayName(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  auto name = SubjectAttribute(subject, NID_commonName);
  if (!name.empty()) return name;
  const auto organizations = SubjectAttributes(subject, NID_organizationName);
  return organizations.empty() ? base::StrCat("serial:", SerialOf(certificate)) : organizations[0];
}

std::string InsecureAlgorithm(const X509* certificate) {
  int digest = NID_undef;
  int key = NID_undef;
  OBJ_find_sigid_algs(X509_get_signature_nid(certificate), &digest, &key);
  if (digest == NID_md5) return "MD5-RSA";
  return key == NID_X9_62_id_ecPublicKey ? "ECDSA-SHA1" : "SHA1-RSA";
}

// Go's Certificate.CheckSignatureFrom.
std::string SignatureError(X509* child, X509* parent) {
  const bool is_authority = Has(parent, EXFLAG_BCONS) ? Has(parent, EXFLAG_CA)
                                                      : X509_get_version(parent) != X509_VERSION_3;
  const std::uint32_t usage = X509_get_key_usage(parent);
  if (!is_authority || (usage != UINT32_MAX && usage != 0 && (usage & KU_KEY_CERT_SIGN) == 0)) {
    return "x509: invalid signature: parent certificate cannot sign this kind of certificate";
  }
  if (HasInsecureSignature(child)) {
    return base::StrCat("x509: cannot verify signature: insecure algorithm ",
                        InsecureAlgorithm(child));
  }
  EVP_PKEY* key = X509_get0_pubkey(parent);
  if (key != nullptr && X509_verify(child, key) == 1) return "";
  ERR_clear_error();
  switch (key == nullptr ? EVP_PKEY_NONE : EVP_PKEY_base_id(key)) {
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

// Removes the constraints of directory names, which Go does not heed.
void DropDirectoryNames(STACK_OF(GENERAL_SUBTREE) * trees) {
  for (int i = sk_GENERAL_SUBTREE_num(trees) - 1; i >= 0; --i) {
    if (sk_GENERAL_SUBTREE_value(trees, i)->base->type != GEN_DIRNAME) continue;
    GENERAL_SUBTREE_free(sk_GENERAL_SUBTREE_delete(trees, i));
  }
}

// Whether the authority may sign for the names of every certificate below it. The names have to be
// read by X509_check_purpose before: NAME_CONSTRAINTS_check sees none otherwise, and says yes.
std::string NameConstraintError(const Chain& below, X509* authority) {
  if (X509_get_ext_by_NID(authority, NID_name_constraints, -1) < 0) return "";
  std::unique_ptr<NAME_CONSTRAINTS, Freer<NAME_CONSTRAINTS_free>> constraints(
      static_cast<NAME_CONSTRAINTS*>(
          X509_get_ext_d2i(authority, NID_name_constraints, nullptr, nullptr)));
  if (!constraints) return "x509: invalid NameConstraints extension";
  DropDirectoryNames(constraints->permittedSubtrees);
  DropDirectoryNames(constraints->excludedSubtrees);
  for (X509* certificate : below) {
    X509_check_purpose(certificate, -1, 0);
    const int outcome = NAME_CONSTRAINTS_check(certificate, constraints.get());
    ERR_clear_error();
    if (outcome == X509_V_OK) continue;
    return base::StrCat(
        "x509: a root or intermediate certificate is not authorized to sign for this ",
        "name: a name is ",
        outcome == X509_V_ERR_EXCLUDED_VIOLATION ? "excluded by a constraint"
                                                 : "not permitted by any constraint");
  }
  return "";
}

// Go's Certificate.isValid of a certificate that is to stand above `below`.
std::string AuthorityError(X509* certificate, Role role, const Chain& below, base::WallTime now) {
  if (auto error = CriticalExtensionError(certificate); !error.empty()) return error;
  if (auto error = ValidityError(certificate, now); !error.empty()) return error;
  if (auto error = NameConstraintError(below, certificate); !error.empty()) return error;
  if (role == Role::kIntermediate && !Has(certificate, EXFLAG_CA)) {
    return "x509: certificate is not authorized to sign other certificates";
  }
  const long most = X509_get_pathlen(certificate);
  if (most >= 0 && static_cast<long>(below.size()) - 1 > most) {
    return "x509: too many intermediates for path length constraint";
  }
  return "";
}

bool AllowsUse(X509* certificate, CertificateUse use) {
  const auto usage = X509_get_extended_key_usage(certificate);
  const auto wanted = use == CertificateUse::kServer ? XKU_SSL_SERVER : XKU_SSL_CLIENT;
  if (usage == UINT32_MAX) return true;  // no such extension
  return (usage & static_cast<std::uint32_t>(wanted | XKU_ANYEKU)) != 0;
}

// 0: the key identifiers match, 1: one has none, 2: they differ. Go tries them in this order.
int KeyMatch(X509* child, X509* parent) {
  const ASN1_OCTET_STRING* wanted = X509_get0_authority_key_id(child);
  const ASN1_OCTET_STRING* has = X509_get0_subject_key_id(parent);
  if (wanted == nullptr || has == nullptr) return 1;
  return ASN1_OCTET_STRING_cmp(wanted, has) == 0 ? 0 : 2;
}

class ChainBuilder {
 public:
  explicit ChainBuilder(const VerifyRequest& request)
      : request_(request), context_(X509_STORE_CTX_new()) {
    ready_ = context_ != nullptr &&
             X509_STORE_CTX_init(context_.get(), request.roots, request.leaf, nullptr) == 1;
  }

  std::string Run() {
    Chain chain{request_.leaf};
    std::string error;
    if (!ready_) return "x509: certificate signed by unknown authority";
    if (IsRoot(request_.leaf)) {
      Found(chain);
    } else {
      error = Extend(chain);
    }
    if (!found_) return error;
    return usable_ ? "" : "x509: certificate specifies an incompatible key usage";
  }

 private:
  // Looks for what could have signed the top of `chain`; the error if no chain was found by that.
  std::string Extend(Chain& chain) {
    X509* top = chain.back();
    const bool found_before = found_;
    std::string error;
    std::string hint;
    const auto consider = [&](X509* candidate, Role role) {
      if (usable_ || InChain(candidate, chain)) return;
      if (++signature_checks_ > kMaxSignatureChecks) {
        error = "x509: signature check attempts limit reached while verifying certificate chain";
        return;
      }
      std::string problem = SignatureError(top, candidate);
      if (problem.empty()) problem = AuthorityError(candidate, role, chain, request_.now);
      if (!problem.empty()) {
        if (hint.empty()) hint = Hint(problem, candidate);
        return;
      }
      chain.push_back(candidate);
      if (role == Role::kRoot) {
        Found(chain);
      } else {
        error = Extend(chain);
      }
      chain.pop_back();
    };
    const X509StackPtr roots = RootsFor(top);
    for (X509* root : Parents(top, roots.get())) consider(root, Role::kRoot);
    for (X509* other : Parents(top, request_.intermediates)) consider(other, Role::kIntermediate);
    if (found_ && !found_before) return "";
    if (!error.empty()) return error;
    return base::StrCat("x509: certificate signed by unknown authority", hint);
  }

  void Found(const Chain& chain) {
    found_ = true;
    usable_ = usable_ || std::all_of(chain.begin(), chain.end(), [this](X509* certificate) {
                return AllowsUse(certificate, request_.use);
              });
  }

  static std::string Hint(std::string_view problem, X509* candidate) {
    return base::StrCat(" (possibly because of ", base::GoQuote(problem),
                        " while trying to verify candidate authority certificate ",
                        base::GoQuote(DisplayName(candidate)), ")");
  }

  X509StackPtr RootsFor(X509* child) {
    X509StackPtr roots(X509_STORE_CTX_get1_certs(context_.get(), X509_get_issuer_name(child)));
    ERR_clear_error();
    return roots;
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

  static Chain Parents(X509* child, STACK_OF(X509) * candidates) {
    Chain parents;
    for (int i = 0; i < sk_X509_num(candidates); ++i) {
      X509* candidate = sk_X509_value(candidates, i);
      if (RawSubject(candidate) == RawIssuer(child)) parents.push_back(candidate);
    }
    std::stable_sort(parents.begin(), parents.end(),
                     [child](X509* a, X509* b) { return KeyMatch(child, a) < KeyMatch(child, b); });
    return parents;
  }

  static bool InChain(X509* candidate, const Chain& chain) {
    return std::any_of(chain.begin(), chain.end(), [candidate](X509* member) {
      return RawSubject(member) == RawSubject(candidate) &&
             EVP_PKEY_eq(X509_get0_pubkey(member), X509_get0_pubkey(candidate)) == 1;
    });
  }

  const VerifyRequest& request_;
  const X509StoreContextPtr context_;
  bool ready_ = false;
  bool found_ = false;
  bool usable_ = false;  // one with the right key usages was found
  int signature_checks_ = 0;
};

}  // namespace

std::string VerifyChain(const VerifyRequest& request) { return ChainBuilder(request).Run(); }

}  // namespace portcullis::net::internal
