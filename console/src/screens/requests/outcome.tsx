import { For, type JSX, Show } from "solid-js";
import { Badge } from "../../design/badge.tsx";
import type { Words } from "../../words/words.ts";
import styles from "./requests.module.css";

/** What happened in plain words, what to do about it, and what was special. */
export function Outcome(props: {
  readonly words: Words;
  readonly flags?: readonly Words[];
  readonly children?: JSX.Element;
}) {
  return (
    <section class={styles.callout} data-tone={props.words.tone} aria-label="What happened">
      <h2>{props.words.name}</h2>
      <p>
        {props.words.says} {props.children}
      </p>
      <Show when={props.words.todo}>
        <p>
          <strong>What to do:</strong> {props.words.todo}
        </p>
      </Show>
      <Show when={(props.flags ?? []).length > 0}>
        <dl>
          <For each={props.flags}>
            {(flag) => (
              <div>
                <dt>
                  <Badge tone={flag.tone}>{flag.name}</Badge>
                </dt>
                <dd>
                  {flag.says} {flag.todo}
                </dd>
              </div>
            )}
          </For>
        </dl>
      </Show>
    </section>
  );
}
