import { useQueryClient } from "@tanstack/solid-query";
import { Link } from "@tanstack/solid-router";
import { createMemo, For, Show } from "solid-js";
import { type Entry } from "../../api/client.ts";
import { modelsQuery } from "../../api/models.ts";
import { useQuery } from "../../api/query.ts";
import { Button } from "../../design/button.tsx";
import { SelectField, TextArea } from "../../design/field.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { SchemaForm } from "../../design/schema-form.tsx";
import type { Schema } from "../../design/schema-fields.ts";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { credits, dollars } from "../../format/money.ts";
import { count } from "../../format/numbers.ts";
import { OwnerLink } from "../../lists/parts.tsx";
import { useListSearch } from "../../lists/use-search.ts";
import { jobCostsQuery } from "../models/reads.ts";
import { PlaygroundPanel } from "../settings/playground.tsx";
import {
  type Draft,
  faultOf,
  fitting,
  formFields,
  jobOf,
  type MediaKind,
  promptLimit,
  slotsOf,
} from "./media-job.ts";
import { estimate, type Estimate, refusalOf } from "./media-price.ts";
import { type Run, startRun } from "./media-run.ts";
import { type Charged, useCharged } from "./charged.ts";
import { type Visit, visitOf } from "./media-visit.ts";
import styles from "./media.module.css";
import { ReferenceSlot } from "./references.tsx";
import { RunCard } from "./run-view.tsx";
import { PlaygroundTabs } from "./tabs.tsx";

type Model = Entry<"/api/v1/models">;

const TITLES = { image: "Images", video: "Videos" } as const;

/** What do I get for this? */
export function MediaPlayground(props: { readonly kind: MediaKind }) {
  const models = useQuery(() => modelsQuery);
  return (
    <Page title="Playground" aside={<PlaygroundTabs />} actions={<ChargedTo />}>
      <Loaded of={models} skeleton={<Skeleton lines={8} />}>
        {(all) => (
          <Workbench
            kind={props.kind}
            models={all().data.filter(({ category }) => category === props.kind)}
            visit={visitOf(props.kind)}
          />
        )}
      </Loaded>
    </Page>
  );
}

function ChargedTo() {
  const { charged, account } = useCharged();
  return (
    <>
      <Show when={charged()}>
        {(chosen) => (
          <span class={ui.soft}>
            Charged to <OwnerLink to="/accounts/$id" id={chosen().account_id} /> · {credits(chosen().spent)}
            {chosen().budget === null ? "" : ` of ${credits(chosen().budget ?? 0)}`} cr spent
          </span>
        )}
      </Show>
      <Show when={account()}>{(own) => <span class={ui.soft}>Charged to {own().name}</span>}</Show>
    </>
  );
}

