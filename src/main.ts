import { statSync } from "node:fs";
import { readConfig, type Config, type ListenAddress } from "./environment.ts";
import { systemClock, systemStopwatch } from "./core/time/clock.ts";
import { describeError, type Log } from "./core/log/log.ts";
import { systemRandom } from "./core/random.ts";
import { warningsOf } from "./dangers.ts";
import { DEFAULT_TIMEOUTS } from "./gateway/timeouts.ts";
import { greet } from "./greet.ts";
import { createMetricsApp } from "./http/metrics-app.ts";
import { createLog } from "./log.ts";
import { guardProcess } from "./runtime/descriptor-guard.ts";
import { warmHttpClient } from "./runtime/fetch.ts";
import { watchLoopDelay } from "./runtime/loop-delay.ts";
import { unmapIdleCode } from "./runtime/idle-code.ts";
import { releaseStartMemory } from "./runtime/memory.ts";
import { serve, type Listener, type ServeOptions } from "./runtime/serve.ts";
import { buildServices, type Services } from "./services.ts";
import { createShutdown } from "./shutdown.ts";

/** After a lost disk the process has this long to refuse requests under way. */
const LAST_WORDS_MS = 1_000;

/** The runtime collects what the warming has left within a second or two of silence, and needs much code for that. */
const COLLECTED_MS = 3_000;

/** How often the settings file is checked. */
const WATCH_MS = 1_000;

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

async function main(): Promise<void> {
  checkRuntime();
  // The database and the secrets are for this user alone.
  process.umask(0o077);
  const config = readConfig(process.env, process.cwd());
  const log = createLog();
  for (const warning of warningsOf(config, process.env, process.execArgv)) log.warn(warning);
  const services = await buildServices({
    config,
    environment: process.env,
    clock: systemClock,
    random: systemRandom,
    log,
    stopwatch: systemStopwatch,
    onLost(reason) {
      log.error(
        "the disk has failed to keep what was written: this process ends, what was acknowledged before stands",
        {
          error: reason,
        },
      );
      systemClock.setTimer(LAST_WORDS_MS, () => {
        log.flush();
        process.exit(1);
      });
    },
  });
  watchLoopDelay(systemClock, systemStopwatch, services.metrics.sawLoopDelay);
  services.startThreads();
  await warmHttpClient();
  releaseStartMemory();
  const listener = listen("PORT", config, { handle: services.app, hasRoom: () => guard.hasRoom() });
  const metrics = listenForMetrics(config, services);
  const guard = guardProcess({ listener: withIdleOf(listener, metrics), clock: systemClock, log });
  services.listensAt(listener.url);
  const shutdown = createShutdown({
    services,
    listener,
    delayMs: config.shutdownDelayMs,
    drainMs: config.shutdownDrainMs,
    clock: systemClock,
    flush: log.flush,
    exit: process.exit,
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => void shutdown(signal));
  // Watched before the greeting: a change made once the gateway says that it listens is seen.
  watchSettings(config.settingsFile, () => {
    try {
      services.reload();
      log.info("settings read again", { file: config.settingsFile });
    } catch (error) {
      log.error("the settings file cannot be used; what was in force stays", { error: describeError(error) });
    }
  });
  await greet({
    config,
    services,
    url: listener.url,
    metricsUrl: metrics?.url,
    log,
    say: (text) => void process.stdout.write(`${text}\n`),
  });
  if (config.warmUp) await warmUp(services, log);
  systemClock.setTimer(COLLECTED_MS, unmapIdleCode);
}

/** Has the code of paid calls compiled before the first of them. */
async function warmUp(services: Services, log: Log): Promise<void> {
  try {
    await services.warmUp();
  } catch (error) {
    log.warn("the warming failed: the first requests take longer", { error: describeError(error) });
  }
}

/** The runtime reads this once, at its start: without it, calls beyond 256 would queue unseen. */
function checkRuntime(): void {
  if (Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? 0) < 1024) {
    throw new Error(
      "BUN_CONFIG_MAX_HTTP_REQUESTS is not set: start the gateway with npm start, or set it to 20000.",
    );
  }
}

/** The listener of `METRICS_LISTEN`, where that is set. */
function listenForMetrics({ metricsListen }: Config, { metrics }: Services): Listener | undefined {
  if (metricsListen === undefined) return undefined;
  return listen("METRICS_LISTEN", metricsListen, { handle: createMetricsApp(metrics.text) });
}

/** A listener whose idle connections are closed with those of another. */
function withIdleOf(listener: Listener, other: Listener | undefined): Listener {
  if (other === undefined) return listener;
  return { ...listener, closeIdle: () => listener.closeIdle() + other.closeIdle() };
}

function listen(
  variable: "PORT" | "METRICS_LISTEN",
  { host, port }: ListenAddress,
  served: Pick<ServeOptions, "handle" | "hasRoom">,
): Listener {
  try {
    return serve({
      hostname: host,
      port,
      stallSec: DEFAULT_TIMEOUTS.stalledClientMs / 1_000,
      ...served,
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new Error(`Port ${port} on ${host} is taken. Stop what uses it, or set ${variable} to another.`, {
        cause: error,
      });
    }
    throw new Error(
      `The gateway cannot listen on ${host}:${port}, as ${variable} says (${String(code ?? error)}).`,
      { cause: error },
    );
  }
}

/** Polls the file; that costs less than a watch, which some file systems do not have. */
function watchSettings(file: string, onChange: () => void): void {
  const look = (): string => {
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats === undefined ? "" : `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
  };
  let seen = look();
  const check = (): void => {
    const now = look();
    if (now !== seen) {
      seen = now;
      onChange();
    }
    systemClock.setTimer(WATCH_MS, check);
  };
  systemClock.setTimer(WATCH_MS, check);
}
