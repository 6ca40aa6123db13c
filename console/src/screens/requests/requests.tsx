import { Page } from "../../design/layout.tsx";
import { Tabs } from "../../design/tabs.tsx";
import { useIsOperator } from "../../lists/names.ts";
import type { REQUESTS_SEARCH } from "../../lists/search.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { Show } from "solid-js";
import { Paid } from "./paid.tsx";
import { Refused } from "./refused.tsx";

const TABS = [
  { value: "paid", name: "Paid" },
  { value: "refused", name: "Refused" },
] as const;

/** What happened? The requests that ended, and those that were refused before anything was held. */
export function Requests() {
  const isOperator = useIsOperator();
  const { search, change } = useListSearch<(typeof REQUESTS_SEARCH)[number]>();
  const tab = (): string => (search().tab === "refused" && isOperator() ? "refused" : "paid");
  // The filters of one tab mean nothing in the other.
  const choose = (next: string): void =>
    change({
      tab: next === "paid" ? "" : next,
      id: "",
      provider: "",
      outcome: "",
      status: "",
      code: "",
      group: "",
      sort: "",
    });
  return (
    <Page title="Requests">
      <Show when={isOperator()} fallback={<Paid />}>
        <Tabs label="Kinds of requests" tabs={TABS} value={tab()} onChange={choose}>
          <Show when={tab() === "paid"} fallback={<Refused />}>
            <Paid />
          </Show>
        </Tabs>
      </Show>
    </Page>
  );
}