function Workbench(props: {
  readonly kind: MediaKind;
  readonly models: readonly Model[];
  readonly visit: Visit;
}) {
  const { search, change } = useListSearch<"model">();
  const { isUnchosen } = useCharged();
  const queries = useQueryClient();
  let results: HTMLDivElement | undefined;
  const model = createMemo(() => props.models.find(({ id }) => id === search().model) ?? props.models[0]);
  const isUnknown = (): boolean => search().model !== undefined && model()?.id !== search().model;

  const run = (chosen: Model): void => {
    const draft = props.visit.draft();
    const job = jobOf(props.kind, chosen.id, schemaOf(chosen), draft);
    const next = startRun(
      props.kind,
      job,
      draft,
      () => void queries.invalidateQueries({ queryKey: ["playground"] }),
    );
    props.visit.setRuns((runs) => [next, ...runs]);
    // In one column the runs stand below the form.
    if ((results?.getBoundingClientRect().top ?? 0) > window.innerHeight / 2)
      results?.scrollIntoView({ block: "start" });
  };
  const reuse = ({ job, draft }: Run): void => {
    props.visit.setDraft(draft);
    change({ model: job.model });
    window.scrollTo({ top: 0 });
  };
  return (
    <Show when={model()} fallback={<NoModels kind={props.kind} />}>
      {(chosen) => (
        <>
          <Show when={isUnchosen()}>
            <PlaygroundPanel title="What runs are charged to" />
          </Show>
          <div class={styles.bench}>
            <Panel title="Job">
              <form
                class={styles.form}
                onSubmit={(event) => {
                  event.preventDefault();
                  if (!isUnchosen() && faultOf(schemaOf(chosen()), props.visit.draft()) === undefined)
                    run(chosen());
                }}
              >
                <SelectField
                  label="Model"
                  fault={isUnknown() ? `There is no ${props.kind} model ${search().model}.` : undefined}
                  value={chosen().id}
                  onChange={(event) => change({ model: event.currentTarget.value })}
                >
                  <For each={props.models}>
                    {({ id, display_name }) => (
                      <option value={id} selected={id === chosen().id}>
                        {display_name} ({id})
                      </option>
                    )}
                  </For>
                </SelectField>
                <JobForm kind={props.kind} model={chosen()} visit={props.visit} />
                <Submit
                  kind={props.kind}
                  model={chosen()}
                  draft={props.visit.draft()}
                  isHeld={isUnchosen()}
                />
              </form>
            </Panel>
            <div ref={(element) => (results = element)} class={styles.results}>
              <Panel title="This visit">
                <Show when={props.visit.runs().length > 0} fallback={<NoRuns kind={props.kind} />}>
                  <div class={styles.runs}>
                    <For each={props.visit.runs()}>{(each) => <RunCard run={each} onReuse={reuse} />}</For>
                  </div>
                </Show>
              </Panel>
            </div>
          </div>
        </>
      )}
    </Show>
  );
}

function NoModels(props: { readonly kind: MediaKind }) {
  return (
    <Panel title={TITLES[props.kind]}>
      <Empty title={`No ${props.kind} model is served`}>
        <p>A model appears here as soon as the catalog has a route for it.</p>
        <Link to="/models">See the models</Link>
      </Empty>
    </Panel>
  );
}

function NoRuns(props: { readonly kind: MediaKind }) {
  return (
    <Empty title="Nothing made yet">
      <p>
        What you make stands here with its price, until you sign out or load the page again. Each{" "}
        {props.kind === "image" ? "image" : "video"} task also stays under <Link to="/tasks">Tasks</Link>.
      </p>
    </Empty>
  );
}

function JobForm(props: { readonly kind: MediaKind; readonly model: Model; readonly visit: Visit }) {
  const schema = createMemo(() => schemaOf(props.model));
  const fields = createMemo(() => formFields(schema()));
  const slots = createMemo(() => slotsOf(schema()));
  const draft = () => props.visit.draft();
  const set = (next: Partial<Draft>): void => void props.visit.setDraft((before) => ({ ...before, ...next }));
  const isLong = (): boolean => draft().prompt.length > (promptLimit(schema()) ?? Infinity);
  const length = (): string | undefined => {
    const most = promptLimit(schema());
    return most === undefined ? undefined : `${count(draft().prompt.length)} of ${count(most)} characters`;
  };
  return (
    <>
      <TextArea
        label="Prompt"
        rows={5}
        placeholder={props.kind === "image" ? "What the image shows" : "What happens in the video"}
        value={draft().prompt}
        hint={length()}
        fault={isLong() ? `${length()}: too long for this model` : undefined}
        onInput={(event) => set({ prompt: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey))
            event.currentTarget.form?.requestSubmit();
        }}
      />
      <For each={slots()}>
        {(slot) => (
          <ReferenceSlot
            slot={slot}
            references={draft().references[slot.key] ?? []}
            link={draft().links[slot.key] ?? ""}
            onLink={(link) => set({ links: { ...draft().links, [slot.key]: link } })}
            onChange={(references) => set({ references: { ...draft().references, [slot.key]: references } })}
          />
        )}
      </For>
      <Show when={props.kind === "image"}>
        <SelectField
          label="Answer"
          hint={
            draft().isTask
              ? "Shows its progress, and can be cancelled while it waits"
              : "The call stays open until the images are made"
          }
          value={draft().isTask ? "task" : "once"}
          onChange={(event) => set({ isTask: event.currentTarget.value === "task" })}
        >
          <option value="task">As a task (async)</option>
          <option value="once">At once, in one answer</option>
        </SelectField>
      </Show>
      <details class={styles.parameters} open>
        <summary>Parameters</summary>
        <SchemaForm
          fields={fields()}
          values={fitting(fields(), draft().values)}
          onChange={(values) => set({ values })}
        />
      </details>
    </>
  );
}

