import { Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { CopyableId } from "../../design/copy.tsx";
import { Fact, Facts, Panel } from "../../design/layout.tsx";
import { Loaded } from "../../design/states.tsx";
import { Money, Time } from "../../design/values.tsx";
import ui from "../../design/ui.module.css";
import { count } from "../../format/numbers.ts";
import { keyQuery } from "../accounts/reads.ts";
import type { KeyDetail } from "../accounts/types.ts";
import styles from "./settings.module.css";

/** What the key of a developer's session may use and spend. */
export function OwnKeyPanel(props: { readonly id: string; readonly account: string | undefined }) {
  const key = useQuery(() => keyQuery(props.id));
  return (
    <Panel title="Your key">
      <Loaded of={key}>
        {(read) => (
          <div class={styles.part}>
            <Spent spent={read().spent} budget={read().budget} />
            <Facts>
              <Fact name="Your next request may hold">
                <Money credits={read().available.amount} />{" "}
                <span class={ui.soft}>({BOUND_WORDS[read().available.bound]})</span>
              </Fact>
              <Fact name="Budget">
                <Show when={read().budget !== null} fallback="none of its own">
                  <Money credits={read().budget ?? 0} />
                </Show>
              </Fact>
              <Fact name="Set aside for calls under way">
                <Money credits={read().held} />
              </Fact>
              <Fact name="Requests a minute">{limit(read().limits.requests_per_minute)}</Fact>
              <Fact name="Tokens a minute">{limit(read().limits.tokens_per_minute)}</Fact>
              <Fact name="Requests at once">{limit(read().limits.concurrency)}</Fact>
              <Fact name="Expires">
                <Show when={read().expires_at} fallback="never">
                  {(at) => <Time at={at()} />}
                </Show>
              </Fact>
              <Fact name="Models">{read().models?.join(", ") ?? "all"}</Fact>
              <Fact name="Account">{props.account ?? "–"}</Fact>
              <Fact name="Id">
                <CopyableId id={read().id} what="key id" />
              </Fact>
            </Facts>
          </div>
        )}
      </Loaded>
    </Panel>
  );
}

/** Which of the two bounds what a key may still spend. */
const BOUND_WORDS: Readonly<Record<KeyDetail["available"]["bound"], string>> = {
  balance: "what the account has left",
  budget: "what is left of the budget",
};

/** What is spent of a budget. */
export function Spent(props: { readonly spent: number; readonly budget: number | null }) {
  return (
    <div class={styles.meter}>
      <span>
        <Money credits={props.spent} /> spent
        <Show when={props.budget !== null}>
          {" "}
          of <Money credits={props.budget ?? 0} />
        </Show>
      </span>
      <Show when={props.budget !== null && props.budget > 0}>
        <progress value={props.spent} max={props.budget ?? 1} aria-label="Spent of the budget" />
      </Show>
    </div>
  );
}

function limit(value: number | null): string {
  return value === null ? "no limit" : count(value);
}
