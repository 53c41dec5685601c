# SPDX-License-Identifier: Apache-2.0

"""Generates CEL expressions of a wanted type, now and then of a wrong one. An expression is made of templates: in
"{int} + {int}" each hole becomes an expression of that type."""

import re

LEAVES = {
    "int": ["0", "1", "-1", "2", "3", "7", "42", "100", "9223372036854775807", "-9223372036854775808", "0x1F", "-0x80"],
    "uint": ["0u", "1u", "3u", "18446744073709551615u", "0xFFu"],
    "double": ["0.0", "1.5", "-2.25", "1e100", "3.0", "0.1", "1e-7", "123456789.0", "-0.0", "1e21", "1.0e6", "double('NaN')", "double('Infinity')", "double('-inf')"],
    "bool": ["true", "false"],
    "string": ["''", "'a'", "'abc'", "'Hello World'", "\"it's\"", "'tab\\there'", "'\\u00e9\\U0001F600'", "'-1'", "'3'", "'1.5'", "'true'", "'1Gi'", "'10.0.0.1'", "'::ffff:1.2.3.4'", "'10.0.0.0/8'",
               "'fe80::1'", "'https://u:p@a.test:8080/p/q?x=1&x=2&y#f'", "'a.b-c'", "'1.2.3-rc.1+b'", "'2024-02-29T23:59:59.5Z'", "'1h30m5.25s'", "r'\\d+'", "'[a-c]+'", "'a,b,,c'", "'  pad '", "'ÀÉ'", "'nan'"],
    "bytes": ["b''", "b'abc'", "b'\\xff\\x00'", "bytes('é')"],
    "null": ["null"],
    "timestamp": ["timestamp('2024-02-29T23:59:59.5Z')", "timestamp('1970-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z')", "timestamp('0001-01-01T00:00:00Z')", "timestamp(1700000000)"],
    "duration": ["duration('1h30m5.25s')", "duration('-90s')", "duration('0s')", "duration('1ms')", "duration('100000h')"],
    "list": ["[]", "[1, 2, 3]", "['a', 'b', 'a']", "[1.5, 2.0]", "[true]", "[[1], [2, 3]]", "[1, 'x', null]", "[{'k': 1}]", "[3, 1, 2]"],
    "map": ["{}", "{'a': 1, 'b': 2}", "{'a': 'x'}", "{1: 'one', 2: 'two'}", "{'n': null}", "{true: 1}", "{'m': {'a': 1}}", "{1u: 2}"],
    "optional": ["optional.none()", "optional.of(1)", "optional.of('x')", "optional.ofNonZeroValue('')", "optional.ofNonZeroValue(5)"],
    "quantity": ["quantity('1Gi')", "quantity('500m')", "quantity('-1.5k')", "quantity('0')", "quantity('1e3')", "quantity('12345678901234567890')"],
    "ip": ["ip('10.0.0.1')", "ip('::1')", "ip('fe80::1')", "ip('224.0.0.1')", "ip('0.0.0.0')"],
    "cidr": ["cidr('10.0.0.0/8')", "cidr('10.1.2.3/16')", "cidr('2001:db8::/32')", "cidr('0.0.0.0/0')"],
    "url": ["url('https://u:p@a.test:8080/p/q?x=1&x=2&y#f')", "url('/only/path?q=%20a')", "url('http://[::1]:80')", "url('https://a.test')"],
    "semver": ["semver('1.2.3')", "semver('1.2.3-rc.1+b')", "semver('v1.0', true)", "semver('0.0.0')"],
    "type": ["int", "string", "list", "map", "type(1)", "type(null)", "bytes", "google.protobuf.Timestamp", "type({'a': 1})", "type(type(1))"],
}