function Submit(props: {
  readonly kind: MediaKind;
  readonly model: Model;
  readonly draft: Draft;
  readonly isHeld: boolean;
}) {
  const prices = useQuery(() => jobCostsQuery);
  const schema = createMemo(() => schemaOf(props.model));
  const costs = () => prices.data?.get(props.model.unique_id);
  const job = createMemo(() => jobOf(props.kind, props.model.id, schema(), props.draft));
  /** Of the job, by what it costs and what it leaves out. */
  const of = <Found,>(find: (...asked: Parameters<typeof estimate>) => Found): Found | undefined => {
    const known = costs();
    return known === undefined ? undefined : find(known, job(), defaultsOf(schema()));
  };
  const price = createMemo(() => of(estimate));
  const refusal = createMemo(() => of(refusalOf));
  const fault = (): string | undefined => faultOf(schema(), props.draft) ?? refusal();
  const { charged } = useCharged();
  /** What is left of the playground's budget, where a hold of the most that the job costs is above it. */
  const tooLittle = (): number | undefined => {
    const left = leftOf(charged());
    return left !== undefined && (price()?.most ?? 0) > left ? left : undefined;
  };
  return (
    <div class={styles.submit}>
      <div class={styles.price} role="status">
        <Show
          when={price()}
          fallback={
            <span class={ui.soft}>
              {prices.isPending ? "Reading the price…" : (refusal() ?? "The price is not known before.")}
            </span>
          }
        >
          {(found) => (
            <>
              <span>
                {prefixOf(found())} <strong class={ui.number}>{amountOf(found())}</strong>{" "}
                <span class={ui.soft}>· {usdOf(found())}</span>
              </span>
              <Show when={found().why}>{(why) => <span class={ui.hint}>{why()}</span>}</Show>
              <Show when={tooLittle() !== undefined}>
                <p class={ui.fault}>
                  The playground's budget has {credits(tooLittle() ?? 0)} cr · {dollars(tooLittle() ?? 0)}{" "}
                  left. <Link to="/settings">Raise it</Link>
                </p>
              </Show>
            </>
          )}
        </Show>
      </div>
      <Button kind="primary" type="submit" disabled={props.isHeld || fault() !== undefined}>
        {props.kind === "image" ? "Make images" : "Make a video"}
      </Button>
      <Show when={props.isHeld ? "Choose above what runs are charged to." : fault()}>
        {(why) => <span class={ui.hint}>{why()}</span>}
      </Show>
    </div>
  );
}

/** What may still be spent of the playground's budget; absent where it has none. */
function leftOf(charged: Charged | null | undefined): number | undefined {
  const budget = charged?.budget ?? null;
  return budget === null ? undefined : Math.max(0, budget - (charged?.spent ?? 0));
}

function prefixOf({ isAbout, why, least, most }: Estimate): string {
  if (isAbout) return "Costs about";
  return why === undefined || least < most ? "Costs" : "Costs at least";
}

function amountOf({ least, most }: Estimate): string {
  return least === most ? `${credits(most)} cr` : `${credits(least)} to ${credits(most)} cr`;
}

function usdOf({ least, most }: Estimate): string {
  return least === most ? dollars(most) : `${dollars(least)} to ${dollars(most)}`;
}

function schemaOf({ parameter_schema }: Model): Schema {
  return parameter_schema;
}

/** What counts where a job leaves a parameter out. */
function defaultsOf({ properties }: Schema): Readonly<Record<string, unknown>> {
  const parts = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>);
  return Object.fromEntries(parts.map(([name, part]) => [name, part.default]));
}
