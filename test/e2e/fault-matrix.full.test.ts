import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FORMAT_CLIENTS, jsonEvents } from "../gateway/format-clients.ts";
import { endOf, ENDS } from "./fault-ends.ts";
import { BEFORE, CALLS, type Row } from "./fault-matrix-rows.ts";
import { DURING, TAKEN } from "./fault-matrix-streams.ts";
import { type Case, casesOf, countsOf, type FaultStation, openFaultStation } from "./fault-station.ts";

// Each fault of a provider, for each endpoint of language models and embeddings, plain and streamed, relayed and
// translated. The gateway has the settings that it has by itself. The tests check what the client is told and pays.
// They check how often and by which way the request was sent, and how the way stands afterwards. Tokens that are
// counted are the gateway's own count then.

const ROWS = BEFORE.flatMap((row, i) => {
  const both = CALLS[row.calls].includes("b1" as never) ? [false, true] : [false];
  return both.map((isAll) => ({ row, isAll, cases: casesOf(`r${i}${isAll ? "all" : ""}`, row.only) }));
});
const COUNTED = BEFORE.filter(({ only }) => only !== "stream").map((row, i) => ({
  row,
  cases: countsOf(`c${i}`),
}));
const STREAMS = DURING.map((row, i) => ({
  row,
  cases: casesOf(`s${i}`, "stream").filter(({ spoken }) => row.not?.includes(spoken) !== true),
}));
const SERVED = TAKEN.map((row, i) => ({
  row,
  cases: casesOf(`t${i}`, row.only),
  counts: row.isCounted === true ? [] : countsOf(`t${i}`),
}));

let station: FaultStation;
const table: string[] = [];

beforeAll(async () => {
  const served = SERVED.flatMap(({ cases, counts }) => [...cases, ...counts]);
  station = await openFaultStation([
    ...[...ROWS, ...COUNTED, ...STREAMS].flatMap(({ cases }) => cases),
    ...served,
  ]);
});
afterAll(async () => {
  const { json } = await station.gateway.admin("GET", "/audit");
  expect(json.ok).toBe(true);
  await station.close();
  console.log(`\n${table.join("\n")}\n`);
});

/** A line of the table: what the client is told, by which credentials it was sent, how the first way stands then. */
function print(
  { id, name }: Pick<Row, "id" | "name">,
  told: string,
  sent: readonly string[],
  state: readonly unknown[],
  rest: string,
): void {
  const cells = [id.padEnd(4), name.padEnd(34), told.padEnd(26), sent.join(" ").padEnd(9)];
  table.push([...cells, state.join(" ").padEnd(28), rest].join(" "));
}

const isWhole = (text: string): boolean => text.includes("lo.") || text.includes("[1,0]");

/** One request, and all that the matrix asks of it. */
async function asked(one: Case) {
  const { balance } = await station.gateway.account();
  const response = await station.ask(one);
  const text = await response.text();
  return {
    response,
    text,
    spent: await station.spent(balance),
    calls: station.calls(),
    state: await station.stateOf(one),
  };
}

describe("before content", () => {
  for (const { row, isAll, cases } of ROWS) {
    const { id, name, want, state } = row;
    const sent = CALLS[row.calls];
    const isServed = !isAll && sent.includes("b1" as never);
    const told = isServed ? "another way serves" : want.join(" ");
    test(`${id} ${name}${isAll ? ", everywhere" : ""}: ${told}`, async () => {
      const logged = station.gateway.logs.length;
      for (const one of cases) {
        const fault = () => row.answer(one.spoken, one.stream);
        station.answers(one, fault, isAll ? fault : undefined);
        await station.earn(sent.length - 1);
        const { response, text, ...saw } = await asked(one);
        const said = isServed ? isWhole(text) : JSON.parse(text).error?.type;
        expect([one.name, response.status, said, saw]).toEqual([
          one.name,
          isServed ? 200 : want[0],
          isServed ? true : want[1],
          { spent: isServed ? 0.2 : 0, calls: [...sent], state: [...state] },
        ]);
        expect(text).not.toContain("0123456789");
        expect(response.headers.get("x-request-id")).toStartWith("req_");
        if (want[0] === 503 && !isServed)
          expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 61);
        if (want[0] === 400 && !isServed) {
          const { headers } = response;
          expect([headers.get("x-should-retry"), headers.get("retry-after")]).toEqual(["false", null]);
          expect(text).not.toContain("org-1");
        }
      }
      expect(JSON.stringify(station.gateway.logs.slice(logged))).not.toMatch(/Say hello|0123456789/);
      if (isAll || !isServed) print(row, told, sent, state, `${cases.length} ways of asking`);
    });
  }
});

