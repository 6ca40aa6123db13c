import { createMemo, For } from "solid-js";
import { duration, share } from "../../format/numbers.ts";
import { type Moments, type Phase, phasesOf } from "./phases.ts";
import styles from "./requests.module.css";

/** The width that a request's life is drawn in; the picture is stretched. */
const WIDE = 1_000;
/** A phase is drawn this wide at least. */
const NARROWEST = 3;

const KINDS: readonly (readonly [Phase["kind"], string])[] = [
  ["gateway", "the gateway's own time"],
  ["waiting", "waiting for the provider"],
  ["answer", "the answer"],
  ["failed", "an attempt that failed"],
];

/** The phases of a request as bars along its life. */
export function Timeline(props: { readonly request: Moments }) {
  const phases = createMemo(() => phasesOf(props.request));
  const allMs = (): number => phases().reduce((sum, { ms }) => sum + ms, 0);
  const scaled = (ms: number): number => (ms / Math.max(1, allMs())) * WIDE;
  const shown = () => KINDS.filter(([kind]) => phases().some((phase) => phase.kind === kind));
  return (
    <>
      <ol class={styles.phases}>
        <For each={phases()}>
          {({ name, kind, startMs, ms }) => {
            const width = (): number => Math.max(NARROWEST, scaled(ms));
            const left = (): number => Math.min(scaled(startMs), WIDE - width());
            return (
              <li>
                <span>{name}</span>
                <svg
                  class={styles.track}
                  viewBox={`0 0 ${WIDE} 14`}
                  preserveAspectRatio="none"
                  aria-hidden="true"
                >
                  <line class={styles.grid} x1="0" x2={WIDE} y1="7" y2="7" />
                  <rect class={styles.bar} data-kind={kind} x={left()} y="0" width={width()} height="14" />
                </svg>
                <span class={styles.ms}>{duration(ms)}</span>
                <span class={styles.ms}>{share(ms, allMs())}</span>
              </li>
            );
          }}
        </For>
        <li class={styles.sum}>
          <span>All</span>
          <span />
          <span class={styles.ms}>{duration(allMs())}</span>
          <span />
        </li>
      </ol>
      <p class={styles.legend}>
        <For each={shown()}>
          {([kind, says]) => (
            <span>
              <svg viewBox="0 0 10 10" aria-hidden="true">
                <rect class={styles.bar} data-kind={kind} width="10" height="10" rx="2" />
              </svg>
              {says}
            </span>
          )}
        </For>
      </p>
    </>
  );
}