TEMPLATES = {
    "int": ["{int} + {int}", "{int} - {int}", "{int} * {int}", "{int} / {int}", "{int} % {int}", "-{int}", "-({int})", "size({string})", "size({list})", "{map}.size()", "size({bytes})", "{string}.size()", "int({double})", "int({uint})",
            "int({string})", "int({timestamp})", "{bool} ? {int} : {int}", "{string}.indexOf({string})", "{string}.lastIndexOf({string})", "{string}.indexOf({string}, {int})", "{list}.indexOf({any})", "{list}.lastIndexOf({any})",
            "{timestamp}.getFullYear()", "{timestamp}.getMonth()", "{timestamp}.getDayOfYear()", "{timestamp}.getDayOfMonth()", "{timestamp}.getDate('+05:30')", "{timestamp}.getDayOfWeek()", "{timestamp}.getHours('America/New_York')",
            "{timestamp}.getMilliseconds()", "{duration}.getHours()", "{duration}.getMinutes()", "{duration}.getSeconds()", "{duration}.getMilliseconds()", "{quantity}.asInteger()", "{quantity}.sign()", "{quantity}.compareTo({quantity})",
            "{ip}.family()", "{cidr}.prefixLength()", "{semver}.major()", "{semver}.patch()", "{semver}.compareTo({semver})", "[{int}, {int}].sum()", "[{int}, {int}].min()", "{list}[{int}]", "[{int}, {int}].max()", "({int})", "cel.bind(x, {int}, x * x)",
            "{optional}.orValue({int})", "{map}['a']", "{list}.map(e, size(e))[0]", "math.greatest({int}, {int})", "dyn({list}).sum()", "[dyn({any}), {any}].max()", "dyn({list}).min()", "dyn({any}) + {int}"],
    "uint": ["{uint} + {uint}", "{uint} - {uint}", "{uint} * {uint}", "{uint} / {uint}", "{uint} % {uint}", "uint({int})", "uint({string})", "uint({double})", "{bool} ? {uint} : {uint}"],
    "double": ["{double} + {double}", "{double} - {double}", "{double} * {double}", "{double} / {double}", "-{double}", "double({int})", "double({string})", "double({uint})", "{quantity}.asApproximateFloat()", "[{double}, {double}].sum()", "{bool} ? {double} : {double}",
               "{double} % {double}"],
    "bool": ["{int} {cmp} {int}", "{int} {cmp} {double}", "{uint} {cmp} {int}", "{double} {cmp} {double}", "{string} {cmp} {string}", "{bytes} {cmp} {bytes}", "{timestamp} {cmp} {timestamp}", "{duration} {cmp} {duration}", "{bool} {cmp} {bool}",
             "{any} == {any}", "{any} != {any}", "{list} == {list}", "{map} == {map}", "{type} == {type}", "type({any}) == {type}", "{optional} == {optional}", "{bool} && {bool}", "{bool} || {bool}", "!{bool}", "!({bool})", "{any} in {list}", "{string} in {map}", "{int} in {map}",
             "{string}.startsWith({string})", "{string}.endsWith({string})", "{string}.contains({string})", "{string}.matches({string})", "matches({string}, {string})", "{list}.all(e, {e})", "{list}.exists(e, {e})", "{list}.exists_one(e, {e})", "{map}.all(e, {e})", "{map}.exists(e, v, {e})",
             "{list}.all(i, e, {e})", "{list}.existsOne(i, e, {e})", "bool({string})", "{bool} ? {bool} : {bool}", "has({map}.a)", "has({map}.m.a)", "{list}.isSorted()", "isURL({string})", "isIP({string})", "isCIDR({string})", "isQuantity({string})", "isSemver({string})",
             "isSemver({string}, {bool})", "ip.isCanonical({string})", "{ip}.isLoopback()", "{ip}.isUnspecified()", "{ip}.isGlobalUnicast()", "{ip}.isLinkLocalUnicast()", "{ip}.isLinkLocalMulticast()", "{cidr}.containsIP({ip})", "{cidr}.containsIP({string})", "{cidr}.containsCIDR({cidr})", "{cidr}.containsCIDR({string})",
             "{cidr} == {cidr}", "{ip} == {ip}", "{quantity} == {quantity}", "{url} == {url}", "{semver} == {semver}", "{quantity}.isGreaterThan({quantity})", "{quantity}.isLessThan({quantity})", "{quantity}.isInteger()", "{semver}.isLessThan({semver})", "{semver}.isGreaterThan({semver})",
             "{optional}.hasValue()", "sets.contains({list}, {list})", "sets.intersects({list}, {list})", "sets.equivalent({list}, {list})", "format.dns1123Label().validate({string}).hasValue()", "format.{format}().validate({string}).hasValue()", "format.named({string}).hasValue()",
             "({bool})", "{any} {cmp} {any}", "cel.bind(x, {any}, x == x)", "{null} == {any}", "[{any}, {any}].isSorted()", "dyn({list}).isSorted()"],
    "string": ["{string} + {string}", "string({int})", "string({uint})", "string({double})", "string({bool})", "string({bytes})", "string({timestamp})", "string({duration})", "string({any})", "string({quantity})", "string({ip})", "string({cidr})", "string({semver})", "{bool} ? {string} : {string}",
               "{string}.replace({string}, {string})", "{string}.replace({string}, {string}, {int})", "{string}.substring({int})", "{string}.substring({int}, {int})", "{string}.charAt({int})", "{string}.lowerAscii()", "{string}.upperAscii()", "{string}.trim()", "{string}.split({string})[0]",
               "{string}.reverse()", "strings.quote({string})", "{string}.find({string})", "{list}.join({string})", "{list}.join()", "{string}.split({string}).join('|')", "{url}.getScheme()", "{url}.getHost()", "{url}.getHostname()", "{url}.getPort()", "{url}.getEscapedPath()", "{ip}.string()",
               "'%s'.format([{any}])", "'%d|%x|%o'.format([{int}, {int}, {int}])", "'%.2f %e'.format([{double}, {double}])", "'%b %X'.format([{int}, {string}])", "'%s %s'.format([{any}])", "'%s'.format([{list}])", "'%s'.format([{map}])", "'%z'.format([1])", "'%e %f'.format(['NaN', 'Infinity'])", "'%s %%'.format([{any}])", "'%b'.format([{bool}])", "'%X %x'.format([{bytes}, {string}])", "'%d|%x|%b|%o'.format([{uint}, {uint}, {uint}, {uint}])", "'%.0f|%.1f|%.10f'.format([{double}, {double}, {double}])", "'%e %.2e %.12e'.format([{double}, {double}, {double}])", "'%x'.format([{string}])", "'%s'.format([{type}])",
               "{map}.a", "{list}[{int}]", "{optional}.orValue({string})", "cel.bind(x, {string}, x + x)", "'%f'.format([{double}])", "'%s'.format([{timestamp}])", "'%s'.format([{duration}])", "'%s'.format([{double}])", "{url}.getQuery()['x'].join('&')", "base64.encode({bytes})"],
    "bytes": ["bytes({string})", "{bytes} + {bytes}", "{bool} ? {bytes} : {bytes}", "base64.decode({string})"],
    "timestamp": ["{timestamp} + {duration}", "{timestamp} - {duration}", "timestamp({string})", "timestamp({int})", "{duration} + {timestamp}", "{bool} ? {timestamp} : {timestamp}"],
    "duration": ["{timestamp} - {timestamp}", "{duration} + {duration}", "{duration} - {duration}", "duration({string})", "duration({int})"],
    "list": ["[{any}, {any}]", "[{int}, {int}]", "[{string}, {string}]", "{list} + {list}", "{list}.filter(e, {e})", "{list}.map(e, {any})", "{list}.map(e, {e}, {any})", "{string}.split({string})", "{string}.split({string}, {int})", "{string}.findAll({string})", "{string}.findAll({string}, {int})",
             "{list}.map(e, e)", "{map}.map(k, k)", "{list}.transformList(i, e, i)", "{map}.transformList(k, v, v)", "[{bool} ? {int} : {int}]", "[?{optional}, {int}]", "{url}.getQuery()['x']", "{list}.slice({int}, {int})", "{list}.flatten()", "{list}.sort()", "{list}.distinct()", "{list}.reverse()", "lists.range({int} % 1000)",
             "{optional}.optMap(x, [x]).orValue([])", "{list}.sortBy(e, e)", "{list}.first().hasValue() ? {list} : []"],
    "map": ["{{'a': {any}}}", "{{{string}: {any}}}", "{{{int}: {any}, {int}: {any}}}", "{url}.getQuery()", "{list}.transformMap(i, e, e)", "{map}.transformMap(k, v, v)", "{map}.transformMap(k, v, {e}, v)", "{bool} ? {map} : {map}", "{map}.transformMapEntry(k, v, {{v: k}})", "{{?'a': {optional}}}"],
    "optional": ["optional.of({any})", "{map}[?'a']", "{map}.?a", "{map}.?m.?a", "{list}[?{int}]", "{optional}.or({optional})", "{optional}.optMap(x, {any})", "{optional}.optFlatMap(x, optional.of(x))", "optional.ofNonZeroValue({any})", "format.named({string})", "format.{format}().validate({string})", "{list}.first()", "optional.unwrap({list})"],
    "quantity": ["quantity({string})", "{quantity}.add({quantity})", "{quantity}.sub({quantity})", "{quantity}.add({int})", "{quantity}.sub({int})"],
    "ip": ["ip({string})", "{cidr}.ip()"],
    "cidr": ["cidr({string})", "{cidr}.masked()"],
    "url": ["url({string})"],
    "semver": ["semver({string})", "semver({string}, {bool})"],
    "type": ["type({any})"],
}
TYPES = sorted(TEMPLATES)
COMMON = ["int", "string", "bool", "list", "map", "double"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
FORMATS = ["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime", "nothing"]
HOLE = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class Grammar:
    """`leaves`: more expressions by type, of the variables that there are. Thread: one."""

    def __init__(self, random, leaves):
        self.random, self.leaves = random, leaves

    def expression(self, type_, depth):
        if self.random.random() < 0.03:
            type_ = self.random.choice(TYPES)
        if type_ == "any":
            type_ = self.random.choice(COMMON if self.random.random() < 0.7 else TYPES)
        if type_ == "cmp":
            return self.random.choice(COMPARISONS)
        if type_ == "format":
            return self.random.choice(FORMATS)
        if type_ == "e":
            return self.of_element(depth)
        if depth <= 0 or type_ not in TEMPLATES or self.random.random() < 0.15:
            return self.leaf(type_)
        return HOLE.sub(lambda hole: hole[0][0] if hole[1] is None else self.expression(hole[1], depth - 1), self.random.choice(TEMPLATES[type_]))

    def leaf(self, type_):
        own = self.leaves.get(type_, [])
        return self.random.choice(own if own and self.random.random() < 0.6 else LEAVES.get(type_, ["null"]))

    def of_element(self, depth):
        """A condition about the element `e` of a comprehension."""
        return self.random.choice([lambda: "e == " + self.expression("any", depth - 1), lambda: "e > " + self.leaf("int"), lambda: "size(e) > 0", lambda: "e.startsWith('a')",
                                   lambda: "e in " + self.expression("list", depth - 1), lambda: "type(e) == int", lambda: self.expression("bool", depth - 1), lambda: "e != null && " + self.expression("bool", 0)])()
