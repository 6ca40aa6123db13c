import { Link, useParams } from "@tanstack/solid-router";
import { For, Match, Show, Switch } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../design/badge.tsx";
import { Bars } from "../../design/bars.tsx";
import { Button } from "../../design/button.tsx";
import { CopyableId } from "../../design/copy.tsx";
import { ExportButton } from "../../design/export-button.tsx";
import { Columns, Fact, Facts, Figure, Figures, Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Money, Time } from "../../design/values.tsx";
import { credits, dollars, exactCredits, exactPrice } from "../../format/money.ts";
import { compact, count, duration, seconds, share } from "../../format/numbers.ts";
import { exactTime } from "../../format/times.ts";
import { useIsOperator } from "../../lists/names.ts";
import { OwnerLink, ShortId, WordBadge } from "../../lists/parts.tsx";
import {
  attemptWords,
  BUCKET_NAMES,
  CODE_WORDS,
  entryWords,
  FLAG_WORDS,
  HOLD_WORDS,
  OUTCOME_WORDS,
  UNIT_NAMES,
  wordsOf,
} from "../../words/words.ts";
import { Outcome } from "./outcome.tsx";
import { type Found, requestQuery } from "./reads.ts";
import type { ChargeLine, RefusalRow, RequestDetail } from "./types.ts";
import { attemptMs } from "./phases.ts";
import styles from "./requests.module.css";
import { Timeline } from "./timeline.tsx";
import { pieces, tokenBuckets, tokensIn, tokensOut } from "./usage.ts";

/** What happened to this one? */
export function RequestPage() {
  const params = useParams({ from: "/requests/$id" });
  const isOperator = useIsOperator();
  const found = useQuery(() => requestQuery(params().id));
  return (
    <Page
      title="Request"
      aside={
        <>
          <CopyableId id={params().id} what="request id" />
          <Show when={found.isSuccess && found.data.kind !== "none" && found.data}>
            {(data) => <FoundBadge found={data()} />}
          </Show>
        </>
      }
      actions={
        <Link to="/requests" class={ui.soft}>
          All requests
        </Link>
      }
    >
      <Loaded of={found}>
        {(data) => (
          <Switch fallback={<None isOperator={isOperator()} retry={() => void found.refetch()} />}>
            <Match when={paidOf(data())}>{(request) => <Paid request={request()} />}</Match>
            <Match when={refusedOf(data())}>{(refusal) => <Refused refusal={refusal()} />}</Match>
          </Switch>
        )}
      </Loaded>
    </Page>
  );
}

function FoundBadge(props: { readonly found: Found }) {
  const words = () => {
    const request = paidOf(props.found);
    return request === undefined ? REFUSED : wordsOf(OUTCOME_WORDS, request.outcome);
  };
  return <WordBadge words={words()} />;
}

const REFUSED = { name: "Refused", tone: "bad", says: "It was refused before anything was held." } as const;

const paidOf = (found: Found) => (found.kind === "paid" ? found.request : undefined);
const refusedOf = (found: Found) => (found.kind === "refused" ? found.refusal : undefined);

function None(props: { readonly isOperator: boolean; readonly retry: () => void }) {
  return (
    <Empty title="There is no ended request of this id">
      <p>
        A request stands here once it has ended.{" "}
        {props.isOperator
          ? "It may still run. It may be older than the last 10,000 refusals, or have failed without holding credit; the log has its line."
          : "It may still run, be another key's, or have been refused before it cost anything."}
      </p>
      <Button onClick={() => props.retry()}>Look again</Button>
    </Empty>
  );
}

function Paid(props: { readonly request: RequestDetail }) {
  const request = () => props.request;
  const outcome = () => wordsOf(OUTCOME_WORDS, request().outcome);
  const lastedMs = (): number => (request().ended_at - request().admitted_at) * 1_000;
  const firstByteMs = (): number | undefined => {
    const at = request().first_byte_at;
    return at === null ? undefined : (at - request().admitted_at) * 1_000;
  };
  return (
    <>
      <Outcome words={outcome()} flags={request().flags.map((flag) => wordsOf(FLAG_WORDS, flag))}>
        {request().credit > 0 ? "" : "The client was not charged."}
      </Outcome>
      <Figures>
        <Figure
          name="Charged, cr"
          value={credits(request().credit)}
          note={
            exactCredits(request().credit) === credits(request().credit)
              ? dollars(request().credit)
              : `${dollars(request().credit)} · exactly ${exactCredits(request().credit)}`
          }
        />
        <Figure
          name="Tokens in"
          value={compact(tokensIn(request().usage))}
          note={cachedNote(request().usage)}
        />
        <Figure
          name={
            pieces(request().usage).length > 0 && tokensOut(request().usage) === 0 ? "Made" : "Tokens out"
          }
          value={
            tokensOut(request().usage) === 0 && pieces(request().usage).length > 0
              ? pieces(request().usage).join(", ")
              : compact(tokensOut(request().usage))
          }
          note={madeNote(request().usage)}
        />
        <Figure
          name="First byte"
          value={firstByteMs() === undefined ? "–" : duration(firstByteMs() ?? 0)}
          note={firstByteNote(request())}
        />
        <Figure name="Time" value={duration(lastedMs())} note={exactTime(request().ended_at)} />
      </Figures>
      <Panel title="Timeline">
        <Timeline request={request()} />
      </Panel>
      <Attempts request={request()} />
      <Columns>
        <div class={ui.page}>
          <Charge request={request()} />
          <Panel title="Tokens by bucket">
            <Show
              when={tokenBuckets(request().usage).length > 0}
              fallback={<p class={ui.soft}>{pieces(request().usage).join(", ") || "Nothing was used."}</p>}
            >
              <Bars
                rows={tokenBuckets(request().usage).map(({ bucket, tokens }) => ({
                  name: BUCKET_NAMES[bucket] ?? bucket,
                  value: tokens,
                  shown: count(tokens),
                }))}
              />
            </Show>
          </Panel>
        </div>
        <Details request={request()} />
      </Columns>
      <Ledger request={request()} />
    </>
  );
}

