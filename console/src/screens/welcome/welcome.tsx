import { Link } from "@tanstack/solid-router";
import { createMemo, Show } from "solid-js";
import { read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { Badge } from "../../design/badge.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Loaded } from "../../design/states.tsx";
import { Money, Time } from "../../design/values.tsx";
import { WordBadge } from "../../lists/parts.tsx";
import { OUTCOME_WORDS, wordsOf } from "../../words/words.ts";
import { FirstCall } from "./first-call.tsx";
import { NewKey } from "./new-key.tsx";
import styles from "./welcome.module.css";

/** How often the page looks for a call. */
const LOOK_MS = 3_000;

/** How do I make my first call? */
export function Welcome() {
  const session = useQuery(() => sessionQuery);
  return (
    <Page title="Make a first call">
      <div class={styles.steps}>
        <p class={styles.lead}>
          One address and one key reach every model, in the formats of OpenAI, Anthropic and Google. What a
          call cost stands in its answer, and on these pages.
        </p>
        <Show when={session.data}>
          {(present) => (
            <>
              <Panel title="1. A key">
                <Show when={present().key} fallback={<NewKey />}>
                  {(key) => (
                    <p>
                      You signed in with the key {key().name}, <code>{key().hint}</code>. The calls below read
                      it from <code>SWITCHYARD_KEY</code>.
                    </p>
                  )}
                </Show>
              </Panel>
              <Panel title="2. A call">
                <FirstCall url={present().public_url} example={present().example_model} />
              </Panel>
            </>
          )}
        </Show>
        <Panel title="3. What it came to">
          <Newest />
        </Panel>
      </div>
    </Page>
  );
}

/** Waits for a request, and shows the newest. */
function Newest() {
  const newest = useQuery(() => ({
    queryKey: ["requests", "newest"],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      read("/admin/v1/requests", { query: { limit: 1 }, signal }),
    refetchInterval: LOOK_MS,
  }));
  return (
    <Loaded of={newest}>
      {(page) => {
        const request = createMemo(() => page().data[0]);
        return (
          <div class={styles.waiting} role="status">
            <Show
              when={request()}
              fallback={
                <>
                  <Badge tone="run">Waiting</Badge>
                  <span>The first call shows up here as soon as it has ended.</span>
                </>
              }
            >
              {(found) => (
                <>
                  <WordBadge words={wordsOf(OUTCOME_WORDS, found().outcome)} />
                  <span>{found().model}</span>
                  <Money credits={found().credit} />
                  <Time at={found().admitted_at} />
                  <Link to="/requests/$id" params={{ id: found().id }}>
                    What happened in it
                  </Link>
                </>
              )}
            </Show>
          </div>
        );
      }}
    </Loaded>
  );
}
