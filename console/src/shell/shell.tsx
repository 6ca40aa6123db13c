import { useQueryClient } from "@tanstack/solid-query";
import { Link, Outlet, useLocation } from "@tanstack/solid-router";
import KeyRound from "lucide-solid/icons/key-round";
import LogOut from "lucide-solid/icons/log-out";
import Search from "lucide-solid/icons/search";
import { createMemo, createSignal, For, Show } from "solid-js";
import { modelsQuery } from "../api/models.ts";
import { useQuery } from "../api/query.ts";
import { closeSignOutNote, type Session, signOut, whySignedIn } from "../api/session.ts";
import { Badge } from "../design/badge.tsx";
import { Button } from "../design/button.tsx";
import { classes } from "../design/classes.ts";
import { Overlays } from "../design/dialog.tsx";
import { Page } from "../design/layout.tsx";
import { Empty } from "../design/states.tsx";
import { type Command, Palette } from "./palette.tsx";
import { More } from "./more.tsx";
import { PlaceLink } from "./place-link.tsx";
import { furtherOf, isForOperators, PLACES } from "./places.ts";
import { RangePicker } from "./range-picker.tsx";
import styles from "./shell.module.css";
import { ThemeButton } from "./theme.tsx";
import icon from "../icon.svg";

/** As the keys are called where the page is read. */
const SHORTCUT = /Mac|iP(?:hone|ad)/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

/** What stands around every page: the rail, the bar, and the palette. */
export function Shell(props: { readonly session: Session }) {
  const queries = useQueryClient();
  const [isFinding, setFinding] = createSignal(false);
  const location = useLocation();
  const mayOpen = (path: string): boolean => props.session.role === "operator" || !isForOperators(path);
  const places = () => PLACES.filter(({ to }) => mayOpen(to));
  const further = createMemo(() => furtherOf(places()));
  const models = useQuery(() => ({ ...modelsQuery, enabled: isFinding() }));
  const commands = createMemo((): readonly Command[] => [
    ...places().map(({ name, to }) => ({ name, hint: "page", to })),
    ...(models.data?.data ?? []).map(({ id }) => ({
      name: id,
      hint: "model",
      to: `/models/${encodeURIComponent(id)}`,
    })),
  ]);
  return (
    <div class={styles.shell}>
      <Overlays>
        <a class={styles.skip} href="#main">
          Skip to the page
        </a>
        <nav class={styles.rail} aria-label="Places">
          <div class={styles.places}>
            <Link to="/" class={styles.brand}>
              <img src={icon} alt="" width="20" height="20" />
              <span>Switchyard</span>
            </Link>
            <For each={places()}>
              {(place) => (
                <PlaceLink
                  place={place}
                  class={classes(styles.place, further().includes(place) && styles.further)}
                />
              )}
            </For>
            <Show when={further().length > 0}>
              <More places={further()} />
            </Show>
            <p class={styles.foot}>{props.session.version}</p>
          </div>
        </nav>
        <header class={styles.bar}>
          <Show when={props.session.sandbox}>
            <Badge tone="warn">
              Sandbox<span class={styles.wideOnly}> answers</span>
            </Badge>
          </Show>
          <Show when={props.session.key}>
            {(key) => (
              <span class={styles.keyName} title={`Signed in with the key ${key().name}`}>
                <KeyRound size={14} aria-hidden="true" />
                <span class="visually-hidden">Key </span>
                {key().name}
              </span>
            )}
          </Show>
          <div class={styles.barEnd}>
            <RangePicker hasKey={props.session.key !== null} />
            <Button class={classes(styles.searchButton)} onClick={() => setFinding(true)}>
              <Search size={14} aria-label="Go to" />
              <span>Go to…</span>
              <span>
                <kbd>{SHORTCUT}</kbd>
              </span>
            </Button>
            <ThemeButton />
            <Button kind="quiet" label="Sign out" onClick={() => void signOut(queries)}>
              <LogOut size={16} />
            </Button>
          </div>
        </header>
        <main id="main" class={styles.main} tabindex="-1">
          <Show when={whySignedIn()}>{(why) => <SignOutNote why={why()} />}</Show>
          <Show when={mayOpen(location().pathname)} fallback={<NotForYou />}>
            <Outlet />
          </Show>
        </main>
        <Palette open={isFinding()} onOpen={setFinding} commands={commands()} />
      </Overlays>
    </div>
  );
}

/** Says that a sign-out has failed: the cookie still opens the console, so the reader must not walk away. */
function SignOutNote(props: { readonly why: string }) {
  const queries = useQueryClient();
  return (
    <div class={styles.note} role="alert">
      <p>
        <strong>You are still signed in.</strong> {props.why}
      </p>
      <Button onClick={() => void signOut(queries)}>Try again</Button>
      <Button kind="quiet" onClick={closeSignOutNote}>
        Close
      </Button>
    </div>
  );
}

/** What a developer finds at an operator's address. */
function NotForYou() {
  return (
    <Page title="For operators">
      <Empty title="This page is for who signs in with the admin token">
        <p>With an API key you see the models and what is that key's own.</p>
        <Link to="/playground">To the playground</Link>
      </Empty>
    </Page>
  );
}
