import { Link, useParams } from "@tanstack/solid-router";
import { createMemo, createSignal, For, type JSX, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../design/badge.tsx";
import { buttonClass } from "../../design/button.tsx";
import { CopyableId } from "../../design/copy.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { SelectField } from "../../design/field.tsx";
import { Columns, Fact, Facts, Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { WithCode } from "../../design/with-code.tsx";
import { count } from "../../format/numbers.ts";
import { useIsOperator } from "../../lists/names.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { routesQuery } from "../health/reads.ts";
import { chosenRoutes } from "../health/routes.ts";
import { ROUTE_COLUMNS } from "../health/routes-panel.tsx";
import { Blocks } from "./blocks.tsx";
import { Calculator } from "./calculator.tsx";
import styles from "./models.module.css";
import { type Section, sectionsOf } from "./page-text.ts";
import { type Parameter, parametersOf } from "./parameters.ts";
import { modelsQuery } from "../../api/models.ts";
import { docsPath, docsQuery, type Model, pricesQuery } from "./reads.ts";
import type { MODEL_SEARCH } from "./search.ts";
import { formatName, PLAYGROUNDS } from "./words.ts";

/** One model: what it can do, what it costs, and how it is called. */
export function ModelPage() {
  const params = useParams({ from: "/models/$id" });
  const { search } = useListSearch<(typeof MODEL_SEARCH)[number]>();
  const models = useQuery(() => modelsQuery);
  // One id can be a model of two categories.
  const same = createMemo(() => (models.data?.data ?? []).filter(({ id }) => id === params().id));
  const model = createMemo(() => same().find(({ category }) => category === search().category) ?? same()[0]);
  return (
    <Show
      when={model()}
      fallback={
        <Page title={params().id}>
          <Loaded of={models} skeleton={<Skeleton lines={10} />}>
            {() => (
              <Empty title="No such model is served">
                <p>It may have had a provider that has no key now.</p>
                <Link to="/models">All models</Link>
              </Empty>
            )}
          </Loaded>
        </Page>
      }
    >
      {(present) => <Present model={present()} same={same()} />}
    </Show>
  );
}

function Present(props: { readonly model: Model; readonly same: readonly Model[] }) {
  const isOperator = useIsOperator();
  const docs = useQuery(() => docsQuery(props.model.unique_id));
  const prices = useQuery(() => pricesQuery);
  return (
    <Page
      title={props.model.display_name}
      aside={
        <>
          <Badge>{props.model.category}</Badge>
          <CopyableId id={props.model.id} what="model id" />
          <For each={props.same.filter(({ category }) => category !== props.model.category)}>
            {({ id, category }) => (
              <Link to="/models/$id" params={{ id }} search={{ category }}>
                The same as a model of the category {category}
              </Link>
            )}
          </For>
        </>
      }
      actions={
        <>
          <a href={docsPath(props.model.unique_id)} target="_blank" rel="noreferrer">
            llms.txt
          </a>
          <TryIt model={props.model} />
        </>
      }
    >
      <Columns>
        <Panel title="What it takes and gives">
          <Abilities model={props.model} />
        </Panel>
        <Panel title="What a request costs">
          <Loaded of={prices}>
            {(lists) => (
              <Calculator prices={lists().get(props.model.unique_id) ?? []} category={props.model.category} />
            )}
          </Loaded>
        </Panel>
      </Columns>
      <DocsPanel of={docs} title="Prices" />
      <Show when={isOperator()}>
        <RoutesPanel model={props.model} />
      </Show>
      <Panel title="Examples">
        <FromDocs of={docs}>{(page) => <Examples of={sectionOf(page(), "Examples")} />}</FromDocs>
      </Panel>
      <Parameters model={props.model} />
      <Columns>
        <DocsPanel of={docs} title="Limits" />
        <DocsPanel of={docs} title="What to know" />
      </Columns>
    </Page>
  );
}

function TryIt(props: { readonly model: Model }) {
  const place = () => (PLAYGROUNDS as Readonly<Record<string, string>>)[props.model.category];
  return (
    <Show when={place()}>
      {(to) => (
        <Link to={to()} search={{ model: props.model.id } as object} class={buttonClass("primary")}>
          Try it
        </Link>
      )}
    </Show>
  );
}

function Abilities(props: { readonly model: Model }) {
  const tokens = (value: number | null): string => (value === null ? "–" : `${count(value)} tokens`);
  return (
    <div class={styles.facts}>
      <Facts>
        <Fact name="Takes">{props.model.input_modalities.join(", ")}</Fact>
        <Fact name="Gives">{props.model.output_modalities.join(", ") || "vectors"}</Fact>
        <Fact name="Context">{tokens(props.model.total_context)}</Fact>
        <Fact name="Longest output">{tokens(props.model.max_output)}</Fact>
        <Fact name="Maker">{props.model.vendor}</Fact>
      </Facts>
      <Show when={Object.keys(props.model.formats).length > 0}>
        <Facts>
          <For each={Object.entries(props.model.formats)}>
            {([format, how]) => (
              <Fact name={formatName(format)}>
                <Badge tone={how === "relay" ? "ok" : "none"}>{how}</Badge>
              </Fact>
            )}
          </For>
        </Facts>
        <p class={ui.hint}>
          A relayed format reaches a provider as it was sent; a translated one is turned into one that a
          provider speaks, and its answer back.
        </p>
      </Show>
    </div>
  );
}

interface Docs {
  readonly data: string | undefined;
  readonly error: Error | null;
  refetch(): Promise<unknown>;
}

function FromDocs(props: { readonly of: Docs; readonly children: (page: () => string) => JSX.Element }) {
  return (
    <Loaded of={props.of} skeleton={<Skeleton lines={5} />}>
      {props.children}
    </Loaded>
  );
}

/** A section of the model's page that has no parts. */
function DocsPanel(props: { readonly of: Docs; readonly title: string }) {
  return (
    <Panel title={props.title}>
      <FromDocs of={props.of}>
        {(page) => (
          <div class={styles.lines}>
            <Blocks blocks={sectionOf(page(), props.title)?.blocks ?? []} label={props.title} />
          </div>
        )}
      </FromDocs>
    </Panel>
  );
}

function sectionOf(page: string, title: string): Section | undefined {
  return sectionsOf(page).find((section) => section.title === title);
}

function Examples(props: { readonly of: Section | undefined }) {
  const { search, change } = useListSearch<(typeof MODEL_SEARCH)[number]>();
  const parts = (): Section["parts"] => props.of?.parts ?? [];
  const chosen = createMemo(() => parts().find(({ title }) => title === search().example) ?? parts()[0]);
  return (
    <div class={styles.lines}>
      <div class={styles.narrow}>
        <SelectField label="Example" onChange={(event) => change({ example: event.currentTarget.value })}>
          <For each={parts()}>
            {({ title }) => (
              <option value={title} selected={title === chosen()?.title}>
                {title}
              </option>
            )}
          </For>
        </SelectField>
      </div>
      <Blocks blocks={chosen()?.blocks ?? []} label="Example" />
      <Blocks blocks={props.of?.blocks ?? []} label="Examples" />
    </div>
  );
}

function RoutesPanel(props: { readonly model: Model }) {
  const routes = useQuery(() => ({ ...routesQuery, reconcile: "id" }));
  const [order, setOrder] = createSignal("state");
  const rows = createMemo(() =>
    chosenRoutes(
      (routes.data ?? []).filter(
        ({ model, category }) => model === props.model.id && category === props.model.category,
      ),
      { order: order() },
    ),
  );
  return (
    <Panel
      flush
      title="Routes and their health"
      actions={<ExportButton name="routes" columns={ROUTE_COLUMNS} rows={rows()} />}
    >
      <Loaded
        of={routes}
        skeleton={
          <div class={ui.panelBody}>
            <Skeleton />
          </div>
        }
      >
        {() => (
          <DataTable
            label="Table of routes"
            columns={ROUTE_COLUMNS}
            rows={rows()}
            ordering={{ by: order(), change: setOrder }}
            empty={<Empty title="No route leads to this model" />}
          />
        )}
      </Loaded>
    </Panel>
  );
}

const PARAMETERS: readonly Column<Parameter>[] = [
  {
    title: "Name",
    cell: (parameter) => <code>{parameter.name}</code>,
    text: ({ name }) => name,
  },
  { title: "Type", cell: ({ type }) => <span class={styles.range}>{type}</span>, text: ({ type }) => type },
  {
    title: "Range",
    cell: ({ range }) => <span class={styles.range}>{range}</span>,
    text: ({ range }) => range,
  },
  {
    title: "Default",
    cell: (parameter) =>
      parameter.isRequired ? <Badge tone="accent">required</Badge> : <code>{parameter.default}</code>,
    text: (parameter) => (parameter.isRequired ? "required" : parameter.default),
  },
  {
    title: "What it does",
    cell: (parameter) => (
      <span class={styles.description}>
        <WithCode text={parameter.description} />
      </span>
    ),
    text: ({ description }) => description,
  },
];

function Parameters(props: { readonly model: Model }) {
  const rows = createMemo(() => parametersOf(props.model.parameter_schema));
  const format = () =>
    (props.model.parameter_schema as { readonly "x-protocol"?: string } | undefined)?.["x-protocol"];
  return (
    <Panel
      flush
      title="Parameters"
      actions={
        <div class={ui.actions}>
          <Show when={format()}>{(id) => <span class={ui.hint}>of {formatName(id())}</span>}</Show>
          <ExportButton name="parameters" columns={PARAMETERS} rows={rows()} />
        </div>
      }
    >
      <DataTable
        label="Table of parameters"
        dense
        columns={PARAMETERS}
        rows={rows()}
        empty={<Empty title="It has no parameters" />}
      />
    </Panel>
  );
}
