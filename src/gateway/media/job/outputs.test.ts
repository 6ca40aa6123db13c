import { describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import { createFakeClock } from "../../../../test/gateway/fake-clock.ts";
import { createByteBudget } from "../../../core/bytes/byte-budget.ts";
import { GatewayError } from "../../../core/errors.ts";
import { MAX_FILE_BYTES } from "../../../assets/content.ts";
import type { GuardedFetchOptions } from "../../fetch/guarded-fetch.ts";
import { countOf, keepOutputs, type OutputParts } from "./outputs.ts";

/** Parts whose fetch answers with its URL, `fails` times with an error first; `store` says what becomes of a file. */
function open(kind: "image" | "video", { fails = 0, asked = 4 } = {}) {
  const fetched: { readonly url: string; readonly options: GuardedFetchOptions }[] = [];
  const troubles: (readonly [what: string, error: unknown])[] = [];
  const clock = createFakeClock();
  const files: string[] = [];
  let left = fails;
  const parts = {
    run: { id: "task_1", kind },
    asked,
    signal: new AbortController().signal,
    memory: createByteBudget(() => 1).open(),
    ownHosts: ["own.example"],
    clock,
    random: { bytes: (count: number) => new Uint8Array(count) },
    failpoint: () => {},
    texts: { decode: async function* () {} },
    onTrouble: (what: string, error: unknown) => void troubles.push([what, error]),
    fetch: (url: string, options: GuardedFetchOptions, take: (file: object) => unknown) => {
      fetched.push({ url, options });
      if (left > 0) {
        left -= 1;
        return Promise.reject(new Error("cut off"));
      }
      return take({ pieces: Readable.from([new TextEncoder().encode(url)]), length: undefined });
    },
    assets: {
      async store(_task: string, source: Uint8Array | Iterable<Uint8Array>) {
        const pieces = source instanceof Uint8Array ? [source] : await Array.fromAsync(source);
        const name = pieces.map((bytes) => new TextDecoder().decode(bytes)).join("");
        if (name.endsWith("#not")) return { notStored: "text" };
        files.push(name);
        return { file: name };
      },
    },
  } as unknown as OutputParts;
  return { parts, fetched, troubles, clock, files };
}

const at = (name: string) => ({ url: `https://cdn.example/${name}` });

describe("what a provider made is kept", () => {
  test("by its address within a minute for an image, two for a video, the headers and own hosts told", async () => {
    for (const [kind, timeoutMs] of [
      ["image", 60_000],
      ["video", 120_000],
    ] as const) {
      const { parts, fetched } = open(kind);
      await keepOutputs(parts, [{ ...at("a"), headers: { "x-key": "k" } }, at("b")]);
      const options = {
        timeoutMs,
        maxBytes: MAX_FILE_BYTES[kind],
        allowedHosts: ["own.example"],
        signal: parts.signal,
      };
      expect(fetched.map((each) => each.options)).toEqual([
        { ...options, headers: { "x-key": "k" } },
        options,
      ]);
    }
  });

  test("in its order, and no more of it than was asked for", async () => {
    const { parts, files, troubles } = open("image", { asked: 2 });
    const kept = await keepOutputs(parts, [at("a"), at("b"), at("c")]);
    expect(kept.map((file) => (file as unknown as { file: string }).file)).toEqual([
      at("a").url,
      at("b").url,
    ]);
    expect(files).toHaveLength(2);
    expect(troubles).toEqual([["the provider gave more than it was asked for", "3 for 2"]]);
  });

  test("at the third try where two fail, and left out after three", async () => {
    for (const [fails, made] of [
      [2, 1],
      [3, 0],
    ] as const) {
      const { parts, clock, fetched, troubles } = open("image", { fails });
      const keeping = keepOutputs(parts, [at("a")]);
      await clock.advance(10_000);
      await clock.advance(10_000);
      expect(await keeping).toHaveLength(made);
      expect([fetched.length, troubles.length]).toEqual([3, fails]);
    }
  });

  test("and left out where it is something else, which is fetched again as often", async () => {
    const { parts, clock, fetched, troubles } = open("image");
    const keeping = keepOutputs(parts, [at("a#not"), { bytes: new TextEncoder().encode("b#not") }]);
    await clock.advance(10_000);
    await clock.advance(10_000);
    expect(await keeping).toEqual([]);
    expect([fetched.length, troubles.length]).toEqual([3, 4]);
    expect(troubles[0]).toEqual(["an output is not what was asked for", "text"]);
  });

  test("however long the store is away", async () => {
    const { parts, clock, troubles, files } = open("image");
    const { store } = parts.assets;
    let away = 5;
    const assets = {
      ...parts.assets,
      store: (...asked: Parameters<typeof store>) =>
        (away -= 1) >= 0
          ? Promise.reject(new GatewayError("overloaded_error", "The store is away."))
          : store(...asked),
    };
    const keeping = keepOutputs({ ...parts, assets }, [at("a")]);
    for (let i = 0; i < 8; i += 1) await clock.advance(16_000);
    expect([(await keeping).length, files.length, troubles.length]).toEqual([1, 1, 5]);
    expect(troubles[0]?.[0]).toBe("an output cannot be stored now");
  });
});

test("a grid counts as the images in it", () => {
  expect(countOf([])).toBe(0);
  expect(countOf([at("a"), { ...at("b"), grid: { columns: 2, rows: 3 } }])).toBe(7);
});
