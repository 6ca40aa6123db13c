/** Receives the bytes of a body. */
interface BodySink {
  write(bytes: Uint8Array): void;
  /** Sends what was written; a promise where the client has to take some of it first. */
  flush(): Promise<unknown> | undefined;
}

/** The controller of the runtime's direct streams. */
interface DirectController {
  write(bytes: Uint8Array): unknown;
  flush(wait: true): unknown;
  close(error?: Error): void;
}

/**
 * A response body that `produce` writes from beginning to end. `cancel` is called when the client has gone. The
 * runtime's direct stream costs a third less per write than a pulled one; waiting for its flush is the backpressure.
 */
export function streamBody(
  produce: (sink: BodySink) => Promise<void>,
  cancel: () => void,
): ReadableStream<Uint8Array> {
  const source = {
    type: "direct",
    async pull(controller: DirectController) {
      try {
        await produce({
          write: (bytes) => void controller.write(bytes),
          flush: () => {
            const room = controller.flush(true);
            // The runtime gives a promise every time, and one that is fulfilled where nothing has to wait (measured, 1.4.5).
            return room instanceof Promise && Bun.peek.status(room) !== "fulfilled" ? room : undefined;
          },
        });
        controller.close();
      } catch (error) {
        // The client has gone, or takes nothing: its connection ends without the mark of a whole body.
        cancel();
        controller.close(error instanceof Error ? error : new Error("The client has gone."));
      }
    },
    cancel,
  };
  return new ReadableStream(source as unknown as ConstructorParameters<typeof ReadableStream<Uint8Array>>[0]);
}
