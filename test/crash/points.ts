import type { FailpointName } from "../../src/core/failpoint.ts";
import type { GatewayProcess } from "../gateway/process.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import type { Station } from "./station.ts";

/** A moment to die at. */
export interface KillPoint {
  /** The rows of the crash list that it stands for. */
  readonly rows: string;
  readonly name: string;
  /** What the gateway is started with to die at the n-th passing by itself. */
  environment(nth: number): Readonly<Record<string, string>>;
  /** Whether passings are counted from the start of the process on, and not from its first request. */
  readonly countsStart: boolean;
  /** The one engine that has it; absent where both do. */
  readonly engine?: "sqlite" | "postgres";
  /** Workloads of a run at most; absent for one. A step that follows the charge later needs more than one. */
  readonly workloads?: number;
  /** Passings that are come to at most, where a run does not pass it over and over. */
  readonly most?: number;
  /** Watches from outside and kills at the n-th passing; undefined where the gateway does so by itself. */
  readonly watch?: (watched: Watched) => Watch;
}

/** What a watch sees of a run. */
export interface Watched {
  readonly station: Station;
  readonly gateway: GatewayProcess;
  readonly url: string;
  readonly nth: number;
  /** A number from 0 to 1, by the seed. */
  readonly chance: number;
}

/** What a run tells a watch. */
export interface Watch {
  /** A client has read an answer to its end. */
  answered?(): void;
  /** The double has read a whole request: the first for a chat, or a further one. */
  asked?(call: number): void;
  stop?(): void;
}

function failpoint(rows: string, name: FailpointName, more: Partial<KillPoint> = {}): KillPoint {
  return {
    rows,
    name,
    countsStart: false,
    ...more,
    environment: (nth) => ({ SWITCHYARD_FAILPOINT: `${name}:kill:${nth}` }),
  };
}

function writerFailpoint(rows: string, name: FailpointName, more: Partial<KillPoint> = {}): KillPoint {
  return {
    rows,
    name,
    countsStart: true,
    ...more,
    environment: (nth) => ({ SWITCHYARD_WRITER_FAILPOINT: `${name}:kill:${nth}` }),
  };
}

function fromOutside(rows: string, name: string, watch: (watched: Watched) => Watch): KillPoint {
  return { rows, name, countsStart: false, environment: () => ({}), watch };
}

/** The longest that a workload takes on a machine that is not busy. */
const WORKLOAD_MS = 150;

/** A kill at no moment in particular. */
const ANY_MOMENT: KillPoint = {
  ...fromOutside("any", "a random moment", ({ gateway, chance }) => {
    const timer = setTimeout(() => gateway.child.kill("SIGKILL"), chance * WORKLOAD_MS);
    return { stop: () => clearTimeout(timer) };
  }),
  // One alone may have ended before its moment.
  workloads: 6,
};

const KEEPER = { engine: "sqlite", workloads: 6 } as const;

/** Every step of a note, of a record, of its way into the tables and of the replay, where a process keeps the books. */
const STEPS_OF_THE_JOURNAL: readonly KillPoint[] = [
  failpoint("journal", "note.before_write", KEEPER),
  failpoint("journal", "note.after_write", KEEPER),
  // A start passes these where it ends what the run before has left open.
  failpoint("journal", "journal.before_write", { ...KEEPER, countsStart: true }),
  failpoint("journal", "journal.after_write", { ...KEEPER, countsStart: true }),
  // The start passes these once or twice: with what the run before has left, and with what it finds abandoned.
  failpoint("journal", "replay.before_move", { ...KEEPER, countsStart: true, most: 1 }),
  failpoint("journal", "replay.after_move", { ...KEEPER, countsStart: true, most: 1 }),
  failpoint("journal", "tables.before_move", { ...KEEPER, countsStart: true }),
  failpoint("journal", "tables.after_move", { ...KEEPER, countsStart: true }),
  writerFailpoint("journal", "tables.before_mark", KEEPER),
];

/** A process takes an allotment when an account is busy, which a slow machine may not be for some workloads. */
const SHARED = { engine: "postgres", workloads: 20 } as const;

/** Every step of taking an allotment and of writing what became of holds in memory, where processes share the books. */
const STEPS_OF_ALLOTMENTS: readonly KillPoint[] = [
  writerFailpoint("allotments", "allotment.before_take", SHARED),
  writerFailpoint("allotments", "allotment.after_take", SHARED),
  writerFailpoint("allotments", "allotment.before_save", SHARED),
  writerFailpoint("allotments", "allotment.after_save", SHARED),
];

/** A chat of a few is refused, and goes on elsewhere. */
const AGAIN = { workloads: 6 } as const;

/** Every moment of a request's life, in its order, and any other. */
export const KILL_POINTS: readonly KillPoint[] = [
  {
    ...fromOutside("K1", "half a head sent", ({ gateway, url }) => {
      void openRawClient(url)
        .then((client) => {
          client.send("POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bea");
          gateway.child.kill("SIGKILL");
        })
        .catch(() => undefined);
      return {};
    }),
  },
  failpoint("K2", "request.authenticated"),
  failpoint("K2", "hold.before_submit"),
  writerFailpoint("K3 K9 K29 K33 K34", "writer.before_commit"),
  failpoint("K4", "hold.after_commit"),
  fromOutside("K5", "request sent upstream", ({ gateway, nth }) => {
    let left = nth;
    return {
      asked() {
        left -= 1;
        if (left === 0) gateway.child.kill("SIGKILL");
      },
    };
  }),
  failpoint("K5 again", "upstream.before_retry", AGAIN),
  {
    ...fromOutside("K5 again", "request sent again", ({ gateway, nth }) => {
      let left = nth;
      return {
        asked(call) {
          if (call > 1) left -= 1;
          if (call > 1 && left === 0) gateway.child.kill("SIGKILL");
        },
      };
    }),
    ...AGAIN,
  },
  failpoint("K6", "upstream.after_headers"),
  failpoint("K7", "stream.after_chunk"),
  failpoint("K8", "settle.before_submit"),
  writerFailpoint("K9 K10 K33 K34", "writer.after_commit"),
  failpoint("K10", "settle.after_commit"),
  failpoint("K10", "answer.before_end"),
  fromOutside("K11", "answer read", ({ gateway, nth }) => {
    let left = nth;
    return {
      answered() {
        left -= 1;
        if (left === 0) gateway.child.kill("SIGKILL");
      },
    };
  }),
  ...STEPS_OF_THE_JOURNAL,
  ...STEPS_OF_ALLOTMENTS,
  ANY_MOMENT,
];
