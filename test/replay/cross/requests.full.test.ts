import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { recordingsFor } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { ask } from "./ask.ts";
import { type Cross, startCross } from "./cross-gateway.ts";
import { type CrossCase, crossCases, REFUSED } from "./cross-cases.ts";
import type { Meaning } from "./meaning.ts";
import { meaningOfChat } from "./meaning-of-chat.ts";
import { meaningOfGemini } from "./meaning-of-gemini.ts";
import { meaningOfMessages } from "./meaning-of-messages.ts";
import { expectAsRecorded, unusedDifferences } from "./recorded-requests.ts";
import { expectSchema, wantedOf } from "./wanted.ts";

// Every recorded chat completions request of a case that other wires were recorded for, too, sent to models that speak
// those. What they receive means what was sent. What the providers answered to the same case comes back whole.

const available = recordingsFor("cross-protocol recordings");

const cases = crossCases();
const rows: { readonly found: CrossCase; readonly as: string }[] = [];
let cross: Cross;

describe.skipIf(!available)("chats that were recorded in other wires, too", () => {
  beforeAll(async () => {
    cross = await startCross();
  });
  afterAll(async () => {
    console.log(tableOf());
    await cross.close();
  });

  for (const found of cases) {
    test(`${found.recording.path} to ${found.target.id}`, async () => {
      const field = REFUSED[found.name]?.[found.target.vendor];
      if (field === undefined) await expectSame(found);
      else await expectRefused(found, field);
      const compared = found.recorded === undefined ? "" : ", as recorded";
      rows.push({ found, as: field === undefined ? `held${compared}` : `refused (400, ${field})` });
    });
  }

  test("every difference between recordings that the table names was met", () => {
    expect(unusedDifferences()).toEqual([]);
  });

  test("at least 97 of 100 are held", () => {
    expect(rows.length).toBeGreaterThanOrEqual(Math.ceil(cases.length * 0.97));
  });
});

function bodyFor({ body, target }: CrossCase): Json {
  return { ...body, model: target.id };
}

async function expectRefused(found: CrossCase, field: string): Promise<void> {
  cross.double.reset();
  const error: Json = await cross.client.chat.completions
    .create(bodyFor(found))
    .catch((thrown: unknown) => thrown);
  expect([error.status, error.type]).toEqual([400, "invalid_request_error"]);
  expect(error.param).toStartWith(field);
  expect(error.message).toContain(field);
  expect(cross.double.requests).toEqual([]);
}

async function expectSame(found: CrossCase): Promise<void> {
  const { body, target, answer, recorded } = found;
  const { sent, warning } = await ask(cross, bodyFor(found), answer);
  const read = target.vendor === "claude" ? meaningOfMessages : meaningOfGemini;
  const received = read(sent);
  const wanted = wantedOf(meaningOfChat(body), body, target);
  const told = [...wanted.told, ...expectMeaning(received, wanted.meaning)];
  if (sent.max_tokens !== undefined && received.thinking?.budget !== undefined)
    expect(received.thinking.budget).toBeLessThan(sent.max_tokens);
  for (const name of told) expect(warning).toContain(name);
  if (told.length === 0) expect(warning).toBeNull();
  if (recorded !== undefined) expectAsRecorded(found, received, read(recorded));
}

/** Fails unless both mean the same; gives what a schema says in words alone. */
function expectMeaning(received: Meaning, wanted: Meaning): readonly string[] {
  const { tools, form, ...rest } = received;
  const { tools: meantTools, form: meantForm, ...meant } = wanted;
  expect(rest).toEqual(meant);
  const named = (all: Meaning["tools"]): Json[] =>
    all.map(({ name, description, strict }) => ({ name, description, strict }));
  expect(named(tools)).toEqual(named(meantTools));
  const inWords = tools.flatMap(({ schema }, i) => expectSchema(schema, meantTools[i]?.schema));
  if (form?.schema !== undefined) return [...inWords, ...expectSchema(form.schema, meantForm.schema)];
  expect(form).toEqual(meantForm);
  return inWords;
}

function tableOf(): string {
  const lines = ["", "Recorded chat completions requests sent to models of other wires:"];
  for (const vendor of ["claude", "gemini"] as const) {
    const all = cases.filter(({ target }) => target.vendor === vendor);
    const mine = rows.filter(({ found }) => found.target.vendor === vendor);
    const count = (as: RegExp): number => mine.filter((row) => as.test(row.as)).length;
    lines.push(
      `  ${vendor}: ${mine.length} of ${all.length} held (${count(/^refused/)} of them refused as they must be; ${count(/recorded/)} also the same as the request recorded in that wire; ${mine.filter(({ found }) => found.isOwnAnswer).length} answered with that wire's own answer)`,
    );
  }
  const names = [...new Set(cases.map(({ name }) => name))];
  for (const name of names) {
    const of = (vendor: string): string => {
      const all = cases.filter((found) => found.name === name && found.target.vendor === vendor);
      const mine = rows.filter(({ found }) => found.name === name && found.target.vendor === vendor);
      return `${vendor} ${mine.length}/${all.length} ${[...new Set(mine.map(({ as }) => as))].join("; ")}`;
    };
    lines.push(`  ${name}: ${of("claude")} | ${of("gemini")}`);
  }
  return lines.join("\n");
}
