import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { loadModelFiles } from "../../src/catalog/catalog.ts";
import { examplesOf, type PageExample, printsAs, runExample } from "../docs/page-examples.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { skipUnless } from "../required.ts";
import { startWholeCatalogue, type WholeCatalogue } from "../docs/whole-catalogue.ts";

// The pages of the models as a reader meets them, fetched from a running gateway. Every program on them is run as it
// stands, by curl and by the official SDKs. The upstream is the double, which refuses a turn that came back changed; of
// images, videos and embeddings it is the sandbox.

let catalogue: WholeCatalogue;
let sandbox: TestGateway;
beforeAll(async () => {
  catalogue = await startWholeCatalogue({ OPENROUTER: "/v1" });
  sandbox = await startGateway();
});
afterAll(async () => {
  await catalogue.close();
  await sandbox.close();
});

const curlIsHere = Bun.which("curl") !== null;
skipUnless(curlIsHere, "curl is not installed", "the pages' curl examples");

async function checkPage(gateway: TestGateway, uniqueId: string): Promise<void> {
  const path = `/docs/${uniqueId}/llms.txt`;
  const response = await fetch(`${gateway.url}${path}`);
  expect([path, response.status]).toEqual([path, 200]);
  const examples = examplesOf(await response.text()).filter(
    ({ language }) => language !== "sh" || curlIsHere,
  );
  expect(examples.length).toBeGreaterThan(0);
  await checkAll(gateway, examples);
}

async function check(gateway: TestGateway, example: PageExample): Promise<void> {
  const run = await runExample(example, { BASE_URL: gateway.url, API_KEY: gateway.key });
  const told = `${example.title}\n${example.code}\n--- printed\n${run.output}\n--- errors\n${run.errors}`;
  expect(run.exitCode, told).toBe(0);
  expect(run.errors, told).toBe("");
  expect(printsAs(example.prints, run.output), told).toBe(true);
}

/** Programs of all pages that run at a time. Each is a process of its own, and those of media wait most of the time. */
const AT_ONCE = 6;
let free = AT_ONCE;
const waiting: (() => void)[] = [];

async function inTurn(run: () => Promise<void>): Promise<void> {
  if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
  else free -= 1;
  try {
    await run();
  } finally {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  }
}

async function checkAll(gateway: TestGateway, examples: readonly PageExample[]): Promise<void> {
  await Promise.all(examples.map((example) => inTurn(() => check(gateway, example))));
}

describe("every example of every page runs and prints what the page says", () => {
  for (const { uniqueId, category } of loadModelFiles("models")) {
    const gateway = () => (category === "language" ? catalogue.gateway : sandbox);
    test.concurrent(uniqueId, () => checkPage(gateway(), uniqueId), 600_000);
  }
});
