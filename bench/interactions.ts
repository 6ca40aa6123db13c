import type { Browser, Page } from "playwright-core";
import { openChromium, openPage, signIn } from "../test/console/browser.ts";
import { markdownTable } from "./figures/table.ts";
import { type Gateway, startGateway } from "./gateway.ts";
import { type Interaction, INTERACTIONS, type Source } from "./interactions-list.ts";
import { median, percentile } from "./percentile.ts";
import type { StageForm } from "./stage.ts";

/** The console on a filled home. */
export interface InteractionsForm extends StageForm {
  readonly store: string;
}

/** What interactions with the console took, in milliseconds. */
export interface Interactions {
  /** By the interaction's name and where its answer came from, from the input until the result was painted. */
  readonly taken: ReadonlyMap<string, Partial<Record<Source, readonly number[]>>>;
  /** A chart's own drawing of a year. */
  readonly charts: readonly number[];
}

const ROUNDS = 12;
/** The first rounds compile what the later ones run. */
const WARM_UP = 2;
const GOAL_MS = 100;
const FRAME_MS = 1_000 / 60;
const LOOK = { theme: "light", width: 1440 } as const;

/** Does all interactions in Chromium, over and over. Each round begins with a reload: the page then has read nothing. */
export async function measureInteractions(
  form: InteractionsForm,
  report: (line: string) => void,
): Promise<Interactions> {
  const gateway = await startGateway({
    folder: form.folder,
    upstreamUrl: "http://127.0.0.1:9",
    on: [],
    home: form.store,
  });
  try {
    const browser = await openChromium();
    try {
      return await measureIn(browser, gateway, report);
    } finally {
      await browser.close();
    }
  } finally {
    await gateway.stop();
  }
}

async function measureIn(
  browser: Browser,
  gateway: Gateway,
  report: (line: string) => void,
): Promise<Interactions> {
  const opened = await openPage(browser, LOOK);
  const { page } = opened;
  await page.addInitScript(WATCH);
  await signIn(opened, gateway.url, gateway.token);
  const taken = new Map<string, Partial<Record<Source, number[]>>>();
  const charts: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    report(`round ${round + 1} of ${WARM_UP + ROUNDS} …`);
    await page.goto(`${gateway.url}/console/settings`);
    await page.waitForLoadState("networkidle");
    for (const interaction of INTERACTIONS) {
      const ms = await timed(page, interaction);
      if (round < WARM_UP) continue;
      const row = taken.get(interaction.name) ?? {};
      (row[interaction.source] ??= []).push(ms);
      taken.set(interaction.name, row);
      if (interaction.drawsYear === true) charts.push(...(await page.evaluate<number[]>("bench.draws")));
    }
  }
  return { taken, charts };
}

async function timed(page: Page, { name, before, act, shown }: Interaction): Promise<number> {
  try {
    await before?.(page);
    // What the page reads by itself is not this interaction's.
    await page.waitForLoadState("networkidle");
    await page.evaluate(`bench.watch(() => ${shown})`);
    await act(page);
    return await page.evaluate<number>("bench.taken");
  } catch (error) {
    throw new Error(`the interaction failed: ${name}`, { cause: error });
  }
}

/**
 * Runs in the page. An interaction begins with the time stamp of its first event. It ends with the first task after a
 * frame: in it the browser has drawn the change that brings what is to be shown. A chart draws from `clearRect` to its
 * last call of the canvas.
 */
const WATCH = `(() => {
  const bench = (globalThis.bench = { taken: undefined, draws: [] });
  let began;
  let isShown;
  let tell;
  const look = () => {
    if (began === undefined || isShown === undefined || !isShown()) return;
    isShown = undefined;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => tell(performance.now() - began);
      port2.postMessage(0);
    });
  };
  bench.watch = (next) => {
    began = undefined;
    bench.taken = new Promise((resolve, reject) => {
      tell = resolve;
      setTimeout(() => reject(new Error("not shown")), 20_000);
    });
    bench.taken.catch(() => {});
    bench.draws.length = 0;
    isShown = next;
  };
  for (const type of ["click", "keydown", "change"])
    addEventListener(type, (event) => {
      began ??= event.timeStamp;
      requestAnimationFrame(look);
    }, { capture: true });
  new MutationObserver(look).observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  const canvas = CanvasRenderingContext2D.prototype;
  const open = new WeakMap();
  for (const name of ["clearRect", "stroke", "fill", "fillText", "fillRect", "restore"]) {
    const original = canvas[name];
    canvas[name] = function (...args) {
      if (name === "clearRect") {
        open.set(this, performance.now());
        bench.draws.push(0);
      }
      const result = original.apply(this, args);
      if (open.has(this)) bench.draws[bench.draws.length - 1] = performance.now() - open.get(this);
      return result;
    };
  }
})()`;

/** The figures as tables in Markdown. */
export function interactionsTable({ taken, charts }: Interactions): string {
  const both = (values: readonly number[], digits = 0): string => {
    const p95 = percentile(
      values.toSorted((a, b) => a - b),
      0.95,
    );
    return values.length === 0 ? "–" : `${median(values).toFixed(digits)} / ${p95.toFixed(digits)}`;
  };
  const isBelow = (all: readonly number[], goal: number): boolean =>
    percentile(
      all.toSorted((a, b) => a - b),
      0.95,
    ) < goal;
  const rows = [...taken].map(([name, { page = [], cache = [], gateway = [] }]) => [
    name,
    both([...page, ...cache]),
    both(gateway),
    [page, cache, gateway].every((values) => isBelow(values, GOAL_MS)) ? "✓" : "✗",
  ]);
  return [
    `Milliseconds from the input to the end of the frame that draws the new content, of ${ROUNDS} rounds after ${WARM_UP}; p50 / p95. Goal: ${GOAL_MS} ms.`,
    "",
    markdownTable(["interaction", "in the page or its cache", "read from the gateway", ""], rows),
    "",
    `A chart's own drawing of a year, ${charts.length} times: ${both(charts, 1)} ms ${isBelow(charts, FRAME_MS) ? "✓" : "✗"} (goal: a frame, ${FRAME_MS.toFixed(1)} ms).`,
  ].join("\n");
}
