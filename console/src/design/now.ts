import { createSignal } from "solid-js";

const STEP_MS = 10_000;
const [now, setNow] = createSignal(Date.now() / 1_000);
setInterval(() => {
  if (!document.hidden) setNow(Date.now() / 1_000);
}, STEP_MS);

/** Unix time in seconds, to ten seconds: what shows it is drawn anew as it goes on. */
export const nowSec: () => number = now;
