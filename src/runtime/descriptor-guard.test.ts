import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { guardDescriptors, reserveOf } from "./descriptor-guard.ts";
import { descriptorLimit } from "./descriptors.ts";

const LIMIT = 256;
const RESERVE = reserveOf(LIMIT);
const HELD = RESERVE / 2;

/** A guard of a process that has `open` descriptors beside its reserve, `idle` of which are connections without a request. */
function guard(state: { open: number; idle?: number; canListen?: boolean }) {
  const did: string[] = [];
  const clock = createFakeClock();
  let held = 0;
  let looks = 0;
  const note = (message: string): void => void did.push(message);
  const { hasRoom } = guardDescriptors({
    limit: LIMIT,
    count() {
      looks += 1;
      return state.open + held;
    },
    reserve: {
      get held() {
        return held;
      },
      hold: () => void (held = HELD),
      release: () => void (held = 0),
    },
    listener: {
      closeIdle() {
        const closed = state.idle ?? 0;
        state.open -= closed;
        state.idle = 0;
        did.push(`closed ${closed}`);
        return closed;
      },
      pause: () => void did.push("paused"),
      resume() {
        did.push("resumed");
        return state.canListen ?? true;
      },
    },
    clock,
    log: { info: note, warn: note, error: note },
  });
  return { did, clock, hasRoom, held: () => held, looks: () => looks };
}

test("a quarter is kept from clients, 32 at the least and 512 at the most; half of it is held", () => {
  expect([128, 256, 1_024, 20_000, 1_048_576].map(reserveOf)).toEqual([32, 64, 256, 512, 512]);
  const { held, did } = guard({ open: 50 });
  expect([held(), did]).toEqual([HELD, []]);
});

test("requests are let in until they have all but the reserve, counted between two looks", async () => {
  const state = { open: LIMIT - RESERVE - 10 };
  const { hasRoom, clock, looks } = guard(state);
  const before = looks();
  expect(Array.from({ length: 5 }, hasRoom)).toEqual([true, true, true, true, true]);
  expect(looks()).toBe(before);
  // What was counted may have ended since: before one is refused, it is looked.
  await clock.advance(1);
  expect(hasRoom()).toBe(true);
  expect(looks()).toBe(before + 1);
  state.open = LIMIT - RESERVE;
  await clock.advance(1);
  for (let i = 0; i < 10; i += 1) hasRoom();
  expect(hasRoom()).toBe(false);
  state.open = 50;
  await clock.advance(1);
  expect(hasRoom()).toBe(true);
});

test("within a moment it is looked once, however many requests come", async () => {
  const { hasRoom, clock, looks } = guard({ open: LIMIT - RESERVE });
  await clock.advance(1);
  const before = looks();
  for (let i = 0; i < 1_000; i += 1) expect(hasRoom()).toBe(false);
  expect(looks()).toBe(before + 1);
});

test("idle connections are closed before a request is refused, and before the listener is closed", async () => {
  const state = { open: LIMIT - RESERVE, idle: 100 };
  const { hasRoom, did, clock } = guard(state);
  await clock.advance(1);
  expect(hasRoom()).toBe(true);
  expect(did).toEqual(["closed 100"]);
  Object.assign(state, { open: LIMIT - HELD, idle: 150 });
  await clock.advance(1_000);
  expect(did).toEqual(["closed 100", "closed 150"]);
});

test("with the last descriptors the listener is closed and the reserve let go, until clients have left", async () => {
  const state = { open: 50, idle: 0, canListen: false };
  const { hasRoom, did, held, clock } = guard(state);
  state.open = LIMIT - HELD - 7;
  await clock.advance(101);
  expect(did).toEqual([
    "closed 0",
    "descriptors have run short: no connection is taken until some have ended",
    "paused",
  ]);
  expect([held(), hasRoom()]).toEqual([0, false]);
  await clock.advance(5_000);
  state.open = LIMIT - RESERVE - 2;
  await clock.advance(200);
  // Somebody else may have the port for a moment.
  expect(did.slice(3)).toContain("resumed");
  expect(did).not.toContain("connections are taken again");
  state.canListen = true;
  await clock.advance(200);
  expect(did.at(-1)).toBe("connections are taken again");
  expect([held(), hasRoom()]).toEqual([HELD, true]);
});

test("a listener that was closed stays so for a second", async () => {
  const state = { open: LIMIT };
  const { did, clock } = guard(state);
  expect(did.at(-1)).toBe("paused");
  state.open = 50;
  await clock.advance(999);
  expect(did.at(-1)).toBe("paused");
  await clock.advance(200);
  expect(did.at(-1)).toBe("connections are taken again");
});

test.skipIf(descriptorLimit() === undefined)(
  "a process starts with 128 descriptors, and with no fewer",
  () => {
    const script = `import { guardProcess } from "./descriptor-guard.ts";
    const nothing = () => {};
    const log = { info: nothing, warn: nothing, error: nothing };
    const clock = { steadyMs: () => 0, setTimer: () => ({ cancel: nothing }) };
    try {
      guardProcess({ listener: {}, clock, log });
      console.log("started");
    } catch (error) {
      console.log(error.message);
    }
    process.exit(0);`;
    const told = (limit: number): string => {
      const command = [
        "sh",
        "-c",
        `ulimit -n ${limit}; exec "$@"`,
        "sh",
        process.execPath,
        "--no-install",
        "-e",
        script,
      ];
      return Bun.spawnSync(command, { cwd: import.meta.dir }).stdout.toString();
    };
    expect(told(128)).toBe("started\n");
    expect(told(127)).toStartWith("The process may have 127 files and connections open, and needs more");
  },
);
