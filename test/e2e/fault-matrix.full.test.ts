import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FORMAT_CLIENTS, jsonEvents } from "../gateway/format-clients.ts";
import { BEFORE, CALLS, DURING, TAKEN } from "./fault-matrix-rows.ts";
import { casesOf, type FaultStation, openFaultStation } from "./fault-station.ts";

// Each fault of a provider, for each endpoint, plain and streamed, relayed and translated, with the settings that a
// gateway has by itself: what the client is told, what it pays, how often and by which way it was sent, and how the way
// stands afterwards.

const ROWS = BEFORE.flatMap((row, i) => {
  const both = CALLS[row.calls].includes("b1" as never) ? [false, true] : [false];
  return both.map((isAll) => ({ row, isAll, cases: casesOf(`r${i}${isAll ? "all" : ""}`, row.only) }));
});
const STREAMS = DURING.map((row, i) => ({
  row,
  cases: casesOf(`s${i}`, "stream").filter(({ spoken }) => row.not?.includes(spoken) !== true),
}));
const SERVED = TAKEN.map((row, i) => ({ row, cases: casesOf(`t${i}`) }));

let station: FaultStation;
const table: string[] = [];

beforeAll(async () => {
  station = await openFaultStation([...ROWS, ...STREAMS, ...SERVED].flatMap(({ cases }) => cases));
});
afterAll(async () => {
  const { json } = await station.gateway.admin("GET", "/audit");
  expect(json.ok).toBe(true);
  await station.close();
  console.log(`\n${table.join("\n")}\n`);
});

function print(id: string, ...cells: readonly (readonly [width: number, text: string])[]): void {
  table.push([id.padEnd(4), ...cells.map(([width, text]) => text.padEnd(width))].join(" "));
}

const isWhole = (text: string): boolean => text.includes("lo.") || text.includes("[1,0]");

describe("before content", () => {
  for (const { row, isAll, cases } of ROWS) {
    const { id, name, want, state } = row;
    const sent = CALLS[row.calls];
    const isServed = !isAll && sent.includes("b1" as never);
    const told = isServed ? "another way serves" : want.join(" ");
    test(`${id} ${name}${isAll ? ", everywhere" : ""}: ${told}`, async () => {
      for (const one of cases) {
        const { gateway } = station;
        const fault = () => row.answer(one.spoken, one.stream);
        station.answers(one, fault, isAll ? fault : undefined);
        await station.earn(sent.length - 1);
        const { balance } = await gateway.account();
        const response = await station.ask(one);
        const text = await response.text();
        const saw = isServed ? isWhole(text) : JSON.parse(text).error?.type;
        const spent = await station.spent(balance);
        expect([one.name, response.status, saw, spent, station.calls(), await station.stateOf(one)]).toEqual([
          one.name,
          isServed ? 200 : want[0],
          isServed ? true : want[1],
          isServed ? 0.2 : 0,
          [...sent],
          [...state],
        ]);
        expect(text).not.toContain("0123456789");
        if (want[0] === 503 && !isServed)
          expect(Number(response.headers.get("retry-after"))).toBeWithin(1, 61);
      }
      if (isAll || !isServed)
        print(
          id,
          [34, name],
          [26, told],
          [9, sent.join(" ")],
          [28, state.join(" ")],
          [0, `${cases.length} ways of asking`],
        );
    });
  }
});

describe("behind content", () => {
  for (const { row, cases } of STREAMS) {
    const { id, name, broken, credit, state } = row;
    test(`${id} ${name}: ${broken ?? "whole"}`, async () => {
      for (const one of cases) {
        const { gateway } = station;
        const fault = () => row.answer(one.spoken);
        station.answers(one, fault, fault);
        const { balance } = await gateway.account();
        const response = await station.ask(one);
        const events = jsonEvents(await response.text());
        const client = FORMAT_CLIENTS[one.format as keyof typeof FORMAT_CLIENTS];
        const charged = await station.spent(balance);
        const text = JSON.stringify(events);
        const isBroken = broken !== undefined;
        // Responses has one word for all.
        const reason = one.format === "responses" ? '"response.failed"' : broken;
        expect([
          one.name,
          response.status,
          client.isWhole(events),
          client.hasFailed(events),
          client.textOf(events),
          broken === undefined || text.includes(reason ?? ""),
          charged,
          station.calls(),
          await station.stateOf(one),
        ]).toEqual([
          one.name,
          200,
          !isBroken,
          isBroken,
          isBroken ? "Hel" : "Hello.",
          true,
          credit ?? Number(/.*"credit":([\d.]+)/.exec(text)?.[1]),
          ["a1"],
          [...state],
        ]);
        expect(charged).toBeGreaterThan(0);
      }
      print(
        id,
        [34, name],
        [26, broken ?? "whole"],
        [9, "a1"],
        [28, state.join(" ")],
        [0, `${cases.length}, ${credit ?? "what came"}`],
      );
    });
  }
});

describe("what the runtime takes for an answer", () => {
  for (const { row, cases } of SERVED) {
    test(`${row.id} ${row.name}`, async () => {
      for (const one of cases) {
        station.answers(one, () => row.answer(one.spoken, one.stream));
        const { balance } = await station.gateway.account();
        const response = await station.ask(one);
        const text = await response.text();
        const spent = await station.spent(balance);
        expect([one.name, response.status, isWhole(text), spent]).toEqual([one.name, 200, true, 0.2]);
        expect(JSON.stringify([...response.headers])).not.toMatch(/x-huge|0123456789/);
      }
      print(row.id, [34, row.name], [26, "whole"], [9, "a1"], [28, "healthy 0"], [0, `${cases.length}`]);
    });
  }
});
