import { createMemo, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { CopyableId } from "../../design/copy.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { TextField } from "../../design/field.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { exactPrice } from "../../format/money.ts";
import { compact, count, counted } from "../../format/numbers.ts";
import { inOrder } from "../../lists/order.ts";
import { ChoiceFilter, Filters } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import { useListSearch } from "../../lists/use-search.ts";
import { isChosen } from "./filter.ts";
import styles from "./models.module.css";
import { isConditional, leadingPrice, plainPrice, type PriceRow, whenOf } from "./prices.ts";
import { modelsQuery } from "../../api/models.ts";
import { type Model, pricesQuery } from "./reads.ts";
import type { MODELS_SEARCH } from "./search.ts";
import { FORMAT_NAMES, formatName } from "./words.ts";

const CONTEXTS = [
  ["128000", "at least 128 K"],
  ["200000", "at least 200 K"],
  ["1000000", "at least 1 M"],
] as const;
const FILTERS = ["text", "category", "takes", "gives", "format", "context", "price"] as const;
const CLEARED = Object.fromEntries(FILTERS.map((name) => [name, ""]));

type PricesOf = (model: Model) => readonly PriceRow[];

/** Which one should I use? */
export function Models() {
  const { search, change } = useListSearch<(typeof MODELS_SEARCH)[number]>();
  const models = useQuery(() => modelsQuery);
  const all = (): readonly Model[] => models.data?.data ?? [];
  const prices = useQuery(() => pricesQuery);
  const pricesFor: PricesOf = ({ unique_id }) => prices.data?.get(unique_id) ?? [];
  const columns = columnsOf(pricesFor);
  const shown = createMemo(() =>
    inOrder(
      all().filter((model) => isChosen(model, leadingPrice(pricesFor(model))?.usd, search())),
      columns,
      search().sort,
    ),
  );
  const values = (of: (model: Model) => readonly string[]) =>
    [...new Set(all().flatMap(of))].toSorted().map((value) => [value, value] as const);
  const set = (): number => FILTERS.filter((name) => search()[name] !== undefined).length;
  return (
    <Page title="Models">
      <Filters set={set()} onClear={() => change(CLEARED)}>
        <TextField
          label="Name, id or maker"
          type="search"
          placeholder="any"
          value={search().text ?? ""}
          onChange={(event) => change({ text: event.currentTarget.value.trim() })}
        />
        <ChoiceFilter
          label="Category"
          value={search().category}
          among={values(({ category }) => [category])}
          onChange={(category) => change({ category })}
        />
        <ChoiceFilter
          label="Takes"
          value={search().takes}
          among={values(({ input_modalities }) => input_modalities)}
          onChange={(takes) => change({ takes })}
        />
        <ChoiceFilter
          label="Gives"
          value={search().gives}
          among={values(({ output_modalities }) => output_modalities)}
          onChange={(gives) => change({ gives })}
        />
        <ChoiceFilter
          label="Format"
          value={search().format}
          among={Object.entries(FORMAT_NAMES)}
          onChange={(format) => change({ format })}
        />
        <ChoiceFilter
          label="Context"
          value={search().context}
          among={CONTEXTS}
          onChange={(context) => change({ context })}
        />
        <TextField
          label="Price at most, USD"
          title="Of a million input tokens, or of an image or a second"
          type="number"
          min="0"
          step="any"
          placeholder="any"
          value={search().price ?? ""}
          onChange={(event) => change({ price: event.currentTarget.value })}
        />
      </Filters>
      <Panel
        flush
        title="Models that are served"
        actions={
          <div class={ui.actions}>
            <span class={ui.hint}>
              USD for a million tokens, or each image or second; *&nbsp;depends on the request or the time
            </span>
            <ExportButton name="models" columns={columns} rows={shown()} />
          </div>
        }
      >
        <Loaded
          of={models}
          skeleton={
            <div class={ui.panelBody}>
              <Skeleton lines={12} />
            </div>
          }
        >
          {(read) => (
            <DataTable
              label="Table of models"
              dense
              columns={columns}
              rows={shown()}
              ordering={{ by: search().sort, change: (sort) => change({ sort }) }}
              empty={
                <Empty
                  title={read().data.length === 0 ? "No model is served" : "No model fits these filters"}
                >
                  <p>
                    {read().data.length === 0
                      ? "Give the gateway a provider's key, or start it with SWITCHYARD_SANDBOX=on."
                      : "Take a filter away."}
                  </p>
                </Empty>
              }
            />
          )}
        </Loaded>
      </Panel>
      <p class={ui.hint} role="status">
        <Show when={models.data}>
          {count(shown().length)} of {counted(all().length, "model")}.
        </Show>
        <Show when={prices.isError}> The prices cannot be read now.</Show>
      </p>
    </Page>
  );
}

function columnsOf(prices: PricesOf): readonly Column<Model>[] {
  const price = (
    title: string,
    order: string,
    find: (rows: readonly PriceRow[]) => PriceRow | undefined,
  ) => ({
    title,
    order,
    isNumber: true,
    cell: (model: Model) => <Price of={find(prices(model))} among={prices(model)} />,
    text: (model: Model) => find(prices(model))?.usd ?? null,
  });
  return [
    {
      title: "Model",
      order: "name",
      cell: (model) => (
        <span class={styles.named}>
          <RowLink to="/models/$id" id={model.id} search={{ category: model.category }}>
            {model.display_name}
          </RowLink>
          <CopyableId id={model.id} what="model id" />
        </span>
      ),
      text: ({ id }) => id,
    },
    {
      title: "Category",
      fold: 3,
      order: "category",
      cell: ({ category }) => category,
      text: ({ category }) => category,
    },
    {
      title: "Takes",
      fold: 5,
      cell: (model) => <span class={styles.takes}>{model.input_modalities.join(", ")}</span>,
      text: ({ input_modalities }) => input_modalities.join(" "),
    },
    {
      title: "Gives",
      fold: 4,
      cell: (model) => model.output_modalities.join(", ") || <span class={ui.soft}>vectors</span>,
      text: ({ output_modalities }) => output_modalities.join(" "),
    },
    {
      title: "Relayed formats",
      fold: 2,
      cell: (model) => (
        <span class={styles.takes}>
          {relayed(model).map(formatName).join(", ") || <span class={ui.soft}>–</span>}
        </span>
      ),
      text: (model) => relayed(model).map(formatName).join(", "),
    },
    {
      title: "Context",
      order: "context",
      isNumber: true,
      cell: (model) => (model.total_context === null ? "–" : compact(model.total_context)),
      text: ({ total_context }) => total_context,
    },
    {
      title: "Max output",
      fold: 1,
      order: "output",
      isNumber: true,
      cell: (model) => (model.max_output === null ? "–" : compact(model.max_output)),
      text: ({ max_output }) => max_output,
    },
    price("Input", "in", (rows) => plainPrice(rows, "Input")),
    price("Output", "out", (rows) => plainPrice(rows, "Output") ?? plainPrice(rows, "Images in the output")),
    price("Each", "each", (rows) => plainPrice(rows, "Image") ?? plainPrice(rows, "Second of video")),
  ];
}

function relayed({ formats }: Model): readonly string[] {
  return Object.entries(formats)
    .filter(([, how]) => how === "relay")
    .map(([format]) => format);
}

function Price(props: { readonly of: PriceRow | undefined; readonly among: readonly PriceRow[] }) {
  const others = () => props.among.filter(({ what }) => what === props.of?.what);
  return (
    <Show
      when={props.of}
      fallback={
        <span class={ui.soft}>
          –<span class={styles.mark} />
        </span>
      }
    >
      {(row) => (
        <span
          title={others()
            .map((rule) => `${exactPrice(rule.usd)} ${whenOf(others(), rule)}`)
            .join("; ")}
        >
          {exactPrice(row().usd)}
          <span class={styles.mark}>{isConditional(others()) ? "*" : ""}</span>
        </span>
      )}
    </Show>
  );
}
