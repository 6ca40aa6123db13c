import { Link, useParams } from "@tanstack/solid-router";
import { createSignal, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../design/badge.tsx";
import { Button, buttonClass } from "../../design/button.tsx";
import { CopyableId } from "../../design/copy.tsx";
import { Columns, Figure, Figures, Page } from "../../design/layout.tsx";
import { Loaded, Skeleton } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import { credits, dollars } from "../../format/money.ts";
import { NotCurrent } from "../../lists/parts.tsx";
import { useListSearch } from "../../lists/use-search.ts";
import { intervalOf } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { RequestsChart, SpendChart } from "../overview/chart-panels.tsx";
import { CloseDialog, CreditDialog, RenameDialog } from "./dialogs.tsx";
import { KeysTable } from "./keys-table.tsx";
import { Ledger } from "./ledger.tsx";
import type { Account } from "./types.ts";
import { accountQuery, useSpent } from "./reads.ts";
import type { ACCOUNT_SEARCH } from "./search.ts";

type Open = "credit" | "rename" | "close";

/** One account: what is on it, who may spend it, and where it went. */
export function AccountPage() {
  const params = useParams({ from: "/accounts/$id" });
  const account = useQuery(() => accountQuery(params().id));
  return (
    <Show when={params().id} keyed>
      {(id) => (
        <Show
          when={account.data}
          fallback={
            <Page
              title="Account"
              aside={<CopyableId id={id} what="account id" />}
              actions={
                <Link to="/accounts" class={ui.soft}>
                  All accounts
                </Link>
              }
            >
              <Loaded of={account} skeleton={<Skeleton lines={8} />}>
                {() => null}
              </Loaded>
            </Page>
          }
        >
          {(present) => <Present account={present()} read={account} />}
        </Show>
      )}
    </Show>
  );
}

function Present(props: { readonly account: Account; readonly read: { readonly isRefetchError: boolean } }) {
  const { range, zoom } = useRange();
  const [open, setOpen] = createSignal<Open>();
  const { search, change } = useListSearch<(typeof ACCOUNT_SEARCH)[number]>();
  const step = () => intervalOf(range());
  const id = (): string => props.account.id;
  const isClosed = (): boolean => props.account.status === "closed";
  const spent = useSpent(range, "account", () => ({ account_id: id() }));
  const dialog = (which: Open) => ({ open: open() === which, onClose: () => setOpen(undefined) });
  return (
    <Page
      title={props.account.name}
      aside={
        <>
          <Show when={isClosed()}>
            <Badge>Closed</Badge>
          </Show>
          <CopyableId id={id()} what="account id" />
          <NotCurrent of={props.read} />
          <span class={ui.hint}>
            Opened <Time at={props.account.created_at} />
          </span>
        </>
      }
      actions={
        <>
          <Show when={!isClosed()}>
            <Button kind="danger" onClick={() => setOpen("close")}>
              Close…
            </Button>
            <Button onClick={() => setOpen("rename")}>Rename…</Button>
          </Show>
          <Button onClick={() => setOpen("credit")}>Credit…</Button>
          <Show when={!isClosed()}>
            <Link to="/keys/new" search={{ account_id: id() }} class={buttonClass("primary")}>
              Create a key
            </Link>
          </Show>
        </>
      }
    >
      <Figures>
        <AmountFigure name="Balance" amount={props.account.balance} note="what is held included" />
        <AmountFigure name="Held" amount={props.account.held} note="for requests under way" />
        <AmountFigure
          name="Free to spend"
          amount={props.account.balance - props.account.held}
          note="balance less held"
        />
        <AmountFigure name="Spent in this range" amount={spent(id())} note="as it was charged" />
      </Figures>
      <Show when={isClosed()}>
        <p class={ui.hint}>It is closed: no key spends from it, and no credit can be given to it.</p>
      </Show>
      <KeysTable
        account={id()}
        text={undefined}
        status={undefined}
        sort={search().keys}
        onSort={(keys) => change({ keys })}
      />
      <Columns>
        <SpendChart range={range()} step={step()} zoom={zoom} whose={{ account_id: id() }} />
        <RequestsChart range={range()} step={step()} zoom={zoom} whose={{ account_id: id() }} />
      </Columns>
      <Ledger account={id()} />
      <CreditDialog account={props.account} {...dialog("credit")} />
      <RenameDialog account={props.account} {...dialog("rename")} />
      <CloseDialog account={props.account} {...dialog("close")} />
    </Page>
  );
}

/** An amount in credits, in dollars below it. */
export function AmountFigure(props: {
  readonly name: string;
  readonly amount: number | undefined;
  readonly note: string;
}) {
  return (
    <Figure
      name={`${props.name}, cr`}
      value={props.amount === undefined ? "–" : credits(props.amount)}
      note={`${props.amount === undefined ? "" : `${dollars(props.amount)} · `}${props.note}`}
    />
  );
}
