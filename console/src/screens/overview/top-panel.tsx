import { Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { Bars } from "../../design/bars.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Money } from "../../design/values.tsx";
import ui from "../../design/ui.module.css";
import { RowLink } from "../../lists/row-link.tsx";
import type { TimeRange } from "../../shell/range.ts";
import type { Usage } from "./types.ts";
import { type Ranked, rankingQuery } from "./reads.ts";

const PAGES = {
  model: "/models/$id",
  account: "/accounts/$id",
  key: "/keys/$id",
} as const satisfies Record<Ranked, string>;

/** The models, accounts or keys that spent the most in a range. */
export function TopPanel(props: { readonly title: string; readonly range: TimeRange; readonly by: Ranked }) {
  const usage = useQuery(() => rankingQuery(props.range, props.by));
  const rows = (data: readonly Usage<"credit">[]) =>
    data.map(({ group, name: given, credit }) => {
      const id = group ?? "";
      const name = given ?? id;
      return {
        name,
        value: credit,
        shown: <Money credits={credit} />,
        link: (
          <RowLink to={PAGES[props.by]} id={id} title={id}>
            {name}
          </RowLink>
        ),
      };
    });
  return (
    <Panel title={props.title} actions={<span class={ui.hint}>by spend</span>}>
      <Loaded of={usage}>
        {(read) => (
          <Show
            when={read().data.length > 0}
            fallback={
              <Empty title="Nothing in this range">
                <p>This list shows who spends the most.</p>
              </Empty>
            }
          >
            <Bars rows={rows(read().data)} />
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}
