import { type Accessor, createSignal, type Setter } from "solid-js";
import type { Draft, MediaKind } from "./media-job.ts";
import type { Run } from "./media-run.ts";

/** What one page of the playground keeps while its reader goes elsewhere in the console. */
export interface Visit {
  readonly draft: Accessor<Draft>;
  readonly setDraft: Setter<Draft>;
  /** The newest first. */
  readonly runs: Accessor<readonly Run[]>;
  readonly setRuns: Setter<readonly Run[]>;
}

let present: { readonly session: string; readonly visits: Readonly<Record<MediaKind, Visit>> } | undefined;

/** What was typed and made since sign-in; another session, named by its token, starts with nothing. */
export function visitOf(kind: MediaKind, session: string): Visit {
  if (present?.session !== session) present = { session, visits: { image: newVisit(), video: newVisit() } };
  return present.visits[kind];
}

function newVisit(): Visit {
  const [draft, setDraft] = createSignal<Draft>({
    prompt: "",
    values: {},
    references: {},
    links: {},
    isTask: true,
  });
  const [runs, setRuns] = createSignal<readonly Run[]>([]);
  return { draft, setDraft, runs, setRuns };
}
