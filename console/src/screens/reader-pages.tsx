import { focusManager, useQueryClient } from "@tanstack/solid-query";
import { createComputed, createEffect, createSignal, on, onCleanup, Show } from "solid-js";
import { isOfSession, type Session, whyEnded } from "../api/session.ts";
import { returnFocus } from "../design/focus.ts";
import { Shell } from "../shell/shell.tsx";
import { SignInAgain } from "./sign-in.tsx";

/**
 * The pages of one reader. Once the session has ended by itself they are out of the document, with all that is typed in
 * them. They come back when the same reader signs in again. Another reader gets pages of its own: these are not used
 * for a second one.
 */
export function ReaderPages(props: { readonly session: Session }) {
  const queries = useQueryClient();
  const why = (): string | undefined => whyEnded(props.session);
  const giveBack = returnFocus(() => why() !== undefined);
  let scrolledPx = 0;
  // Before the pages are taken out, which scrolls to the top.
  createComputed(() => why() !== undefined && (scrolledPx = scrollY));
  // The dialog opens after the pages are out, and closes after they are back. A dialog of theirs hides from screen
  // readers what is added while it is the only one. It would hide its own page a second time.
  const [asked, setAsked] = createSignal<string>();
  createEffect(
    on(why, (now, before) => {
      setAsked(now);
      // Lists that are read anew every few seconds rest meanwhile, as in a window that nobody sees.
      focusManager.setFocused(now === undefined ? undefined : false);
      if (now !== undefined || before === undefined) return;
      scrollTo(0, scrolledPx);
      void queries.invalidateQueries({ predicate: isOfSession });
    }),
  );
  onCleanup(() => focusManager.setFocused(undefined));
  const shell = <Shell session={props.session} />;
  return (
    <>
      <Show when={why() === undefined}>{shell}</Show>
      <Show when={asked()}>{(reason) => <SignInAgain why={reason()} onCloseAutoFocus={giveBack} />}</Show>
    </>
  );
}