function firstByteNote({ first_byte_at, task_id }: RequestDetail): string {
  if (first_byte_at !== null) return "After admission";
  return task_id === null ? "No answer began" : "A task has none";
}

function cachedNote(usage: Readonly<Record<string, number>>): string {
  const read = usage["cacheRead"] ?? 0;
  return read === 0 ? "" : `${share(read, tokensIn(usage))} read from cache`;
}

function madeNote(usage: Readonly<Record<string, number>>): string {
  const reasoning = usage["reasoning"] ?? 0;
  if (reasoning > 0) return `${share(reasoning, tokensOut(usage))} reasoning`;
  return tokensOut(usage) > 0 ? pieces(usage).join(", ") : "";
}

function Attempts(props: { readonly request: RequestDetail }) {
  const isOperator = useIsOperator();
  const took = () => attemptMs(props.request);
  const rows = () => props.request.attempts.map((attempt, i) => ({ ...attempt, i }));
  type Row = ReturnType<typeof rows>[number];
  const wordsFor = ({ status, i }: Row) =>
    attemptWords(status, i === props.request.attempts.length - 1 ? props.request.outcome : undefined);
  const columns: readonly Column<Row>[] = [
    { title: "Attempt", cell: ({ i }) => i + 1 },
    { title: "Provider", cell: ({ provider }) => provider },
    // A developer is not told which model stands behind the one that was asked for.
    ...(isOperator()
      ? [{ title: "Asked for", cell: ({ upstream_id }: Row) => <code>{upstream_id}</code> }]
      : []),
    {
      title: "Answer",
      cell: (row) => (
        <span class={ui.actions}>
          <WordBadge words={wordsFor(row)} />
          <span class={ui.soft}>{row.status ?? ""}</span>
        </span>
      ),
    },
    {
      title: "Sent after, s",
      isNumber: true,
      cell: ({ sent_at }) => seconds((sent_at - props.request.admitted_at) * 1_000),
    },
    { title: "Took, s", isNumber: true, cell: ({ i }) => seconds(took()[i] ?? 0) },
  ];
  return (
    <Panel
      flush
      title="Attempts"
      actions={
        <Show when={isOperator()}>
          <Link to="/health">State of the routes</Link>
        </Show>
      }
    >
      <DataTable
        label="Table of attempts"
        columns={columns}
        rows={rows()}
        empty={
          <Empty title="No provider was called">
            <p>The request ended before the gateway sent it.</p>
          </Empty>
        }
      />
    </Panel>
  );
}

const LINE_COLUMNS: readonly Column<ChargeLine>[] = [
  {
    title: "For",
    cell: ({ bucket }) => BUCKET_NAMES[bucket] ?? bucket,
    text: ({ bucket }) => bucket,
  },
  {
    title: "Quantity",
    isNumber: true,
    cell: ({ bucket, quantity }) => (bucket === "adjustment" ? "" : count(quantity)),
    text: ({ quantity }) => quantity,
  },
  {
    title: "Price",
    isNumber: true,
    cell: ({ bucket, price, unit }) => {
      if (bucket === "adjustment") return "";
      if (price === null) return <span title="The prices of then are not kept any more">not known</span>;
      const per = unit === null ? "" : ` / ${UNIT_NAMES[unit] ?? unit}`;
      return `× ${exactPrice(price)}${per}`;
    },
    text: ({ price }) => price,
  },
  {
    title: "Credits",
    isNumber: true,
    cell: ({ credit }) => exactCredits(credit),
    text: ({ credit }) => credit,
  },
];

