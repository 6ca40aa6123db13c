import { statSync } from "node:fs";
import { readConfig, type Config } from "./environment.ts";
import { systemClock, systemStopwatch } from "./core/time/clock.ts";
import { describeError, type Log } from "./core/log/log.ts";
import { systemRandom } from "./core/random.ts";
import { warningsOf } from "./dangers.ts";
import { DEFAULT_TIMEOUTS } from "./gateway/timeouts.ts";
import { greet } from "./greet.ts";
import { createLog } from "./log.ts";
import { guardProcess } from "./runtime/descriptor-guard.ts";
import { warmHttpClient } from "./runtime/fetch.ts";
import { watchLoopDelay } from "./runtime/loop-delay.ts";
import { unmapIdleCode } from "./runtime/idle-code.ts";
import { releaseStartMemory } from "./runtime/memory.ts";
import { serve, type Listener } from "./runtime/serve.ts";
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
  for (const warning of warningsOf(config.host, process.env, process.execArgv)) log.warn(warning);
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
  const listener = listen(config, services, () => guard.hasRoom());
  const guard = guardProcess({ listener, clock: systemClock, log });
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
    log,
    say: (text) => void process.stdout.write(`${text}\n`),
  });
  await warmUp(services, log);
}

/** Has the code of paid calls compiled before the first of them, and gives back what that and the start needed. */
async function warmUp(services: Services, log: Log): Promise<void> {
  try {
    await services.warmUp();
  } catch (error) {
    log.warn("the warming failed: the first requests take longer", { error: describeError(error) });
  }
  systemClock.setTimer(COLLECTED_MS, unmapIdleCode);
}

/** The runtime reads this once, at its start: without it, calls beyond 256 would queue unseen. */
function checkRuntime(): void {
  if (Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? 0) < 1024) {
    throw new Error(
      "BUN_CONFIG_MAX_HTTP_REQUESTS is not set: start the gateway with npm start, or set it to 20000.",
    );
  }
}

function listen(config: Config, services: Services, hasRoom: () => boolean): Listener {
  try {
    return serve({
      hostname: config.host,
      port: config.port,
      stallSec: DEFAULT_TIMEOUTS.stalledClientMs / 1_000,
      handle: services.app,
      hasRoom,
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE") {
      throw new Error(
        `Port ${config.port} on ${config.host} is taken. Stop what uses it, or set PORT to another.`,
        { cause: error },
      );
    }
    throw new Error(
      `The gateway cannot listen on ${config.host}:${config.port} (${String(code ?? error)}).`,
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
