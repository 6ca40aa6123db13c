import { Link } from "@tanstack/solid-router";
import { createMemo, For, Show } from "solid-js";
import type { Entry } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { SelectField } from "../../design/field.tsx";
import ui from "../../design/ui.module.css";
import { exactPrice } from "../../format/money.ts";
import { compact } from "../../format/numbers.ts";
import { plainPrice, type PriceRow } from "../models/prices.ts";
import { pricesQuery } from "../models/reads.ts";
import styles from "./playground.module.css";

/** A model as the API lists it. */
export type Model = Entry<"/api/v1/models">;

/** A choice of a model by its vendor, with what the chosen one costs. */
export function ModelPicker(props: {
  readonly label: string;
  readonly models: readonly Model[];
  readonly chosen: Model | undefined;
  readonly onChange: (id: string) => void;
}) {
  const vendors = createMemo(() =>
    [...Map.groupBy(props.models, ({ vendor }) => vendor)].toSorted(([a], [b]) => a.localeCompare(b)),
  );
  return (
    <div class={styles.picker}>
      <SelectField label={props.label} onChange={(event) => props.onChange(event.currentTarget.value)}>
        <Show when={props.chosen === undefined}>
          <option value="" selected>
            Choose a model
          </option>
        </Show>
        <For each={vendors()}>
          {([vendor, models]) => (
            <optgroup label={vendor}>
              <For each={models}>
                {({ id, display_name: name }) => (
                  <option value={id} selected={id === props.chosen?.id}>
                    {name}
                  </option>
                )}
              </For>
            </optgroup>
          )}
        </For>
      </SelectField>
      <Show when={props.chosen}>{(model) => <Costs model={model()} />}</Show>
    </div>
  );
}

function Costs(props: { readonly model: Model }) {
  const prices = useQuery(() => pricesQuery);
  const price = (what: string): PriceRow | undefined =>
    plainPrice(prices.data?.get(props.model.unique_id) ?? [], what);
  return (
    <p class={styles.costs}>
      <Link to="/models/$id" params={{ id: props.model.id }}>
        {props.model.id}
      </Link>
      <For each={["Input", "Output"]}>
        {(what) => (
          <Show when={price(what)}>
            {(found) => (
              <span>
                {what} {exactPrice(found().usd)}
                <span class={ui.soft}> / {found().per === 1 ? "each" : "1M tokens"}</span>
              </span>
            )}
          </Show>
        )}
      </For>
      <Show when={props.model.total_context}>
        {(tokens) => <span class={ui.soft}>{compact(tokens())} context</span>}
      </Show>
    </p>
  );
}
