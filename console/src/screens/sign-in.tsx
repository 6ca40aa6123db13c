import { Dialog } from "@kobalte/core/dialog";
import { useQueryClient } from "@tanstack/solid-query";
import { createSignal, Show } from "solid-js";
import { ApiError } from "../api/client.ts";
import { signIn } from "../api/session.ts";
import { Button } from "../design/button.tsx";
import { TextField } from "../design/field.tsx";
import { beginAtField } from "../design/focus.ts";
import { coverTab, Panel, titleTab } from "../design/layout.tsx";
import { relativeTime } from "../format/times.ts";
import styles from "../shell/shell.module.css";
import icon from "../icon.svg";

/** The way in. */
export function SignIn() {
  titleTab("Sign in");
  return (
    <main class={styles.signIn}>
      <SignInForm />
    </main>
  );
}

/**
 * The way back in, once the session has ended `why`. It is a dialog although nothing is behind it. A dialog of the page
 * may be open, and would keep the focus and the pointer for itself.
 */
export function SignInAgain(props: {
  readonly why: string;
  readonly onCloseAutoFocus: (event: Event) => void;
}) {
  coverTab("Sign in");
  return (
    <Dialog open>
      <Dialog.Portal>
        <Dialog.Content
          class={styles.signIn}
          aria-label="Sign in again"
          onOpenAutoFocus={beginAtField}
          onCloseAutoFocus={(event) => props.onCloseAutoFocus(event)}
        >
          <SignInForm why={props.why} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog>
  );
}

/** Signs in with the admin token, or with an API key for what is that key's own. */
function SignInForm(props: { readonly why?: string }) {
  const queries = useQueryClient();
  const [credential, setCredential] = createSignal("");
  const [fault, setFault] = createSignal<string>();
  const [isBusy, setBusy] = createSignal(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFault(undefined);
    try {
      await signIn(queries, credential().trim());
    } catch (error) {
      setFault(faultText(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <h1 class={styles.signInBrand}>
        <img src={icon} alt="" width="28" height="28" />
        Switchyard
      </h1>
      <Panel title="Sign in">
        <form class={styles.signInBox} onSubmit={(event) => void submit(event)}>
          <Show when={props.why}>
            {(why) => (
              <p role="status">
                {why()} Your page and what you have typed come back with the same credential.
              </p>
            )}
          </Show>
          <TextField
            label="Admin token or API key"
            type="password"
            autocomplete="current-password"
            required
            autofocus
            value={credential()}
            onInput={(event) => setCredential(event.currentTarget.value)}
            fault={fault()}
            hint="The first start printed both. With an API key you see what is that key's own."
          />
          <Button kind="primary" type="submit" disabled={isBusy() || credential().trim() === ""}>
            Sign in
          </Button>
        </form>
      </Panel>
    </>
  );
}

/** What went wrong, and how long to wait where the gateway says so. */
function faultText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError) || error.retryAfterSec === undefined) return message;
  return `${message} The wait ends ${relativeTime(error.retryAfterSec, 0)}`;
}
