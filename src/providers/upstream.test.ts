import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createAuthority } from "../../test/outbound/certificates.ts";
import { type Answer, jsonAnswer } from "../../test/upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../../test/upstream/double.ts";
import { answerAtOnce, neverRead, resetUpload } from "../../test/upstream/admission.ts";
import { createGate } from "../../test/upstream/gate.ts";
import { redirectTo, resetAt } from "../../test/upstream/faults.ts";
import { handOver } from "../core/handover.ts";
import { GatewayError } from "../core/errors.ts";
import type { Hold } from "../core/money/hold.ts";
import { type CallFault, callFault, callUpstream, isRedirect, type UpstreamCall } from "./upstream.ts";

const KEY = "Bearer sk-canary-0123456789";
const hold = {} as Hold;

let double: UpstreamDouble;
let other: UpstreamDouble;
beforeAll(async () => {
  double = await startUpstreamDouble();
  other = await startUpstreamDouble();
});
afterAll(async () => {
  await double.close();
  await other.close();
});
beforeEach(() => {
  double.reset();
  other.reset();
  double.handle(() => jsonAnswer(200, { ok: true }, { headers: [["x-told", "yes"]] }));
  other.handle(() => jsonAnswer(200, {}));
});

const call = (path: string, more: Partial<UpstreamCall> = {}) =>
  callUpstream(hold, {
    provider: { baseUrl: `${double.url}/api/v1`, headers: { authorization: KEY } },
    path,
    headers: {},
    stream: false,
    signal: new AbortController().signal,
    ...more,
  });

describe("a call to a provider", () => {
  test("goes to a path under its address, or to a whole URL of its own", async () => {
    await call("/tasks/1");
    await call(`${double.url}/elsewhere?x=1`);
    expect(double.requests.map(({ target }) => target)).toEqual(["/api/v1/tasks/1", "/elsewhere?x=1"]);
    expect(double.requests.every((request) => request.header("authorization") === KEY)).toBe(true);
  });

  test("takes its credential to no other server, however it is named", async () => {
    const { port } = double;
    for (const path of [
      `${other.url}/x`,
      `http://127.0.0.1:${port}@127.0.0.1:${other.port}/x`,
      `http://user:pass@127.0.0.1:${port}/x`,
      `http://localhost:${port}/x`,
      `https://127.0.0.1:${port}/x`,
      `@127.0.0.1:${other.port}/x`,
      `127.0.0.1:${other.port}/x`,
      "x",
      "",
      "file:///etc/passwd",
    ]) {
      const error: unknown = await call(path).catch((thrown: unknown) => thrown);
      expect([path, error instanceof GatewayError && error.operatorFault]).toEqual([path, true]);
    }
    double.handle(() => redirectTo(`${other.url}/x`, 307));
    expect((await call("/a")).status).toBe(307);
    expect(other.requests).toHaveLength(0);
    expect(double.requests).toHaveLength(1);
  });

  test("with a large body is one request of its length, and the body is let go of once it was sent", async () => {
    const body = Uint8Array.from({ length: 3_000_001 }, (_, i) => i % 251);
    let sent = 0;
    const answer = await call("/a", { body: handOver([body]), onSent: () => (sent += 1) });
    const [request] = double.requests;
    expect([answer.status, sent]).toEqual([200, 1]);
    expect(request?.header("content-length")).toBe("3000001");
    expect(request?.header("transfer-encoding")).toBeUndefined();
    expect(Buffer.compare(request?.body ?? new Uint8Array(), body)).toBe(0);
  });

  test("whose large body nobody takes is ended by an answer, a reset or its caller, and the body is let go of", async () => {
    const body = new Uint8Array(30_000_000);
    let sent = 0;
    const send = (signal = new AbortController().signal) =>
      call("/a", { body: handOver([body]), onSent: () => (sent += 1), signal });
    double.admit(() => answerAtOnce(jsonAnswer(413, { error: "large" })));
    expect((await send()).status).toBe(413);
    double.admit(() => resetUpload(1_000_000));
    expect(callFault(await send().catch((error: unknown) => error))).toBe("not_sent");
    const controller = new AbortController();
    const gate = createGate();
    double.admit(() => neverRead(gate));
    const waiting = send(controller.signal).catch((error: unknown) => error);
    await double.waitForRequest(3);
    controller.abort(new Error("left"));
    expect(await waiting).toEqual(new Error("left"));
    gate.release();
    expect(sent).toBe(3);
  });

  test("has its method, and a content type where it has a body", async () => {
    for (const method of ["GET", "DELETE", "PUT", "POST"] as const)
      await call("/a", {
        method,
        ...(method === "GET" ? {} : { body: handOver([new TextEncoder().encode("{}")]) }),
      });
    expect(double.requests.map((request) => [request.method, request.header("content-type")])).toEqual([
      ["GET", undefined],
      ["DELETE", "application/json"],
      ["PUT", "application/json"],
      ["POST", "application/json"],
    ]);
  });

  test("tells headers of the answer", async () => {
    expect((await call("/a")).header("X-Told")).toBe("yes");
  });
});

