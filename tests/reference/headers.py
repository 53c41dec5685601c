# SPDX-License-Identifier: Apache-2.0

"""Cases of headers that name a user: those of front proxies and those of impersonation."""

import random

from credentials import Case

GOOD = {"Authorization": "Bearer plain"}


def cases():
    yield from of_proxies()
    yield from of_impersonation()
    yield from of_impersonation_by_chance()


def of_proxies():
    user = {"X-Remote-User": "ann"}
    for certificate in (None, "client", "nameless", "stranger", "expired", "proxy", "proxy-two", "proxy-unknown", "proxy-case",
                        "proxy-expired", "proxy-of-clients", "proxy-of-strangers", "proxy-for-servers"):
        yield Case(f"proxy: user with the certificate {certificate}", user, certificate)
        yield Case(f"proxy: user and a token with the certificate {certificate}", {**user, **GOOD}, certificate)
        yield Case(f"proxy: no user with the certificate {certificate}", {"X-Remote-Group": "system:masters"}, certificate)
        yield Case(f"proxy: impersonation with the certificate {certificate}", {**user, "Impersonate-User": "bob"}, certificate)
    for name, more in (
            ("user with blanks", {"X-Remote-User": "  a b  "}), ("user empty", {"X-Remote-User": ""}), ("two users", {"X-Remote-User": ["ann", "bob"]}),
            ("empty user, then another", {"X-Remote-User": ["", "bob"]}), ("other user header", {"X-Remote-User": None, "X-Other-User": "bob"}),
            ("both user headers", {"X-Other-User": "bob"}), ("first user header empty", {"X-Remote-User": "", "X-Other-User": "bob"}),
            ("header in lower case", {"X-Remote-User": None, "x-remote-user": "bob"}), ("header in upper case", {"X-Remote-User": None, "X-REMOTE-USER": "bob"}),
            ("underscores", {"X-Remote-User": None, "X_Remote_User": "bob"}), ("user in percent", {"X-Remote-User": "a%2Fb"}),
            ("user of other letters", {"X-Remote-User": "Zoë"}), ("user of bytes", {"X-Remote-User": "a,b;c"}), ("user in quotes", {"X-Remote-User": '"ann"'}),
            ("anonymous", {"X-Remote-User": "system:anonymous"}), ("anonymous and group", {"X-Remote-User": "system:anonymous",
                                                                                     "X-Remote-Group": "system:unauthenticated"}),
            ("group", {"X-Remote-Group": "a"}), ("groups", {"X-Remote-Group": ["a", "b"]}), ("groups with a comma", {"X-Remote-Group": "a,b"}),
            ("group empty", {"X-Remote-Group": ["", "a"]}), ("group with blanks", {"X-Remote-Group": " a b "}), ("other groups", {"X-Other-Group": ["a", "b"]}),
            ("groups of both", {"X-Other-Group": ["a"], "X-Remote-Group": ["b", "c"]}), ("group twice", {"X-Remote-Group": ["a", "a"]}),
            ("masters", {"X-Remote-Group": "system:masters"}), ("authenticated", {"X-Remote-Group": ["system:authenticated", "a"]}),
            ("unauthenticated", {"X-Remote-Group": ["system:unauthenticated"]}), ("groups in other case", {"x-REMOTE-group": ["a", "b"]}),
            ("uid", {"X-Remote-Uid": "u"}), ("uids", {"X-Remote-Uid": ["u", "v"]}), ("uid empty", {"X-Remote-Uid": ""}), ("uid, then empty", {"X-Remote-Uid": ["", "v"]}),
            ("extra", {"X-Remote-Extra-Scopes": "a"}), ("extra twice", {"X-Remote-Extra-Scopes": ["a", "b"]}), ("extra in two cases", {
                "X-Remote-Extra-Scopes": "a", "X-Remote-Extra-sCoPeS": "b"}), ("extra empty", {"X-Remote-Extra-Scopes": ["", "a"]}),
            ("extra without key", {"X-Remote-Extra-": "a"}), ("extra without key and dash", {"X-Remote-Extra": "a"}), ("extra escaped", {
                "X-Remote-Extra-Acme.com%2fProject": "a"}), ("extra escaped in upper case", {"X-Remote-Extra-Acme.com%2FProject%41": "a"}),
            ("extra badly escaped", {"X-Remote-Extra-A%zz": "a", "X-Remote-Extra-B%2": "b"}), ("extra with plus", {"X-Remote-Extra-A+B": "a"}),
            ("extra escaped twice", {"X-Remote-Extra-a%252fb": "a"}), ("extra of an escaped zero", {"X-Remote-Extra-a%00b": "a"}),
            ("extra of escaped bytes", {"X-Remote-Extra-a%c3%a9": "a"}), ("extra of the other prefix", {"X-More-Scopes": "a"}),
            ("extra of both prefixes", {"X-More-Scopes": "a", "X-Remote-Extra-Scopes": "b"}), ("extra prefix in lower case", {"x-remote-extra-scopes": "a"}),
            ("extra by underscore", {"X-Remote-Extra_Scopes": "a"}), ("extra with dots", {"X-Remote-Extra-A.B-C_d~e!": "a"}),
            ("all of it", {"X-Remote-Group": ["a", "b"], "X-Remote-Uid": "u", "X-Remote-Extra-K.io%2fscopes": ["x", "y"]})):
        headers = {"X-Remote-User": "ann", **more}
        headers = {key: value for key, value in headers.items() if value is not None}
        yield Case(f"proxy: {name}", headers, "proxy")
        yield Case(f"proxy spoofed: {name}", {**headers, **GOOD})
    yield Case("proxy: user and impersonation by who may", {"X-Remote-User": "imp-all", "Impersonate-User": "bob", "Impersonate-Group": "a"}, "proxy")
    yield Case("proxy: user and a bad token", {**user, "Authorization": "Bearer wrong"}, "proxy")


