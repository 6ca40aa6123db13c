import { expect, test } from "bun:test";
import { join } from "node:path";
import { describeOnEngines } from "../../../test/gateway/engines.ts";
import { useBooks } from "../../../test/ledger/books.ts";
import { loadModelFiles } from "../../catalog/catalog.ts";
import { PRICE_BUCKETS, type PriceFacts, type Prices } from "../../core/money/price.ts";
import { readTaskHold } from "./task-hold.ts";
import { createRulesText } from "../written-text.ts";

/** Every bucket, every condition, and a price with more digits than a JSON number has. */
const EVERYTHING: Prices = Object.fromEntries(
  PRICE_BUCKETS.map((bucket, i) => [
    bucket,
    [
      {
        when: {
          fromMs: 1_800_000_000_000,
          utcHours: [
            [1, 4],
            [22, 24],
          ],
          inputOver: 200_000,
          resolution: ["720p", "1080p"],
          size: ["1024x1024"],
          quality: ["high"],
          hasVideo: false,
        },
        price: 9_007_199_254_740_993n + BigInt(i),
      },
      { when: {}, price: 0n },
    ],
  ]),
);

const SOLD: readonly { readonly name: string; readonly version: string; readonly prices: Prices }[] = [
  { name: "everything", version: "everything", prices: EVERYTHING },
  ...loadModelFiles(join(import.meta.dir, "../../../models")).map((model) => ({
    name: `${model.category} ${model.uniqueId}`,
    version: model.priceVersion,
    prices: model.prices,
  })),
];

const FACTS: readonly (PriceFacts | undefined)[] = [
  undefined,
  { resolution: "720P", size: "1024x1024", quality: "High", hasVideo: true },
];

describeOnEngines("the hold of a task is read as it was made:", (engine) => {
  const books = useBooks(engine);

  for (const { name, version, prices } of SOLD) {
    test(`with the prices of ${name}`, async () => {
      const rulesText = createRulesText();
      await books.run(books.grant("g", 100n));
      for (const [i, facts] of FACTS.entries()) {
        const snapshot = { version, prices, pricedAtMs: 1_700_000_000_000 + i };
        await books.run(
          books.submit(`x${i}`, 30n, {
            priceVersion: version,
            priceRules: rulesText(snapshot),
            terms: JSON.stringify({ pricedAtMs: snapshot.pricedAtMs, facts }),
          }),
        );
        const hold: unknown = await readTaskHold(books.store.database, books.id(`x${i}`));
        expect(hold).toStrictEqual({
          id: books.id(`x${i}-hold`),
          accountId: books.id("a"),
          keyId: books.id("k"),
          amount: 30n,
          snapshot: facts === undefined ? snapshot : { ...snapshot, facts },
        });
      }
    });
  }

  test("there is none of a task that is not there, that has ended, or whose hold is not its own", async () => {
    await books.apply(books.grant("g", 100n), books.submit("x", 30n), books.submit("y", 30n));
    const read = (name: string): Promise<unknown> => readTaskHold(books.store.database, books.id(name));
    expect(await read("x")).toMatchObject({ amount: 30n });
    expect(await read("nobody")).toBeUndefined();
    await books.run(books.cancel("x"));
    expect(await read("x")).toBeUndefined();
    await books.execute(`update holds set task_id = 'another' where id = '${books.id("y-hold")}'`);
    expect(await read("y")).toBeUndefined();
  });
});
