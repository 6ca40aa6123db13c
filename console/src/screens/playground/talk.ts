import {
  type Accessor,
  createEffect,
  createRoot,
  createSignal,
  onCleanup,
  type Setter,
  untrack,
} from "solid-js";
import { liveSession } from "../../api/session.ts";
import { keepInTab, keptInTab, whenForgotten } from "../../api/tab-memory.ts";
import { createLane, type Entry, type Lane } from "./lane.ts";
import type { Model } from "./model-picker.tsx";
import { createWishes, type WishesDraft } from "./wishes.tsx";

/** The conversations of the tab. They go on while the reader is elsewhere in the console, and outlive a reload. */
export interface Talk {
  /** One for each model that can stand beside another. */
  readonly lanes: readonly Lane[];
  readonly wishes: ReturnType<typeof createWishes>;
  /** The models that are talked to, in the order of the lanes. */
  readonly setModels: Setter<readonly (Model | undefined)[]>;
  /** Whether a reload would find the conversations again: the browser keeps about five megabytes. */
  readonly isKept: Accessor<boolean>;
}

interface Kept {
  readonly lanes: readonly (readonly Entry[])[];
  readonly wishes: WishesDraft;
}

const NAME = "talk";
let present: { readonly talk: Talk; readonly end: () => void } | undefined;

/** The reader's conversations; another reader starts with nothing. */
export function talkOfReader(): Talk {
  present ??= createRoot((end) => ({ talk: createTalk(), end }));
  return present.talk;
}

function forget(): void {
  present?.end();
  present = undefined;
}
whenForgotten(forget);

function createTalk(): Talk {
  const kept = keptInTab(NAME, untrack(liveSession) ?? "") as Kept | undefined;
  const [models, setModels] = createSignal<readonly (Model | undefined)[]>([]);
  const [isKept, setKept] = createSignal(true);
  const wishes = createWishes(kept?.wishes);
  const lanes = [0, 1].map((at) =>
    createLane(
      () => models()[at]?.id,
      () => wishes.of(models()[at]),
      kept?.lanes[at],
    ),
  );
  const now = (): Kept => ({ lanes: lanes.map(({ entries }) => entries), wishes: wishes.draft() });
  const keep = (): void => {
    const session = liveSession();
    // Between two sessions of the reader the storage has nothing; the next one keeps it again.
    if (session !== undefined) setKept(keepInTab(NAME, session, now()));
  };
  // An answer that comes in changes many times a second; it is kept at its end, or where the page is left.
  createEffect(() => {
    if (!lanes.some((lane) => lane.isRunning())) keep();
  });
  addEventListener("pagehide", keep);
  onCleanup(() => {
    removeEventListener("pagehide", keep);
    for (const lane of lanes) lane.stop();
  });
  return { lanes, wishes, setModels, isKept };
}
