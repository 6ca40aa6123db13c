import { afterAll, beforeAll, expect, test } from "bun:test";
import { CONSOLE, PLAY } from "../../src/http/console/table.ts";
import { ROUTED } from "../../src/http/routes.ts";
import { type ConsoleClient, signIn } from "../gateway/console-client.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// POST /console/api/reads: several reads of one session as one request.

/** As many as the console sends in one request. */
const MOST_READS = 32;

let gateway: TestGateway;
let operator: ConsoleClient;
let developer: ConsoleClient;
beforeAll(async () => {
  gateway = await startGateway();
  operator = await signIn(gateway, ADMIN_TOKEN);
  developer = await signIn(gateway, gateway.key);
  // The status tells of the last audit.
  await operator.ask("GET", "/audit");
});
afterAll(() => gateway.close());

/** The lines of the answer in the order of the reads. */
async function linesOf(client: ConsoleClient, reads: readonly string[], headers = {}): Promise<Json[]> {
  const response = await client.send("POST", "/reads", { body: { reads }, headers });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  const text = await response.text();
  expect(text).toEndWith("\n");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line): Json => JSON.parse(line));
  return lines.toSorted((one, other) => one.index - other.index);
}

/** What differs from one answer to the next. */
const steady = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (name, member: unknown) =>
      /^(request_id|uptime|memory|detail|.*_ms|.*_at|to)$/.test(name) && typeof member !== "object"
        ? null
        : member,
    ),
  );

/** Every address that may be read, with ids that exist and ids that do not. */
const ADDRESSES = (): readonly string[] => {
  const gets = ROUTED.filter(({ method, path }) => method === "get" && path.startsWith(`${CONSOLE}/`));
  const paths = gets.map(({ path }) => path).filter((path) => !path.startsWith(`${PLAY}/`));
  return [gateway.keyId, gateway.accountId, "x"].flatMap((id) =>
    paths.map((path) => path.replace(/\/:\w+(\{[^}]*\})?/g, `/${id}`)),
  );
};

test("each read of every route is answered as a GET of the same session is, also with its refusal", async () => {
  const addresses = ADDRESSES();
  expect(addresses.length).toBeGreaterThan(50);
  for (const client of [operator, developer]) {
    const statuses = new Set<number>();
    for (let at = 0; at < addresses.length; at += MOST_READS) {
      const reads = addresses.slice(at, at + MOST_READS);
      const lines = await linesOf(client, reads);
      expect(lines.map(({ index }) => index)).toEqual(reads.map((_, i) => i));
      for (const [i, { status, body, request_id }] of lines.entries()) {
        const alone = await client.ask("GET", (reads[i] ?? "").slice(CONSOLE.length));
        expect([reads[i], status, steady(body)]).toEqual([reads[i], alone.status, steady(alone.json)]);
        expect(request_id).toMatch(/^req_/);
        statuses.add(status);
      }
    }
    expect([...statuses].toSorted((one, other) => one - other)).toEqual(
      client === operator ? [200, 404] : [200, 403, 404],
    );
  }
});

test("queries go along, and a wrong one is that read's refusal alone", async () => {
  const [keys, wrong] = await linesOf(operator, [
    "/console/api/keys?limit=1",
    "/console/api/usage?group_by=user",
  ]);
  expect(keys).toMatchObject({ status: 200, body: { data: [{}] } });
  expect(wrong).toMatchObject({ status: 400, body: { error: { param: "group_by" } } });
});

test("an address that is no read of the console refuses the request, and names the place", async () => {
  const odd = [
    "/admin/v1/keys",
    "/api/v1/models",
    "/console/api/../../admin/v1/keys",
    "/console/api/%2e%2e/%2e%2e/admin/v1/keys",
    "//evil.example/console/api/keys",
    "https://evil.example/console/api/keys",
    "/console/api/play/models",
    "/console/api/%70lay/models",
    "/console/api/x/../play/videos/vid_x/content",
    "/console/api",
    "/console/api/\\..\\..\\admin/v1/keys",
    "http://[",
  ];
  for (const address of odd) {
    const body = { reads: ["/console/api/keys", address] };
    const { status, json } = await operator.ask("POST", "/reads", body);
    expect([address, status, json.error?.param]).toEqual([address, 400, "reads[1]"]);
  }
  const many = Array.from({ length: MOST_READS + 1 }, () => "/console/api/keys");
  for (const reads of [[], many, "x", [1], ["/console/api/keys?x=" + "x".repeat(5_000)]])
    expect([reads, (await operator.ask("POST", "/reads", { reads })).status]).toEqual([reads, 400]);
  // A read of reads would be a GET of a path that takes none.
  expect(await linesOf(operator, ["/console/api/reads", ""])).toMatchObject([
    { status: 405 },
    { status: 405 },
  ]);
});

test("only the session's cookie and its own marks go along", async () => {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  const [line] = await linesOf(developer, ["/console/api/status"], headers);
  expect(line).toMatchObject({ status: 403 });
});

test("a session that has ended is told so", async () => {
  const ended = await signIn(gateway, ADMIN_TOKEN);
  await ended.send("DELETE", "/session");
  const { status } = await ended.ask("POST", "/reads", { reads: ["/console/api/keys"] });
  expect(status).toBe(401);
});

test("a large answer comes whole beside small ones", async () => {
  for (let at = 0; at < 400; at += 1)
    await gateway.admin("POST", "/accounts", { name: `${at} ${"ä\n".repeat(90)}` });
  const path = "/console/api/accounts?limit=1000";
  const [accounts, session] = await linesOf(operator, [path, "/console/api/session"]);
  expect(accounts?.body).toEqual((await operator.ask("GET", path.slice(CONSOLE.length))).json);
  expect(accounts?.body.data.length).toBeGreaterThan(400);
  expect(session?.body.role).toBe("operator");
});
