import { dlopen, ptr } from "bun:ffi";

// Loaded into a gateway before its own code (`--preload`). It tells the longest that its main thread worked without a
// turn of the event loop for other work, in CPU time of that thread. It asks for a turn all the time, so the figure is
// of a process that never sleeps.

const CLOCK_THREAD_CPUTIME_ID = 3;
const NS_PER_MS = 1e6;

const socket = process.env.BENCH_STRETCHES;
if (Bun.isMainThread && socket !== undefined) {
  const { symbols } = dlopen("libc.so.6", { clock_gettime: { args: ["i32", "ptr"], returns: "i32" } });
  const time = new BigInt64Array(2);
  const cpuMs = (): number => {
    symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, ptr(time));
    return Number(time[0]) * 1_000 + Number(time[1]) / NS_PER_MS;
  };
  let last = cpuMs();
  let longest = 0;
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    setImmediate(look);
  };
  look();
  Bun.serve({
    unix: socket,
    fetch() {
      const told = longest;
      longest = 0;
      return Response.json(told);
    },
  });
}
