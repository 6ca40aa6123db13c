import { useQueryClient } from "@tanstack/solid-query";
import { For, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { type Session, sessionQuery, signOut } from "../../api/session.ts";
import { Button } from "../../design/button.tsx";
import { Fact, Facts, Page, Panel } from "../../design/layout.tsx";
import { Time } from "../../design/values.tsx";
import ui from "../../design/ui.module.css";
import { chooseTheme, theme, THEMES } from "../../shell/theme.tsx";
import { OwnKeyPanel } from "./own-key.tsx";
import { OwnUsage } from "./own-usage.tsx";
import { PlaygroundPanel } from "./playground.tsx";
import styles from "./settings.module.css";

const THEME_NAMES = { system: "As the system", light: "Light", dark: "Dark" } as const;

/** How the pages look, the session, and what the playground may spend. */
export function Settings() {
  const session = useQuery(() => sessionQuery);
  return (
    <Page title="Settings">
      <div class={styles.parts}>
        <Show when={session.data}>
          {(present) => (
            <>
              <Show when={present().key} fallback={<PlaygroundPanel />}>
                {(key) => (
                  <>
                    <OwnKeyPanel id={key().id} account={present().account?.name} />
                    <OwnUsage id={key().id} />
                  </>
                )}
              </Show>
              <ThemePanel />
              <SessionPanel session={present()} />
              <Show when={present().role === "operator"}>
                <LinksPanel url={present().public_url} />
              </Show>
            </>
          )}
        </Show>
      </div>
    </Page>
  );
}

function ThemePanel() {
  return (
    <Panel title="Theme">
      <fieldset class={styles.choices}>
        <legend class="visually-hidden">Theme</legend>
        <For each={THEMES}>
          {(name) => (
            <label class={styles.choice}>
              <input
                type="radio"
                name="theme"
                value={name}
                checked={theme() === name}
                onChange={() => chooseTheme(name)}
              />
              {THEME_NAMES[name]}
            </label>
          )}
        </For>
      </fieldset>
    </Panel>
  );
}

function SessionPanel(props: { readonly session: Session }) {
  const queries = useQueryClient();
  return (
    <Panel title="Session" actions={<Button onClick={() => void signOut(queries)}>Sign out</Button>}>
      <Facts>
        <Fact name="Signed in as">{props.session.role}</Fact>
        <Fact name="With">
          <Show when={props.session.key} fallback="the admin token">
            {(key) => (
              <>
                the key {key().name} <code class={ui.soft}>{key().hint}</code>
              </>
            )}
          </Show>
        </Fact>
        <Fact name="Ends at the latest">
          <Time at={props.session.expires_at} />
        </Fact>
        <Fact name="Version">{props.session.version}</Fact>
      </Facts>
    </Panel>
  );
}

function LinksPanel(props: { readonly url: string }) {
  const links = () => [
    { name: "API description", path: "/openapi.json", what: "every route with its schemas (OpenAPI)" },
    {
      name: "Models for machines",
      path: "/llms.txt",
      what: "what each model takes, as text for a coding agent",
    },
    { name: "Metrics", path: "/metrics", what: "for Prometheus; asks for the admin token" },
  ];
  return (
    <Panel title="The API">
      <ul class={styles.links}>
        <For each={links()}>
          {({ name, path, what }) => (
            <li>
              <a href={`${props.url}${path}`} target="_blank" rel="noreferrer">
                {name}
              </a>
              <span class={ui.soft}>{what}</span>
            </li>
          )}
        </For>
      </ul>
    </Panel>
  );
}