describe("of a count of tokens", () => {
  for (const { row, cases } of COUNTED)
    test(`${row.id} ${row.name}: the gateway counts itself`, async () => {
      for (const one of cases) {
        station.answers(one, () => row.answer(one.spoken, false));
        const { response, text, ...saw } = await asked(one);
        expect([one.name, response.status, response.headers.get("x-switchyard-estimate"), saw]).toEqual([
          one.name,
          200,
          "true",
          { spent: 0, calls: ["a1"], state: ["healthy", 0, null] },
        ]);
        expect(text).not.toContain("0123456789");
      }
      print(row, "our own count", ["a1"], ["healthy", 0], `${cases.length} formats that count`);
    });
});

describe("behind content", () => {
  for (const { row, cases } of STREAMS) {
    const { id, name, broken, text = "Hello.", credit, state } = row;
    const end = broken === undefined ? "whole" : "broken";
    test(`${id} ${name}: ${broken ?? end}`, async () => {
      for (const one of cases) {
        const fault = () => row.answer(one.spoken);
        station.answers(one, fault, fault);
        const { response, text: bytes, spent, ...saw } = await asked(one);
        const events = jsonEvents(bytes);
        const format = one.format as keyof typeof FORMAT_CLIENTS;
        const client = FORMAT_CLIENTS[format];
        // Responses has one word for all.
        const reason = broken !== undefined && format === "responses" ? '"response.failed"' : broken;
        const isRelayed = format === "messages" && one.spoken === format;
        const wantedEnd = ENDS[format][end].flatMap((event) =>
          isRelayed && event === row.twice ? [event, event] : [event],
        );
        expect([
          one.name,
          response.status,
          client.isWhole(events),
          client.textOf(events),
          endOf(format, bytes),
          bytes.includes(reason ?? ""),
          spent,
          saw,
        ]).toEqual([
          one.name,
          200,
          broken === undefined,
          broken === undefined ? text : "Hel",
          wantedEnd,
          true,
          credit ?? Number(/.*"credit":([\d.]+)/.exec(bytes)?.[1]),
          { calls: ["a1"], state: [...state] },
        ]);
        expect(spent).toBeGreaterThan(0);
        if (id === "U33") expect(await flags(response)).toContain("estimated");
        if (id === "U34" && format === "chat_completions")
          expect(events.filter(({ usage, credit }) => usage && credit === undefined)).toHaveLength(1);
      }
      print(row, broken ?? end, ["a1"], state, `${cases.length} streams, ${credit ?? "what came"}`);
    });
  }
});

/** What the log says of how a request was counted. */
async function flags({ headers }: Response): Promise<unknown> {
  const id = headers.get("x-request-id");
  const line = () =>
    station.gateway.logs.find(({ request_id, path }) => request_id === id && path !== undefined);
  while (line() === undefined) await new Promise((resolve) => setImmediate(resolve));
  return line()?.usage_flags;
}

describe("what the runtime takes for an answer", () => {
  for (const { row, cases, counts } of SERVED) {
    const { isCounted } = row;
    test(`${row.id} ${row.name}`, async () => {
      for (const one of [...cases, ...counts]) {
        const isCount = one.spoken === "counting";
        station.answers(one, () => row.answer(one.spoken, one.stream));
        const { response, text, spent, ...saw } = await asked(one);
        expect([one.name, response.status, saw]).toEqual([
          one.name,
          200,
          { calls: ["a1"], state: ["healthy", 0, null] },
        ]);
        expect([one.name, isCount ? /s":10\b/.test(text) : isWhole(text)]).toEqual([one.name, true]);
        if (isCounted === true) {
          expect([one.name, spent]).toEqual([one.name, Number(/.*"credit":([\d.]+)/.exec(text)?.[1])]);
          expect([one.name, spent, spent > 0 && spent < 4]).toEqual([one.name, spent, true]);
        } else expect([one.name, spent]).toEqual([one.name, isCount ? 0 : 0.2]);
        expect(JSON.stringify([...response.headers])).not.toMatch(/x-huge|0123456789/);
      }
      print(
        row,
        "whole",
        ["a1"],
        ["healthy", 0],
        `${cases.length} ways of asking, ${counts.length} formats that count`,
      );
    });
  }
});
