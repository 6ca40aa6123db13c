import { type Accessor, createSignal, type Setter } from "solid-js";
import { whenForgotten } from "../../api/tab-memory.ts";
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

let present: Readonly<Record<MediaKind, Visit>> | undefined;
whenForgotten(() => (present = undefined));

/** What the reader has typed and made; another reader starts with nothing. */
export function visitOf(kind: MediaKind): Visit {
  present ??= { image: newVisit(), video: newVisit() };
  return present[kind];
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
