/** After this long without a key, a click or a turn of the wheel the reader counts as away. */
const AWAY_MS = 60_000;

const SIGNS = ["pointerdown", "keydown", "wheel", "touchmove"] as const;

/** Whether the reader attends to the page. What an open page reads by itself must not keep its session alive. */
export interface Attention {
  isAway(): boolean;
}

/** Watches `page` for signs of its reader; opening it is the first one. `nowMs` is a steady clock. */
export function watchAttention(page: Pick<EventTarget, "addEventListener">, nowMs: () => number): Attention {
  let lastMs = nowMs();
  for (const sign of SIGNS)
    page.addEventListener(sign, () => void (lastMs = nowMs()), { capture: true, passive: true });
  return { isAway: () => nowMs() - lastMs >= AWAY_MS };
}
