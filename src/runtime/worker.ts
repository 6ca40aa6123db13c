import { ensureDescriptors } from "./descriptors.ts";
import { releaseStartMemory } from "./memory.ts";

/** A thread that takes messages and sends messages back. */
export interface Thread<Message> {
  /** Sends a message. The memory of `moved` moves to the thread and is empty here afterwards; the rest is copied. */
  post(message: Message, moved?: readonly ArrayBuffer[]): void;
  /** Ends the thread at once. */
  stop(): void;
}

/** Events for the owner of a thread. */
export interface ThreadEvents<Answer> {
  onMessage(answer: Answer): void;
  /** The thread has ended: it threw, or it was stopped. */
  onClose(reason: string): void;
}

/** Descriptors that a thread opens at its start, or to load its module (three of Bun 1.4.5), with a margin. */
const DESCRIPTORS_OF_THREAD = 8;

/**
 * Starts the module at `file` as a thread. `settings` are the argument of its `serveThread` set-up; messages are
 * copied, so they must be plain data. Throws where there is no descriptor for it.
 */
export function openThread<Message, Answer>(
  file: URL,
  settings: unknown,
  events: ThreadEvents<Answer>,
): Thread<Message> {
  ensureDescriptors(DESCRIPTORS_OF_THREAD);
  const worker = new Worker(file.href);
  let reason = "it was stopped";
  worker.addEventListener("message", (event: MessageEvent<Answer>) => events.onMessage(event.data));
  worker.addEventListener("error", (event: ErrorEvent) => {
    reason = event.message;
  });
  worker.addEventListener("close", () => events.onClose(reason));
  worker.postMessage(settings);
  return {
    post: (message, moved = []) => worker.postMessage(message, [...moved]),
    stop: () => worker.terminate(),
  };
}

/** Makes sure that a thread which loads its module with the first message can do so. Throws where it cannot. */
export function ensureLoading(): void {
  ensureDescriptors(DESCRIPTORS_OF_THREAD);
}

/** Threads for one piece of work each: each ends with its work and frees all its memory. */
export interface Standby<Message, Answer> {
  /**
   * Keeps one started thread ready from now on: starting one takes descriptors, which may have run out when it is
   * needed. Throws where there are none now.
   */
  standBy(): void;
  /** Has a thread do the work. Rejects when the thread ends before it has answered. */
  run(message: Message, moved?: readonly ArrayBuffer[]): Promise<Answer>;
}

interface Worked<Message, Answer> {
  readonly thread: Thread<Message>;
  work?: { resolve(answer: Answer): void; reject(error: Error): void };
}

/** Threads of the module at `file`, which starts with `settings`. Without a call of `standBy` each starts with its work. */
export function createStandby<Message, Answer>(file: URL, settings: unknown): Standby<Message, Answer> {
  let standsBy = false;
  let ready: Worked<Message, Answer> | undefined;

  const open = (): Worked<Message, Answer> => {
    const opened: Worked<Message, Answer> = {
      thread: openThread<Message, Answer>(file, settings, {
        onMessage(answer) {
          opened.work?.resolve(answer);
          opened.thread.stop();
        },
        onClose(reason) {
          if (ready === opened) ready = undefined;
          opened.work?.reject(new Error(`The thread ended: ${reason}`));
        },
      }),
    };
    return opened;
  };
  const replace = (): void => {
    if (!standsBy) return;
    try {
      ready ??= open();
    } catch {
      // Descriptors have run out: the next piece of work tries again.
    }
  };

  return {
    standBy() {
      standsBy = true;
      ready ??= open();
    },
    run(message, moved = []) {
      const answer = new Promise<Answer>((resolve, reject) => {
        const working = (ready ??= open());
        ensureLoading();
        ready = undefined;
        working.work = { resolve, reject };
        working.thread.post(message, moved);
      });
      return answer.finally(replace);
    },
  };
}

declare const self: {
  onmessage: ((event: MessageEvent<unknown>) => void) | null;
  postMessage(message: unknown, moved?: ArrayBuffer[]): void;
};

/**
 * The thread's side. `open` is called with the settings and returns the handler of messages. A handler's result goes
 * back to the owner; the memory that `movedOf` names of it moves without a copy. An exception ends the thread, so a
 * handler answers errors as data.
 */
export function serveThread<Settings, Message, Answer>(
  open: (settings: Settings) => (message: Message) => Answer | Promise<Answer>,
  movedOf: (answer: Answer) => readonly ArrayBuffer[] = () => [],
): void {
  let handle: ((message: Message) => Answer | Promise<Answer>) | undefined;
  const send = (answer: Answer): void => self.postMessage(answer, [...movedOf(answer)]);
  self.onmessage = (event) => {
    if (handle === undefined) {
      handle = open(event.data as Settings);
      releaseStartMemory();
      return;
    }
    const answer = handle(event.data as Message);
    if (answer instanceof Promise) answer.then(send).catch(endThread);
    else send(answer);
  };
}

/**
 * The same for a thread that has to be there and may never be needed: `load` is called with the first message. Until
 * then it takes 1.5 MiB, where the modules of the gateway take up to 20.
 */
export function serveThreadLate<Settings, Message, Answer>(
  load: () => Promise<(settings: Settings) => (message: Message) => Answer | Promise<Answer>>,
  movedOf?: (answer: Answer) => readonly ArrayBuffer[],
): void {
  serveThread<Settings, Message, Answer>((settings) => {
    let loading: Promise<(message: Message) => Answer | Promise<Answer>> | undefined;
    return async (message) => {
      loading ??= load().then((open) => open(settings));
      return (await loading)(message);
    };
  }, movedOf);
}

/** A rejection ends the thread as an exception does. */
function endThread(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
