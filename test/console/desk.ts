import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import type { TestGatewayOptions } from "../gateway/gateway.ts";
import { type ConsolePage, openChromium, openPage, signIn } from "./browser.ts";
import { type Look, named } from "./looks.ts";

/** A gateway with the sandbox, whose console a browser looks at. */
export interface Desk {
  readonly gateway: TestGateway;
  /** The gateway's clock. It starts at the browser's time and stands still. */
  readonly clock: FakeClock;
  /** What the admin API answers to a GET. */
  read(path: string): Promise<Json>;
  /** A test of what a reader does who has not signed in; nothing may go wrong on the page meanwhile. */
  visit(name: string, act: Act): void;
  /** The same of one who is signed in with the admin token, or with the credential that `as` gives. */
  story(name: string, act: Act, as?: () => string): void;
}

/** What a reader does on a page in a look. */
type Act = (opened: ConsolePage, look: Look) => Promise<void>;

/** A busy machine draws slowly. */
const MOST_MS = 120_000;

/** Starts a gateway and a browser for a group of tests, each of which is in the next look. */
export function useDesk(
  next: () => Look,
  optionsOf: () => TestGatewayOptions | Promise<TestGatewayOptions> = () => ({}),
): Desk {
  let browser: Browser;
  let gateway: TestGateway;
  let clock: FakeClock;
  beforeAll(async () => {
    clock = createFakeClock(Date.now());
    const { environment, ...options } = await optionsOf();
    [browser, gateway] = await Promise.all([
      openChromium(),
      startGateway({ clock, ...options, environment: { SWITCHYARD_SANDBOX: "on", ...environment } }),
    ]);
  }, MOST_MS);
  afterAll(async () => {
    await browser.close();
    await gateway.close();
  });
  const visit: Desk["visit"] = (name, act) => {
    const look = next();
    test(
      `${name} (${named(look)})`,
      async () => {
        const opened = await openPage(browser, look);
        try {
          await act(opened, look);
          expect(opened.faults()).toEqual([]);
        } catch (error) {
          await opened.picture(`failed: ${name}`.replace(/\W+/g, "-"));
          throw error;
        } finally {
          await opened.close();
        }
      },
      MOST_MS,
    );
  };
  return {
    get gateway() {
      return gateway;
    },
    get clock() {
      return clock;
    },
    async read(path) {
      const { status, json } = await gateway.admin("GET", path);
      expect([path, status]).toEqual([path, 200]);
      return json;
    },
    visit,
    story(name, act, as) {
      visit(name, async (opened, look) => {
        await signIn(opened, gateway.url, as?.() ?? ADMIN_TOKEN);
        // Without a session the first read is a 401, which the browser logs.
        opened.faults();
        await act(opened, look);
      });
    },
  };
}
