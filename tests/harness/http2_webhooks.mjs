// SPDX-License-Identifier: Apache-2.0

// A server of HTTP/2 and HTTP/1.1 that answers what a kubeconfig leads to: audit events, token reviews, access reviews and
// image reviews. It prints its port, then a line for each request: path, version of HTTP, number of the connection.
//
//     node http2_webhooks.mjs CERTIFICATE KEY

import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const [certificate, key] = process.argv.slice(2);
const STATUS = {
  TokenReview: (spec) => ({ authenticated: spec.token === "known", user: { username: "ann", uid: "1" } }),
  SubjectAccessReview: () => ({ allowed: true }),
  ImageReview: (spec) => ({ allowed: spec.containers.every((container) => container.image !== "refused") }),
};

const connections = new Map();
const server = createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key), allowHTTP1: true }, (request, response) => {
  const connection = request.stream?.session ?? request.socket;
  if (!connections.has(connection)) connections.set(connection, connections.size + 1);
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const { kind, apiVersion, spec } = JSON.parse(Buffer.concat(pieces));
    console.log(`${request.url.split("?")[0]} ${request.httpVersion} ${connections.get(connection)}`);
    response.setHeader("Content-Type", "application/json");
    response.end(STATUS[kind] ? JSON.stringify({ kind, apiVersion, status: STATUS[kind](spec) }) : "");
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
