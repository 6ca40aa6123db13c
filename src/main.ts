import { statSync } from "node:fs";
import { readConfig, type Config } from "./config.ts";
import { systemClock } from "./core/clock.ts";
import { describeError } from "./core/log.ts";
import { systemRandom } from "./core/random.ts";
import { greet } from "./greet.ts";
import { createLog } from "./log.ts";
import { serve, type Listener } from "./runtime/serve.ts";
import { buildServices, type Services } from "./services.ts";

/** Requests under way may take this long after the first signal. */
const DRAIN_MS = 60_000;

/** Calls that are ended then have this long to say so, with what a task that they waited for comes to in that time. */
const GOODBYE_MS = 6_000;

/** A process that can keep nothing any more has this long to refuse what is under way. */
const LAST_WORDS_MS = 1_000;

/** Above the gateway's own limit, so that the gateway gives the answer. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** How often the settings file is looked at. */
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
  const services = await buildServices({
    config,
    environment: process.env,
    clock: systemClock,
    random: systemRandom,
    log,
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
  const listener = listen(config, services);
  services.listensAt(listener.url);
  stopOnSignals(services, listener, log.flush);
  // Before anything is said: whoever changes the file once the gateway says that it listens is heard.
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
}

/** The runtime reads this once, at its start: without it, calls beyond 256 would queue unseen. */
function checkRuntime(): void {
  if (Number(process.env.BUN_CONFIG_MAX_HTTP_REQUESTS ?? 0) < 1024) {
    throw new Error(
      "BUN_CONFIG_MAX_HTTP_REQUESTS is not set: start the gateway with npm start, or set it to 20000.",
    );
  }
}

function listen(config: Config, services: Services): Listener {
  try {
    return serve({
      hostname: config.host,
      port: config.port,
      maxBodyBytes: MAX_BODY_BYTES,
      handle: services.app,
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

/** Looks at the file now and then; a look costs less than a watch that some file systems do not serve. */
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

/** First signal: take nothing new, let requests end, write everything, exit 0. Second: now. */
function stopOnSignals(services: Services, listener: Listener, flush: () => void): void {
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) {
      flush();
      process.exit(130);
    }
    stopping = true;
    services.drain();
    const timers = [
      systemClock.setTimer(DRAIN_MS, services.endCalls),
      systemClock.setTimer(DRAIN_MS + GOODBYE_MS, () => void listener.stop()),
    ];
    await listener.drain();
    for (const timer of timers) timer.cancel();
    await services.close();
    flush();
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void stop());
}