def impersonations():
    one = {"Impersonate-User": "bob"}
    yield "nobody", {}
    for name in ("bob", "", " bob ", "a b", "Zoë", "system:anonymous", "system:admin", "system:node:n", "system:node:", "system:node:N", "system:node:n:m",
                 "system:serviceaccount:who:sa", "system:serviceaccount:who:x", "system:serviceaccount:who", "system:serviceaccount::", "system:serviceaccount:Who:sa",
                 "system:serviceaccount:who:sa:x", "system:serviceaccount:who:a.b", "system:kube-scheduler", "system:masters", "a,b", "a%2fb", '"bob"'):
        yield f"user {name!r}", {"Impersonate-User": name}
    for name, more in (
            ("two users", {"Impersonate-User": ["bob", "ann"]}), ("an empty user, then another", {"Impersonate-User": ["", "bob"]}),
            ("header in lower case", {"impersonate-user": "bob"}), ("header in upper case", {"IMPERSONATE-USER": "bob"}),
            ("group", {**one, "Impersonate-Group": "a"}), ("groups", {**one, "Impersonate-Group": ["a", "b"]}), ("groups in order", {
                **one, "Impersonate-Group": ["b", "a", "b"]}), ("group with a comma", {**one, "Impersonate-Group": "a,b"}),
            ("group empty", {**one, "Impersonate-Group": ""}), ("groups and an empty one", {**one, "Impersonate-Group": ["a", ""]}),
            ("masters", {**one, "Impersonate-Group": "system:masters"}), ("authenticated", {**one, "Impersonate-Group": "system:authenticated"}),
            ("unauthenticated", {**one, "Impersonate-Group": "system:unauthenticated"}), ("authenticated and others", {
                **one, "Impersonate-Group": ["system:authenticated", "a"]}), ("five groups", {**one, "Impersonate-Group": list("abcde")}),
            ("group alone", {"Impersonate-Group": "a"}), ("empty group alone", {"Impersonate-Group": ""}), ("groups alone", {"Impersonate-Group": ["a", "b"]}),
            ("anonymous with a group", {"Impersonate-User": "system:anonymous", "Impersonate-Group": "a"}),
            ("anonymous, authenticated", {"Impersonate-User": "system:anonymous", "Impersonate-Group": "system:authenticated"}),
            ("node with its group", {"Impersonate-User": "system:node:n", "Impersonate-Group": "system:nodes"}),
            ("account with a group", {"Impersonate-User": "system:serviceaccount:who:sa", "Impersonate-Group": "a"}),
            ("account with its groups", {"Impersonate-User": "system:serviceaccount:who:sa", "Impersonate-Group": ["system:serviceaccounts"]}),
            ("uid", {**one, "Impersonate-Uid": "u-1"}), ("another uid", {**one, "Impersonate-Uid": "u-2"}), ("uids", {**one, "Impersonate-Uid": ["u-1", "u-2"]}),
            ("uid empty", {**one, "Impersonate-Uid": ""}), ("uid alone", {"Impersonate-Uid": "u-1"}), ("uid with blanks", {**one, "Impersonate-Uid": " u "}),
            ("uid of an account", {"Impersonate-User": "system:serviceaccount:who:sa", "Impersonate-Uid": "u-1"}),
            ("uid of a node", {"Impersonate-User": "system:node:n", "Impersonate-Uid": "u-1"}), ("uid in upper case", {**one, "IMPERSONATE-UID": "u-1"}),
            ("extra", {**one, "Impersonate-Extra-K.io%2fscopes": "view"}), ("extra of two values", {**one, "Impersonate-Extra-k.io%2fscopes": ["view", "edit"]}),
            ("extra of another value", {**one, "Impersonate-Extra-k.io%2fscopes": "edit"}), ("extra without domain", {**one, "Impersonate-Extra-scopes": "view"}),
            ("extra empty", {**one, "Impersonate-Extra-k.io%2fscopes": ""}), ("extra without key", {**one, "Impersonate-Extra-": "view"}),
            ("extra without dash", {**one, "Impersonate-Extra": "view"}), ("extra alone", {"Impersonate-Extra-k.io%2fscopes": "view"}),
            ("extra badly escaped", {**one, "Impersonate-Extra-k%zz": "view"}), ("extra escaped in upper case", {**one, "Impersonate-Extra-K.IO%2FSCOPES": "view"}),
            ("extra with an escaped upper case", {**one, "Impersonate-Extra-k.io%2f%53copes": "view"}), ("extra with a slash too many", {
                **one, "Impersonate-Extra-k.io%2fa%2fb": "view"}), ("extra with a bad domain", {**one, "Impersonate-Extra-k_io%2fa": "view"}),
            ("extra with a blank", {**one, "Impersonate-Extra-k.io%2fa%20b": "view"}), ("extra without name", {**one, "Impersonate-Extra-k.io%2f": "view"}),
            ("extra in two cases", {**one, "Impersonate-Extra-k.io%2fscopes": "view", "impersonate-extra-K.io%2fscopes": "view"}),
            ("five extra values", {**one, "Impersonate-Extra-k.io%2fscopes": list("abcde")}), ("all of it", {
                **one, "Impersonate-Uid": "u-1", "Impersonate-Group": "a", "Impersonate-Extra-k.io%2fscopes": "view"}),
            ("unknown header", {**one, "Impersonate-Scopes": "x"}), ("extra of a credential", {**one, "Impersonate-Extra-authentication.kubernetes.io%2fcredential-id": "x"}),
            ("two header names", {**one, "impersonate-user": "ann"})):
        yield name, more


