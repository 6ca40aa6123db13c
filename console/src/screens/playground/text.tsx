import { createComputed, createMemo, createSignal, type JSX, Show } from "solid-js";
import { modelsQuery } from "../../api/models.ts";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { Page, Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { exampleOf } from "../../lists/example-model.ts";
import { useListSearch } from "../../lists/use-search.ts";
import { PlaygroundPanel } from "../settings/playground.tsx";
import { useCharged } from "./charged.ts";
import { Composer } from "./composer.tsx";
import type { Message } from "./conversation.ts";
import type { Lane } from "./lane.ts";
import { LaneView } from "./lane-view.tsx";
import { type Model, ModelPicker } from "./model-picker.tsx";
import type { PLAYGROUND_SEARCH } from "./search.ts";
import { type Talk, talkOfReader } from "./talk.ts";
import { WishesForm } from "./wishes.tsx";
import styles from "./playground.module.css";
import { PlaygroundTabs } from "./tabs.tsx";

/** How does this model answer? */
export function PlaygroundText() {
  const session = useQuery(() => sessionQuery);
  const models = useQuery(() => modelsQuery);
  return (
    <Loaded of={models}>
      {(page) => {
        const language = createMemo(() => page().data.filter(({ category }) => category === "language"));
        return (
          <Show
            when={language().length > 0}
            fallback={
              <Page title="Playground">
                <Empty title="There is no model to talk to">
                  <p>The key that this session stands for may use no language model.</p>
                </Empty>
              </Page>
            }
          >
            <Show when={session.data}>
              {(present) => (
                <Talking models={language()} example={present().example_model} talk={talkOfReader()} />
              )}
            </Show>
          </Show>
        );
      }}
    </Loaded>
  );
}

function Talking(props: {
  readonly models: readonly Model[];
  /** The model that is chosen at first, where it is one of them. */
  readonly example: string;
  readonly talk: Talk;
}) {
  const { search, change } = useListSearch<(typeof PLAYGROUND_SEARCH)[number]>();
  const { isUnchosen } = useCharged();
  const { lanes, wishes, setModels, isKept } = props.talk;
  const byId = (id: string | undefined): Model | undefined =>
    props.models.find((each) => each.id === id || each.unique_id === id);
  const first = createMemo(() => byId(search().model) ?? exampleOf(props.models, props.example));
  const second = createMemo(() => byId(search().model2));
  createComputed(() => setModels([first(), second()]));
  const shown = (): readonly Lane[] => (second() === undefined ? lanes.slice(0, 1) : lanes);
  const isEmpty = (): boolean => lanes.every(({ entries }) => entries.length === 0);
  const compare = (): void => {
    const other = props.models.find(({ vendor }) => vendor !== first()?.vendor) ?? first();
    change({ model: first()?.id, model2: other?.id });
  };
  const say = (message: Message): void => {
    for (const lane of shown()) void lane.say([message]);
  };
  const unknown = (): string | undefined =>
    search().model !== undefined && byId(search().model) === undefined ? search().model : undefined;
  return (
    <Page
      title="Playground"
      aside={<PlaygroundTabs />}
      actions={
        <>
          <Show
            when={second()}
            fallback={
              <Button disabled={props.models.length < 2} onClick={compare}>
                Compare two
              </Button>
            }
          >
            <Button onClick={() => change({ model2: "" })}>One model</Button>
          </Show>
          <Button disabled={isEmpty()} onClick={() => lanes.forEach((lane) => lane.clear())}>
            New conversation
          </Button>
        </>
      }
    >
      <Show when={isUnchosen()}>
        <PlaygroundPanel title="What runs are charged to" />
      </Show>
      <Show when={unknown()}>
        {(id) => (
          <p role="alert">
            There is no language model <code>{id()}</code> that this session may use; another is chosen.
          </p>
        )}
      </Show>
      <div class={styles.place}>
        <div class={styles.talk}>
          <div class={styles.lanes} data-two={second() !== undefined}>
            <section class={styles.column} aria-label="First model">
              <ModelPicker
                label="Model"
                models={props.models}
                chosen={first()}
                onChange={(model) => change({ model })}
              />
              <Conversation lane={lanes[0]} model={first()} />
            </section>
            <Show when={second()}>
              {(model) => (
                <section class={styles.column} aria-label="Second model">
                  <ModelPicker
                    label="Beside it"
                    models={props.models}
                    chosen={model()}
                    onChange={(model2) => change({ model2 })}
                  />
                  <Conversation lane={lanes[1]} model={model()} />
                </section>
              )}
            </Show>
          </div>
          <Show when={!isKept()}>
            <p class={ui.hint} role="status">
              The conversation is too large for the browser to keep: a reload loses it.
            </p>
          </Show>
          <Composer
            isRunning={shown().some((lane) => lane.isRunning())}
            isHeld={isUnchosen()}
            blocked={isUnchosen() ? "Choose above what runs are charged to." : wishes.fault()}
            onSend={say}
            onStop={() => shown().forEach((lane) => lane.stop())}
          />
        </div>
        <Settings>
          <WishesForm wishes={wishes} models={[first(), second()].filter((model) => model !== undefined)} />
        </Settings>
      </div>
    </Page>
  );
}

function Conversation(props: { readonly lane: Lane | undefined; readonly model: Model | undefined }) {
  return (
    <Show when={props.lane}>
      {(lane) => <LaneView lane={lane()} model={props.model?.display_name ?? ""} />}
    </Show>
  );
}

/** Beside the conversation; on a narrow screen it opens on demand. */
function Settings(props: { readonly children: JSX.Element }) {
  const [isOpen, setOpen] = createSignal(false);
  return (
    <aside class={styles.settings} data-open={isOpen()} aria-label="Request">
      <Button class={styles.settingsButton} aria-expanded={isOpen()} onClick={() => setOpen(!isOpen())}>
        {isOpen() ? "Hide what is asked for" : "System prompt, tools, parameters"}
      </Button>
      <div class={styles.settingsBody}>
        <Panel title="Request">{props.children}</Panel>
      </div>
    </aside>
  );
}
