import { afterAll, beforeAll, expect, test } from "bun:test";
import { describeOnEngineOfSuite } from "../gateway/engines.ts";
import { ADMIN_TOKEN, type Json } from "../gateway/gateway.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import { type Bank, openBank, statement, unitBody } from "./money.ts";

// Both engines refuse alike text that a store cannot keep as it is (a NUL, half of a surrogate pair). Wherever else it
// comes from it is no failure of ours.

const ODD = [
  { name: "a NUL", text: "a\\u0000b" },
  { name: "a high surrogate alone", text: "a\\ud800b" },
  { name: "a low surrogate alone", text: "\\udc00" },
] as const;

const UNPAIRED = /[\0\ud800-\udfff]/;

describeOnEngineOfSuite("text that cannot be stored", (engine) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank(engine, { credits: 100 });
  });
  afterAll(() => bank.close());

  /** Sends a body as it is written here, escapes and all. */
  const send = async (method: string, path: string, body: string) => {
    const response = await fetch(`${bank.gateway.url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      body,
    });
    return { status: response.status, json: (await response.json()) as Json };
  };

  for (const { name, text } of ODD) {
    const bodies: readonly [string, () => string, (account: string) => string, string][] = [
      ["POST", () => "/accounts", () => `{"name":"${text}"}`, "name"],
      ["POST", () => "/keys", (account) => `{"account_id":"${account}","name":"${text}"}`, "name"],
      ["POST", () => "/keys", () => `{"account_id":"${text}","name":"k"}`, "account_id"],
      [
        "POST",
        () => "/keys",
        (account) => `{"account_id":"${account}","name":"k","models":["a","${text}"]}`,
        "models[1]",
      ],
      ["PATCH", () => `/keys/${bank.gateway.keyId}`, () => `{"name":"${text}"}`, "name"],
      ["PATCH", () => `/keys/${bank.gateway.keyId}`, () => `{"models":["${text}"]}`, "models[0]"],
      [
        "POST",
        () => `/accounts/${bank.gateway.accountId}/credits`,
        () => `{"amount":1,"reason":"${text}"}`,
        "reason",
      ],
      [
        "POST",
        () => `/accounts/${bank.gateway.accountId}/credits`,
        () => `{"amount":1,"reason":"r","idempotency_key":"${text}"}`,
        "idempotency_key",
      ],
    ];
    for (const [method, path, body, param] of bodies) {
      const where = path.toString().replace(/^.*[`"]\/(\w+).*$/s, "$1");
      test(`${name} in ${param} of ${method} ${where} is a 400 that names it`, async () => {
        const before = await bank.gateway.account();
        const answer = await send(method, path(), body(bank.gateway.accountId));
        expect(answer).toMatchObject({
          status: 400,
          json: { error: { type: "invalid_request_error", param } },
        });
        expect(answer.json.error.message).not.toMatch(UNPAIRED);
        expect(await bank.gateway.account()).toEqual(before);
      });
    }

    test(`${name} as the name of an unknown member is a 400`, async () => {
      expect((await send("POST", "/accounts", `{"name":"a","${text}":1}`)).status).toBe(400);
    });

    for (const [path, model, fields, param] of [
      ["/api/v1/images/generations", "openai/gpt-image-2", `"prompt":"${text}"`, "prompt"],
      ["/api/v1/videos", "alibaba/wan-2.6", `"prompt":"${text}"`, "prompt"],
      [
        "/api/v1/videos",
        "alibaba/wan-2.6",
        `"prompt":"a kite","negative_prompt":"${text}"`,
        "negative_prompt",
      ],
    ] as const)
      test(`${name} in ${param} of ${path} is a 400 that names it`, async () => {
        const before = await bank.gateway.account();
        const answer = await bank.gateway.post(path, `{"model":"${model}",${fields}}`);
        const { error } = (await answer.json()) as Json;
        expect([answer.status, error.type, error.param]).toEqual([400, "invalid_request_error", param]);
        expect(error.message).not.toMatch(UNPAIRED);
        expect(await bank.gateway.account()).toEqual(before);
      });

    test(`${name} in a chat request is no failure of ours, and goes up as it came`, async () => {
      const sent = bank.double.requests.length;
      const body = JSON.stringify(unitBody(1)).replace('"hi"', `"${text}"`);
      const answer = await bank.gateway.chat(body);
      expect([200, 400]).toContain(answer.status);
      if (answer.status === 200) expect(bank.double.requests[sent]?.bodyText).toContain(text);
      const asModel = await bank.gateway.chat(body.replace("bank/unit", text));
      expect(asModel.status).toBe(400);
    });
  }

  test("whole characters of every plane are kept as they are", async () => {
    const text = "\u0001 é 漢 😀 \uffff \u{10ffff}";
    const { json: account } = await bank.gateway.admin("POST", "/accounts", { name: text });
    expect((await bank.gateway.admin("GET", `/accounts/${account.id}`)).json.name).toBe(text);
    const grant = { amount: 1, reason: text, idempotency_key: text };
    for (let i = 0; i < 2; i += 1)
      expect((await bank.gateway.admin("POST", `/accounts/${account.id}/credits`, grant)).json.balance).toBe(
        1,
      );
    expect((await statement(bank.gateway, account.id)).map((entry) => entry.reason)).toEqual([text]);
  });

  const long = "x".repeat(600);
  for (const id of [
    "%00",
    "a%00b",
    `${long}%00`,
    "%ED%A0%80",
    "%ff",
    `${long}%ff`,
    "%EF%BF%BF",
    "%F0%9F%98%80",
    `${long}%E2%82%AC`,
  ]) {
    test(`${id.replace(long, "a long id and ")} in a path is the caller's fault`, async () => {
      for (const [method, path, body] of [
        ["GET", `/admin/v1/accounts/${id}`, undefined],
        ["GET", `/admin/v1/accounts/${id}/ledger`, undefined],
        ["POST", `/admin/v1/accounts/${id}/credits`, '{"amount":1,"reason":"r"}'],
        ["PATCH", `/admin/v1/keys/${id}`, '{"name":"n"}'],
        ["DELETE", `/admin/v1/keys/${id}`, undefined],
        ["GET", `/api/v1/models/${id}`, undefined],
      ] as const) {
        const response = await fetch(bank.gateway.url + path, {
          method,
          headers: {
            authorization: `Bearer ${path.startsWith("/api") ? bank.gateway.key : ADMIN_TOKEN}`,
            "content-type": "application/json",
          },
          ...(body === undefined ? {} : { body }),
        });
        expect([400, 404]).toContain(response.status);
        await response.arrayBuffer();
      }
    });
  }

  for (const query of [
    "after=%00",
    "after=%ED%A0%80",
    "after=999999999999999999",
    "after=9%00",
    "limit=%00",
    "limit=1%00",
  ]) {
    test(`?${query} is no failure of ours`, async () => {
      for (const list of ["accounts", "keys", `accounts/${bank.gateway.accountId}/ledger`])
        expect((await bank.gateway.admin("GET", `/${list}?${query}`)).status).toBeLessThan(500);
    });
  }

  for (const line of [
    "x-api-key: sk-\x00abc",
    "x-api-key: sk-\xff\xfe",
    "authorization: Bearer \xed\xa0\x80",
    "x-request-id: a\x00b",
    "x-request-id: \xff",
    "x-idempotency-key: \xff",
  ]) {
    test(`the header ${JSON.stringify(line)} is no failure of ours`, async () => {
      const client = await openRawClient(bank.gateway.url);
      const key =
        line.includes("sk-") || line.startsWith("auth")
          ? ""
          : `authorization: Bearer ${bank.gateway.key}\r\n`;
      client.send(
        Buffer.from(
          `GET /api/v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${key}${line}\r\n\r\n`,
          "latin1",
        ),
      );
      await client.ended();
      const status = Number(new TextDecoder().decode(client.received()).split(" ")[1]);
      expect(status).toBeGreaterThanOrEqual(200);
      expect(status).toBeLessThan(500);
    });
  }
});
