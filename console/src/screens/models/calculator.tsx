import { createMemo, createSignal, For, Show } from "solid-js";
import { TextField } from "../../design/field.tsx";
import ui from "../../design/ui.module.css";
import { credits, dollars, exactPrice } from "../../format/money.ts";
import { count } from "../../format/numbers.ts";
import styles from "./models.module.css";
import { chargedFor, chargeOf, type Condition, conditionsOf, holdsAt, type PriceRow } from "./prices.ts";

/** What a reader begins with, by the category of the model. */
const FIRST: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  language: { Input: 1_000, Output: 500 },
  embedding: { Input: 1_000 },
  image: { Image: 1, "Images in the output": 1_000 },
  video: { "Second of video": 5, Output: 100_000 },
};

/** What a request of a certain size costs by a price list. */
export function Calculator(props: { readonly prices: readonly PriceRow[]; readonly category: string }) {
  const [texts, setTexts] = createSignal<Readonly<Record<string, string>>>({});
  const [chosen, setChosen] = createSignal<Readonly<Record<string, boolean>>>({});
  const conditions = createMemo(() => conditionsOf(props.prices));
  const textOf = (what: string): string => texts()[what] ?? String(FIRST[props.category]?.[what] ?? 0);
  const holds = (condition: Condition): boolean =>
    chosen()[condition.words] ?? holdsAt(condition, Date.now());
  const lines = createMemo(() => {
    const quantities = chargedFor(props.prices).map(
      ({ what }) => [what, Math.max(0, Number(textOf(what)) || 0)] as const,
    );
    return chargeOf(props.prices, new Map(quantities), holds).filter(({ quantity }) => quantity > 0);
  });
  const total = (): number => lines().reduce((sum, line) => sum + line.credits, 0);
  return (
    <div class={styles.calculator}>
      <div class={styles.quantities}>
        <For each={chargedFor(props.prices)}>
          {({ what, per }) => (
            <TextField
              label={`${what}, ${per === 1 ? "how many" : "tokens"}`}
              type="number"
              min="0"
              step={per === 1 ? "any" : "1"}
              value={textOf(what)}
              onInput={(event) => setTexts({ ...texts(), [what]: event.currentTarget.value })}
            />
          )}
        </For>
      </div>
      <Show when={conditions().length > 0}>
        <div>
          <For each={conditions()}>
            {(condition) => (
              <label class={styles.check}>
                <input
                  type="checkbox"
                  checked={holds(condition)}
                  onChange={(event) =>
                    setChosen({ ...chosen(), [condition.words]: event.currentTarget.checked })
                  }
                />
                {condition.words}
              </label>
            )}
          </For>
        </div>
      </Show>
      <p class={styles.sum} role="status">
        <strong class={ui.number}>{credits(total())} credits</strong>
        <span class={ui.number}>{dollars(total())}</span>
        <span class={ui.hint}>
          {lines()
            .map(
              ({ row, quantity }) =>
                `${count(quantity)} × ${exactPrice(row.usd)}${row.per === 1 ? "" : " / 1M"}`,
            )
            .join(" + ")}
        </span>
      </p>
    </div>
  );
}
