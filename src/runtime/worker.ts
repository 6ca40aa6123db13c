/** A thread that takes messages and sends messages back. */
export interface Thread<Message> {
  /** Sends a message. The memory of `moved` goes to the thread and is empty here afterwards; all else is copied. */
  post(message: Message, moved?: readonly ArrayBuffer[]): void;
  /** Ends the thread at once. */
  stop(): void;
}

/** What the owner of a thread is told. */
export interface ThreadEvents<Answer> {
  onMessage(answer: Answer): void;
  /** The thread is gone: it threw, or it was stopped. */
  onClose(reason: string): void;
}

/**
 * Starts the module at `file` as a thread. `settings` reach it as the argument of its `serveThread` set-up;
 * messages are copied, so they must be plain data.
 */
export function openThread<Message, Answer>(
  file: URL,
  settings: unknown,
  events: ThreadEvents<Answer>,
): Thread<Message> {
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

declare const self: {
  onmessage: ((event: MessageEvent<unknown>) => void) | null;
  postMessage(message: unknown): void;
};

/**
 * The thread's own end: `open` is called with the settings, then what it returns is called with each message; its
 * result goes back to the owner. What is thrown there ends the thread, so a handler answers errors as data.
 */
export function serveThread<Settings, Message, Answer>(
  open: (settings: Settings) => (message: Message) => Answer | Promise<Answer>,
): void {
  let handle: ((message: Message) => Answer | Promise<Answer>) | undefined;
  self.onmessage = (event) => {
    if (handle === undefined) {
      handle = open(event.data as Settings);
      return;
    }
    const answer = handle(event.data as Message);
    if (answer instanceof Promise) answer.then((late) => self.postMessage(late)).catch(endThread);
    else self.postMessage(answer);
  };
}

/** A rejection ends the thread as an exception does. */
function endThread(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
