import { Link, useNavigate, useSearch } from "@tanstack/solid-router";
import { createMemo, For, Show } from "solid-js";
import { modelsQuery } from "../../api/models.ts";
import { useQuery } from "../../api/query.ts";
import { buttonClass } from "../../design/button.tsx";
import { SelectField } from "../../design/field.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Tabs } from "../../design/tabs.tsx";
import ui from "../../design/ui.module.css";
import { Code } from "./code.tsx";
import { LANGUAGES, SNIPPETS, type SnippetId, type WelcomeSearch } from "./search.ts";
import { callable, installOf, modelFor, snippetOf } from "./snippets.ts";
import styles from "./welcome.module.css";

const LANGUAGE_NAMES = { typescript: "TypeScript", python: "Python" } as const;

/** The same first call by curl and by each SDK; which one is shown stands in the address of the page. */
export function FirstCall(props: {
  readonly url: string;
  /** The model that it names where that may be used. */
  readonly example: string;
  /** The models that the caller's key may use; absent or `null`: all. */
  readonly allowed?: readonly string[] | null;
}) {
  const models = useQuery(() => modelsQuery);
  const isAllowed = (id: string): boolean => props.allowed?.includes(id) ?? true;
  return (
    <Loaded of={models}>
      {(list) => (
        <Snippets
          url={props.url}
          example={props.example}
          models={callable(list().data).filter(({ id }) => isAllowed(id))}
          isNarrowed={(props.allowed ?? null) !== null}
        />
      )}
    </Loaded>
  );
}

function Snippets(props: {
  readonly url: string;
  readonly example: string;
  readonly models: ReturnType<typeof callable>;
  readonly isNarrowed: boolean;
}) {
  const search = useSearch({ strict: false }) as () => WelcomeSearch;
  const navigate = useNavigate();
  const change = (next: WelcomeSearch): void =>
    void navigate({
      to: ".",
      search: (before: WelcomeSearch) => ({ ...before, ...next }),
      replace: true,
      resetScroll: false,
    });
  const call = (): SnippetId => search().call ?? SNIPPETS[0].id;
  const language = () => search().language ?? LANGUAGES[0];
  const model = createMemo(() => {
    const isServed = props.models.some(({ id }) => id === search().model);
    return isServed ? search().model : modelFor(call(), props.models, props.example);
  });
  return (
    <Show
      when={model()}
      fallback={
        <Show
          when={props.isNarrowed}
          fallback={
            <Empty title="No language model is served">
              <p>Give the gateway a provider's key, or start it with SWITCHYARD_SANDBOX=on.</p>
            </Empty>
          }
        >
          <Empty title="The key may use no language model">
            <p>The page of each model has calls for it.</p>
            <Link to="/models">Models</Link>
          </Empty>
        </Show>
      }
    >
      {(name) => (
        <Tabs
          label="How the call is made"
          tabs={SNIPPETS.map(({ id, name: shown }) => ({ value: id, name: shown }))}
          value={call()}
          onChange={(id) => change({ call: SNIPPETS.find((snippet) => snippet.id === id)?.id })}
        >
          <div class={styles.row}>
            <SelectField
              label="Model"
              value={name()}
              onChange={(event) => change({ model: event.currentTarget.value })}
            >
              <For each={props.models}>{({ id }) => <option value={id}>{id}</option>}</For>
            </SelectField>
            <Show when={call() !== "curl"}>
              <SelectField
                label="Language"
                value={language()}
                onChange={(event) =>
                  change({ language: LANGUAGES.find((known) => known === event.currentTarget.value) })
                }
              >
                <For each={LANGUAGES}>
                  {(known) => <option value={known}>{LANGUAGE_NAMES[known]}</option>}
                </For>
              </SelectField>
            </Show>
          </div>
          <Show when={installOf(call(), language())}>
            {(line) => <Code text={line()} what="what installs it" />}
          </Show>
          <Code text={snippetOf(call(), language(), { url: props.url, model: name() })} what="the call" />
          <div class={ui.actions}>
            <Link to="/playground" search={{ model: name() } as object} class={buttonClass()}>
              Try it here
            </Link>
            <Link to="/models/$id" params={{ id: name() }}>
              What {name()} can do
            </Link>
          </div>
        </Tabs>
      )}
    </Show>
  );
}
