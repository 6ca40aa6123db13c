import type { RequestMemory } from "../../core/bytes/request-memory.ts";
import type { Reading, Registry } from "../../core/metrics/registry.ts";
import { STATES, type WaySnapshot } from "../routing/way-snapshot.ts";
import type { ProcessFigures } from "../../runtime/process-figures.ts";
import type { TaskCount } from "../../tasks/task-counts.ts";

/** What stands somewhere in the process, and is read when Prometheus asks. */
export interface StateParts {
  readonly version: string;
  readonly process: ProcessFigures;
  readonly memory: Pick<RequestMemory, "taken" | "requests">;
  /** How routes and credentials fare. */
  readonly ways: () => readonly Way[];
  /** Holds of requests that have not ended. */
  readonly openHolds: () => number;
  readonly countTasks: () => Promise<readonly TaskCount[]>;
}

/** Adds the families whose values are read. */
export function addStateFamilies(registry: Registry, parts: StateParts): void {
  const { version, process, memory, ways, openHolds, countTasks } = parts;
  const one = (type: "gauge" | "counter", name: string, help: string, read: () => number | undefined): void =>
    registry.readings({ name, help, labels: [], type, read: () => alone(read()) });

  registry.readings({
    name: "switchyard_build_info",
    help: "1, with the versions of the gateway and of its runtime as labels",
    labels: ["version", "runtime"],
    type: "gauge",
    read: () => [[[version, process.runtime], 1]],
  });
  registry.readings({
    name: "switchyard_route_state",
    help: "How a model fares at a provider by a credential: 0 healthy, 1 cooling, 2 its breaker is open",
    labels: ["model", "provider", "upstream_id", "credential"],
    type: "gauge",
    // A model that makes images and texts has two ways by the same labels.
    read: () => worstOf(ways().map((way) => [labelsOf(way), STATES.indexOf(way.state)])),
  });
  registry.readings({
    name: "switchyard_breaker_open",
    help: "1 while a breaker of a provider's credential is open or half open, else 0",
    labels: ["provider", "credential"],
    type: "gauge",
    // The ways of a credential share its breaker, but those to images and videos have one of their own.
    read: () =>
      worstOf(
        ways().map(({ provider, credential, state }) => [
          [provider, nameOf(credential)],
          state === "open" ? 1 : 0,
        ]),
      ),
  });
  one("gauge", "switchyard_open_holds", "Holds of requests in this process that have not ended", openHolds);
  registry.readings({
    name: "switchyard_tasks",
    help: "Tasks in the store that have not ended, counted every 5 s and up to 20,000 in a state",
    labels: ["kind", "state"],
    type: "gauge",
    read: async () => (await countTasks()).map(({ kind, state, count }): Reading => [[kind, state], count]),
  });
  one("gauge", "switchyard_body_bytes", "Memory that requests and their answers hold", () => memory.taken());
  one("gauge", "switchyard_bodies", "Requests that hold some of it", () => memory.requests());
  one("counter", "process_cpu_seconds_total", "CPU time of all threads", process.cpuSec);
  one("gauge", "process_resident_memory_bytes", "Memory that is resident", process.residentBytes);
  one(
    "gauge",
    "process_start_time_seconds",
    "When the process began, since the epoch",
    () => process.startedAtSec,
  );
  one("gauge", "process_open_fds", "Descriptors that are open", process.openDescriptors);
  one("gauge", "process_max_fds", "Descriptors that may be open", () => process.mostDescriptors);
}

type Way = Pick<WaySnapshot, "model" | "provider" | "upstreamId" | "credential" | "state">;

function labelsOf({ model, provider, upstreamId, credential }: Way): readonly string[] {
  return [model, provider, upstreamId, nameOf(credential)];
}

/** One reading for the same labels, the largest: Prometheus takes no series twice. */
function worstOf(readings: readonly Reading[]): Iterable<Reading> {
  const worst = new Map<string, Reading>();
  for (const reading of readings) {
    const [labels, value] = reading;
    const key = labels.join("\n");
    const known = worst.get(key);
    if (known === undefined || value > known[1]) worst.set(key, reading);
  }
  return worst.values();
}

function nameOf(credential: string): string {
  return credential === "" ? ONLY : credential;
}

/** The credential of a provider that has but one. */
const ONLY = "only";

function alone(value: number | undefined): Iterable<Reading> {
  return value === undefined ? [] : [[[], value]];
}
