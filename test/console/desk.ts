import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import type { TestGatewayOptions } from "../gateway/gateway.ts";
import { type ConsolePage, type Look, openChromium, openPage, signIn } from "./browser.ts";

/** A gateway with the sandbox, whose console a browser looks at. */
export interface Desk {
  readonly gateway: TestGateway;
  /** The gateway's clock. It starts at the browser's time and stands still. */
  readonly clock: FakeClock;
  /** What the admin API answers to a GET. */
  read(path: string): Promise<Json>;
  /** A page that nobody has signed in on. */
  open(look?: Look): Promise<ConsolePage>;
  /** A page that is signed in with the admin token, or with `credential`. */
  openSignedIn(credential?: string, look?: Look): Promise<ConsolePage>;
  /** A test of what a reader does on a page that is signed in; nothing may go wrong on the page meanwhile. */
  story(name: string, act: (opened: ConsolePage) => Promise<void>, as?: () => string): void;
}

const PLAIN: Look = { theme: "light", width: 1440 };

/** A busy machine draws slowly. */
const MOST_MS = 120_000;

/** Starts a gateway and a browser for the tests of a file. */
export function useDesk(
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
  const open: Desk["open"] = (look = PLAIN) => openPage(browser, look);
  const openSignedIn: Desk["openSignedIn"] = async (credential = ADMIN_TOKEN, look = PLAIN) => {
    const opened = await open(look);
    await signIn(opened, gateway.url, credential);
    // Without a session the first read is a 401, which the browser logs.
    opened.faults();
    return opened;
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
    open,
    openSignedIn,
    story(name, act, as) {
      test(
        name,
        async () => {
          const opened = await openSignedIn(as?.());
          try {
            await act(opened);
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
    },
  };
}