test("an answer leads elsewhere by a status from 300 to 399", () => {
  const statuses = [200, 299, 300, 301, 302, 307, 308, 399, 400, 500];
  expect(statuses.filter(isRedirect)).toEqual([300, 301, 302, 307, 308, 399]);
});

describe("what became of a call that was not answered", () => {
  const faultOf = (path: string, more: Partial<UpstreamCall> = {}) =>
    call(path, more)
      .then((answer) => answer.readAll(100))
      .then(
        () => "answered",
        (error: unknown) => callFault(error),
      );

  test("nobody is there", async () => {
    const gone = await startUpstreamDouble();
    await gone.close();
    const provider = { headers: {}, baseUrl: gone.url };
    expect(await faultOf("/a", { provider })).toBe("not_sent");
    expect(await faultOf("/a", { provider: { ...provider, baseUrl: "http://nowhere.invalid" } })).toBe(
      "not_sent",
    );
  });

  test("its server has a certificate that nobody vouches for: only the operator can mend that", async () => {
    const { promise: listening, resolve } = Promise.withResolvers<void>();
    const server = createServer(createAuthority().issue(["127.0.0.1"]));
    server.on("tlsClientError", () => {}).listen(0, "127.0.0.1", resolve);
    await listening;
    const provider = { headers: {}, baseUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const error: unknown = await call("/a", { provider }).catch((thrown: unknown) => thrown);
    expect([callFault(error), (error as GatewayError).operatorFault]).toEqual(["untrusted", true]);
    server.close();
  });

  const answers: readonly [name: string, answer: Answer, want: CallFault][] = [
    ["it was reset before the answer", resetAt(jsonAnswer(200, {}), "start"), "unknown"],
    ["it was reset in the answer", resetAt(jsonAnswer(200, { a: "x".repeat(50) }), 20), "unknown"],
    ["its answer is too large", jsonAnswer(200, { a: "x".repeat(200) }), "too_large"],
    [
      "its answer is too large, and has no length",
      jsonAnswer(200, { a: "x".repeat(200) }, { framing: "chunked" }),
      "too_large",
    ],
    [
      "its answer is too large, and comes in chunks beside a length",
      jsonAnswer(200, { a: "x".repeat(200) }, { framing: "chunked", headers: [["content-length", "5"]] }),
      "too_large",
    ],
  ];
  for (const [name, answer, want] of answers)
    test(name, async () => {
      double.handle(() => answer);
      expect<string>(await faultOf("/a")).toBe(want);
    });

  for (const [code, want] of [
    ["CERT_HAS_EXPIRED", "untrusted"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "untrusted"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "untrusted"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "untrusted"],
    ["EPROTO", "untrusted"],
    ["ECONNREFUSED", "not_sent"],
    ["ENOTFOUND", "not_sent"],
    ["ECONNRESET", "unknown"],
    ["ETIMEDOUT", "unknown"],
  ] as const) {
    test(`the runtime says ${code}`, () => {
      const cause = Object.assign(new Error("no"), { code });
      expect(callFault(new GatewayError("upstream_error", "no", { cause }))).toBe(want);
    });
  }
});