/** The arithmetic of the charge, and what was held for it. */
function Charge(props: { readonly request: RequestDetail }) {
  const hold = () => props.request.hold;
  const margin = (): number | undefined =>
    props.request.cost === null ? undefined : props.request.credit - props.request.cost;
  return (
    <Panel
      title="Charge"
      flush
      actions={<ExportButton name={props.request.id} columns={LINE_COLUMNS} rows={props.request.lines} />}
    >
      <DataTable
        label="Lines of the charge"
        columns={LINE_COLUMNS}
        rows={props.request.lines}
        empty={
          <Empty title="Nothing was charged">
            <p>No usage was billed to the client.</p>
          </Empty>
        }
      />
      <div class={styles.foot}>
        <strong>Charged</strong>
        <strong>
          <Money credits={props.request.credit} />
        </strong>
      </div>
      <div class={styles.foot}>
        <span>
          Held before <WordBadge words={wordsOf(HOLD_WORDS, hold().state)} />
        </span>
        <Money credits={hold().amount} />
      </div>
      <Show when={props.request.cost !== null}>
        <div class={styles.foot}>
          <span>You owe the provider</span>
          <Money credits={props.request.cost ?? 0} />
        </div>
        <div class={styles.foot}>
          <span>Margin</span>
          <Money credits={margin() ?? 0} />
        </div>
      </Show>
    </Panel>
  );
}

function Ledger(props: { readonly request: RequestDetail }) {
  const isOperator = useIsOperator();
  type Row = RequestDetail["ledger"][number];
  const columns: Column<Row>[] = [
    { title: "Entry", cell: (entry) => <WordBadge words={entryWords(entry)} /> },
    { title: "Id", cell: ({ id }) => <ShortId id={id} what="entry id" /> },
    { title: "Booked", cell: ({ created_at }) => <Time at={created_at} /> },
    { title: "Amount, cr", isNumber: true, cell: ({ amount }) => exactCredits(amount) },
  ];
  if (isOperator())
    columns.push({
      title: "Balance after, cr",
      isNumber: true,
      cell: ({ balance_after }) => exactCredits(balance_after ?? 0),
    });
  return (
    <Panel
      title="Ledger"
      flush
      actions={
        <Show when={isOperator()}>
          <Link to="/accounts/$id" params={{ id: props.request.account_id }}>
            All entries of the account
          </Link>
        </Show>
      }
    >
      <DataTable
        label="Entries of the ledger"
        columns={columns}
        rows={props.request.ledger}
        empty={
          <Empty title="No entry">
            <p>The hold was released without a charge, which moves no credit.</p>
          </Empty>
        }
      />
    </Panel>
  );
}

function Details(props: { readonly request: RequestDetail }) {
  const request = () => props.request;
  return (
    <Panel title="Details">
      <Facts>
        <Fact name="Model">
          <Link to="/models/$id" params={{ id: request().model }}>
            {request().model}
          </Link>
        </Fact>
        <Fact name="Provider">{request().provider ?? "None was reached"}</Fact>
        <Fact name="Account">
          <OwnerLink to="/accounts/$id" id={request().account_id} />
        </Fact>
        <Fact name="Key">
          <OwnerLink to="/keys/$id" id={request().key_id} />
        </Fact>
        <Show when={request().task_id}>
          {(id) => (
            <Fact name="Task">
              <Link to="/tasks/$id" params={{ id: id() }}>
                <code>{id()}</code>
              </Link>
            </Fact>
          )}
        </Show>
        <Fact name="Outcome">
          <code>{request().outcome}</code>
        </Fact>
        <Fact name="Flags">
          <Show when={request().flags.length > 0} fallback="None">
            <For each={request().flags}>
              {(flag) => (
                <>
                  <Badge>{flag}</Badge>{" "}
                </>
              )}
            </For>
          </Show>
        </Fact>
        <Fact name="Prices">
          <CopyableId id={request().price_version} what="version of the prices" />
        </Fact>
        <Fact name="Admitted">{exactTime(request().admitted_at)}</Fact>
        <Fact name="Settled">{exactTime(request().settled_at)}</Fact>
      </Facts>
    </Panel>
  );
}

function Refused(props: { readonly refusal: RefusalRow }) {
  const refusal = () => props.refusal;
  return (
    <>
      <Outcome words={wordsOf(CODE_WORDS, refusal().code)}>
        It was refused before anything was held, so it cost nothing.
      </Outcome>
      <Panel title="Refusal">
        <Facts>
          <Fact name="Refused">
            <Time at={refusal().at} /> <span class={ui.soft}>{exactTime(refusal().at)}</span>
          </Fact>
          <Fact name="Status">{refusal().status}</Fact>
          <Fact name="Code">
            <code>{refusal().code}</code>
          </Fact>
          <Fact name="Field at fault">
            <Show when={refusal().field} fallback="None in particular">
              {(field) => <code>{field()}</code>}
            </Show>
          </Fact>
          <Fact name="Model">
            <Show when={refusal().model} fallback="None that is known">
              {(id) => (
                <Link to="/models/$id" params={{ id: id() }}>
                  {id()}
                </Link>
              )}
            </Show>
          </Fact>
          <Fact name="Account">
            <Show when={refusal().account_id} fallback="Not known">
              {(id) => <OwnerLink to="/accounts/$id" id={id()} />}
            </Show>
          </Fact>
          <Fact name="Key">
            <Show when={refusal().key_id} fallback="Not known">
              {(id) => <OwnerLink to="/keys/$id" id={id()} />}
            </Show>
          </Fact>
          <Fact name="Path">
            <code>{refusal().path}</code>
          </Fact>
        </Facts>
      </Panel>
    </>
  );
}