def of_impersonation():
    for who in ("imp-all", "imp-user", "imp-some", "imp-new", "imp-none", "admin-token", None):
        own = {"Authorization": f"Bearer {who}"} if who else {}
        for name, headers in impersonations():
            yield Case(f"{who}: {name}", {**own, **headers})
    yield Case("wrong token: user", {"Authorization": "Bearer wrong", "Impersonate-User": "bob"})
    yield Case("certificate: user", {"Impersonate-User": "bob"}, "client")


def of_impersonation_by_chance():
    r = random.Random(36)
    users = ["bob", "ann", "", "system:anonymous", "system:node:n", "system:node:m", "system:serviceaccount:who:sa", "system:serviceaccount:default:x", "imp-all"]
    for number in range(300):
        headers = {"Authorization": f"Bearer {r.choice(['imp-all', 'imp-some', 'imp-some', 'imp-new', 'imp-new', 'imp-user'])}"}
        if r.random() < 0.9:
            headers["Impersonate-User"] = r.choice(users)
        if r.random() < 0.5:
            headers["Impersonate-Group"] = [r.choice(["a", "b", "system:masters", "system:authenticated", "system:nodes", ""])
                                            for _ in range(r.choice([1, 1, 2, 3, 5]))]
        if r.random() < 0.3:
            headers["Impersonate-Uid"] = r.choice(["u-1", "u-2"])
        # One key at most: kube-apiserver goes through several in no order.
        if r.random() < 0.4:
            key = r.choice(["k.io%2fscopes", "k.io%2fscopes", "k.io%2Fother", "plain", "K.io%2fscopes"])
            headers[f"Impersonate-Extra-{key}"] = [r.choice(["view", "view", "edit", ""]) for _ in range(r.choice([1, 1, 2, 4]))]
        yield Case(f"by chance {number}", headers)
